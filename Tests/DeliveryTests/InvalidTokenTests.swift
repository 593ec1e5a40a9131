import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct InvalidTokenTests {
  private func invalidated(_ bench: SendingBench) async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM device WHERE invalidated_at IS NOT NULL")[0].decode(Int.self)
  }

  @Test func `Too many invalid tokens at once retire no device and raise the app's alarm`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60, prefix: "bb")
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 60, sent: 60, failed: 60))
      }
      #expect(try await invalidated(bench) == 0)
      #expect(try await bench.currentApp()?.alarm?.reason.hasPrefix("60 of 60 pushes to APNs (production)") == true)
    }
  }

  @Test func `A few invalid tokens among many are retired`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      try await bench.addDevices(10, from: 61, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        #expect(try await bench.until(key, .finished).counts?.failed == 10)
      }
      #expect(try await invalidated(bench) == 10)
      #expect(try await bench.currentApp()?.alarm == nil)
    }
  }

  @Test func `A device whose token is none of APNs is retired as refused, not for its environment`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(2)
      try await bench.database.query(
        "UPDATE device SET token = 'dQw4w9WgXcQ:APA91b' WHERE device_id = $1::bigint", devices[1].rawValue)
      try await bench.withHubs { try await bench.until(try await bench.send(), .finished) }
      let (_, type, reason) = try await bench.invalidation(devices[1])
      #expect(type == InvalidationType.refused.rawValue && reason == "BadDeviceToken")
      #expect(try await bench.invalidation(devices[0]).at == nil)
      #expect(bench.simulator.apns.count == 1)
    }
  }

  @Test func `Invalid tokens reported with a date are retired however many they are`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60, prefix: "bb")
      bench.simulator.apns.rule(
        .any, .refuse(status: 410, reason: "Unregistered", since: Date(timeIntervalSinceNow: -60)))
      try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
      }
      #expect(try await invalidated(bench) == 60)
      #expect(try await bench.currentApp()?.alarm == nil)
    }
  }

  @Test func `Invalid tokens of one environment do not count for the other`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(5, from: 101, prefix: "bb")
      try await bench.addDevices(60, from: 106, prefix: "bb", sandbox: true)
      bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        try await bench.until(key, .finished)
      }
      let rows = try await bench.database.query("SELECT sandbox FROM device WHERE invalidated_at IS NOT NULL")
      #expect(try rows.map { try $0.decode(Bool.self) } == [false, false, false, false, false])
    }
  }

  /// Sends what one claim of a batch takes, as a hub of its own: a run that is new, and knows of no other.
  private func sendBatches(_ bench: SendingBench, _ key: SendoutKey, from database: (any Querying)? = nil) async throws
  {
    let dispatcher = Dispatcher(
      database ?? bench.pool, services: bench.services, links: bench.links, suppressions: .ofTests,
      settings: .unhurried,
      logger: TestServer.logger)
    let result = await dispatcher.dispatch(
      try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane)
    #expect(result.end == .drained)
  }

  /// A frozen sendout to `count` phones in batches of 40, each with so many invalid tokens at its end. No batch is due yet.
  private func frozen(_ bench: SendingBench, batches: Int, invalidEach: Int) async throws -> SendoutKey {
    for batch in 0..<batches {
      try await bench.addDevices(40 - invalidEach, from: batch * 40 + 1)
      try await bench.addDevices(invalidEach, from: batch * 40 + 41 - invalidEach, prefix: "bb")
    }
    bench.simulator.apns.rule(.prefix("bb"), .refuse(status: 400, reason: "BadDeviceToken"))
    let key = try await bench.send()
    try await bench.pool.transaction { transaction in
      _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all, batchSize: 40)
    }
    try await bench.database.query("UPDATE push_batch SET not_before = 'infinity'")
    return key
  }

  private func makeDue(_ bench: SendingBench, batch: Int) async throws {
    try await bench.database.query(
      "UPDATE push_batch SET not_before = '-infinity' WHERE batch_no = $1::int4", Int32(batch))
  }

  @Test func `Runs of several hubs, and after restarts, count a lane's invalid tokens together`() async throws {
    try await withSendingBench { bench in
      // Each batch has too few answers to say anything alone.
      let key = try await frozen(bench, batches: 3, invalidEach: 10)
      try await makeDue(bench, batch: 0)
      try await sendBatches(bench, key)
      #expect(try await invalidated(bench) == 10)
      #expect(try await bench.currentApp()?.alarm == nil)
      try await makeDue(bench, batch: 1)
      try await sendBatches(bench, key)
      #expect(try await invalidated(bench) == 10)
      let alarm = try #require(try await bench.currentApp()?.alarm?.reason)
      #expect(alarm.hasPrefix("20 of 80 pushes to APNs (production) came back as BadDeviceToken"))
      #expect(alarm.contains("no device of this sendout is retired any more, after up to 10 were"))
      // It stays open for every later run, even for one that sees no invalid token but few.
      bench.simulator.apns.removeRules()
      bench.simulator.apns.rule(.prefix(bench.token(120, prefix: "bb")), .refuse(status: 400, reason: "BadDeviceToken"))
      try await makeDue(bench, batch: 2)
      try await sendBatches(bench, key)
      #expect(try await invalidated(bench) == 10)
      #expect(try await bench.show(key).counts?.failed == 21)
      let (answered, invalid, retired) = try await bench.database.query(
        "SELECT answered, invalid, retired FROM circuit_breaker")[0].decode(Int32.self, Int32.self, Int32.self)
      #expect((answered, invalid, retired) == (80, 20, 10))
    }
  }

  @Test func `A run that sees nothing wrong leaves the alarm that another hub has raised`() async throws {
    try await withSendingBench { bench in
      let key = try await frozen(bench, batches: 3, invalidEach: 10)
      for batch in 0...1 {
        try await makeDue(bench, batch: batch)
        try await sendBatches(bench, key)
      }
      bench.simulator.apns.removeRules()
      try await makeDue(bench, batch: 2)
      try await bench.database.query("UPDATE sendout SET state = 'running'")
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.currentApp()?.alarm != nil)
    }
  }

  @Test func `Batches without invalid tokens write nothing for the circuit breaker`() async throws {
    try await withSendingBench { bench in
      let key = try await frozen(bench, batches: 3, invalidEach: 0)
      for batch in 0...2 { try await makeDue(bench, batch: batch) }
      let database = CountingDatabase(bench.pool)
      try await sendBatches(bench, key, from: database)
      #expect(database.counts["breaker.count"] == nil && database.counts["breaker.open"] == nil)
      #expect(database.counts["breaker.answers"] == 1)
    }
  }

  @Test func `When most tokens belong to other apps, the sendout is paused and its pushes stay queued`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      bench.simulator.apns.rule(.any, .refuse(status: 400, reason: "DeviceTokenNotForTopic"))
      try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send()
        let paused = try await bench.until(key, .paused)
        #expect(paused.haltReason == "DeviceTokenNotForTopic")
        #expect(paused.counts == SendoutCounts(audience: 60, queued: 60))
      }
      #expect(try await invalidated(bench) == 0)
    }
  }
}

@Suite struct CircuitBreakerTests {
  @Test func `It opens above a fifth of invalid tokens, once there is evidence`() {
    let breaker = CircuitBreaker(share: 0.2, evidence: 50)
    #expect(!breaker.opens(at: 20, of: 100))
    #expect(breaker.opens(at: 21, of: 100))
    #expect(!breaker.opens(at: 49, of: 49))
    #expect(breaker.opens(at: 11, of: 50))
  }
}
