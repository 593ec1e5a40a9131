import Delivery
import Logging
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Single steps of a hub on a sendout, beside others that hold locks.
@Suite struct SendoutWorkerTests {
  private func worker(_ bench: SendingBench, logger: Logger = TestServer.logger) -> SendoutWorker {
    SendoutWorker(
      pool: bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault,
      credentials: PushCredentialVault(bench.pool, vault: bench.vault), settings: RunnerSettings(),
      freezes: CustomerPermits(1), logger: logger)
  }

  @Test func `A hub waits a moment before it asks again for batches that others have locked`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(10)
      let key = try await bench.send()
      let worker = worker(bench), task = SendoutTask(key)
      var failures = 0
      let afterFreeze = try await worker.step(task, consecutiveFailures: &failures)
      #expect(afterFreeze == .continue(after: .zero))
      let next = try await bench.pool.transaction { transaction in
        try await transaction.query(sql: "SELECT 1 FROM push_batch FOR UPDATE")
        var failures = 0
        return try await worker.step(task, consecutiveFailures: &failures)
      }
      guard case .continue(let delay) = next else {
        Issue.record("the sendout has pushes left")
        return
      }
      #expect(delay >= .milliseconds(50))
      #expect(try await bench.show(key).counts?.queued == 10)
    }
  }

  @Test func `A freeze does not wait for a VACUUM of the ledger`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5000)
      let key = try await bench.send()
      let counts = try await bench.pool.transaction { transaction in
        // The lock that VACUUM and ANALYZE take.
        try await transaction.query(sql: "LOCK TABLE push IN SHARE UPDATE EXCLUSIVE MODE")
        var failures = 0
        _ = try await worker(bench).step(SendoutTask(key), consecutiveFailures: &failures)
        return try await bench.show(key).counts
      }
      #expect(counts == SendoutCounts(audience: 5000, queued: 5000))
    }
  }

  @Test func `An app without credentials gets its alarm though another lane has more to send`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(10)
      let key = try await bench.send()
      let worker = worker(bench), task = SendoutTask(key)
      var failures = 0
      _ = try await worker.step(task, consecutiveFailures: &failures)
      // Some of its devices are of another app, which has none.
      let bare = try await addLane(bench)
      // The other lane is told to stop, and has to go on later.
      task.stop()
      let next = try await worker.step(task, consecutiveFailures: &failures)
      #expect(next == .continue(after: .zero))
      let apps = try await PushApps(bench.pool).list(bench.customer)
      #expect(apps.first { $0.id == bare.id }?.alarm?.reason == "the app has no signingKey")
    }
  }

  @Test func `An error while further lanes are looked for drops none of those that are being sent`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(10)
      let key = try await bench.send("Hello")
      let log = LogCapture()
      let worker = worker(bench, logger: log.logger), task = SendoutTask(key)
      _ = try await step(worker, task)
      _ = try await addLane(bench)
      try await bench.database.query("UPDATE push_batch SET not_before = 'infinity' WHERE batch_no = 1")
      bench.simulator.apns.rule(.any, .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      async let next = step(worker, task)
      _ = await bench.simulator.apns.received(count: 1)
      // Another lane falls due, and what it takes cannot be read.
      try await bench.database.query("UPDATE push_batch SET not_before = now() WHERE batch_no = 1")
      try await bench.database.query("ALTER TABLE push_app RENAME TO push_app_away")
      task.wake()
      try await waitUntil { log.lines.contains { $0.contains("could not start further lanes") } }
      try await bench.database.query("ALTER TABLE push_app_away RENAME TO push_app")
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      guard case .continue = try await next else {
        Issue.record("the other lane has a push left")
        return
      }
      #expect(bench.simulator.apns.count == 10)
      let counts = try await bench.show(key).counts
      #expect(counts?.accepted == 10 && counts?.queued == 1)
    }
  }

  private func step(_ worker: SendoutWorker, _ task: SendoutTask) async throws -> SendoutWorker.Next {
    var failures = 0
    return try await worker.step(task, consecutiveFailures: &failures)
  }

  /// Adds a batch of one push to a sendout of ten, of an app without credentials.
  private func addLane(_ bench: SendingBench) async throws -> PushApp {
    let bare = try await PushApps(bench.pool, vault: bench.vault).add(
      bench.customer, NewPushApp(appID: "com.acme.bare", type: .ios, name: "Bare"))
    try await bench.database.query(
      "UPDATE sendout SET push_app_ids = array_append(push_app_ids, $1::bigint)", bare.id.rawValue)
    try await bench.database.query(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued)
      SELECT customer_id, sendout_id, 1, $1::bigint, false, 11, 11, 1 FROM push_batch WHERE batch_no = 0
      """, bare.id.rawValue)
    try await bench.database.query(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id)
      SELECT customer_id, sendout_id, 11, 1, device_id, contact_id FROM push WHERE push_no = 1
      """)
    return bare
  }
}
