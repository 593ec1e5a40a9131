import Delivery
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

/// Single steps of a hub on a sendout, beside others that hold locks.
@Suite struct SendoutWorkerTests {
  private func worker(_ bench: SendingBench) -> SendoutWorker {
    SendoutWorker(
      pool: bench.pool, dispatcher: bench.dispatcher(), vault: bench.vault,
      credentials: PushCredentialVault(bench.pool, vault: bench.vault), settings: RunnerSettings(),
      freezes: CustomerPermits(1), logger: TestServer.logger)
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
        try await transaction.query(Statement("test.lock", .write, "SELECT 1 FROM push_batch FOR UPDATE"))
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
        try await transaction.query(
          Statement("test.vacuum", .write, "LOCK TABLE push IN SHARE UPDATE EXCLUSIVE MODE"))
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
      // The other lane is told to stop, and has to go on later.
      task.stop()
      let next = try await worker.step(task, consecutiveFailures: &failures)
      #expect(next == .continue(after: .zero))
      let apps = try await PushApps(bench.pool).list(bench.customer)
      #expect(apps.first { $0.id == bare.id }?.alarm?.reason == "the app has no signingKey")
    }
  }
}
