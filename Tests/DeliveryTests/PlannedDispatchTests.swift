import Content
import Delivery
import Foundation
import Locking
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// What planned sendouts send, from the claim to the push service.
@Suite struct PlannedDispatchTests {
  /// Freezes a sendout to three devices, whose pushes were planned so many seconds ago, and dispatches it. It was started an hour ago.
  private func dispatch(
    _ bench: SendingBench, plannedBefore seconds: Int, _ rules: SendRules, endAt: Date? = nil,
    on database: CountingDatabase? = nil
  ) async throws -> [PushReply] {
    try await bench.addDevices(3)
    let key = try await bench.send("Hello")
    try await bench.pool.transaction { transaction in
      _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
    }
    try await bench.database.query(
      "INSERT INTO sendout_pace (customer_id, sendout_id) VALUES ($1, $2)", key.customer.rawValue, key.sendout.rawValue)
    try await bench.database.query(
      "UPDATE push_batch SET planned_at = now() - make_interval(secs => $1::int4)", Int32(seconds))
    let dispatcher = Dispatcher(
      database ?? CountingDatabase(bench.pool), services: bench.services, links: bench.links, suppressions: .ofTests,
      settings: TestHub().dispatch, logger: TestServer.logger)
    var content = MessageContent(
      template: try MessageTemplate(MessageBody(alert: "Hello", ttl: rules.ttl)), sendout: SendoutFields(),
      hasPage: false)
    content.expiresAt = MessageContent.expiry(of: rules.ttl, from: Date(timeIntervalSinceNow: -3600))
    let plan = SendoutPlan(key: key, content: .same(content), onUncertain: .resend, rules: rules, endAt: endAt)
    let result = await dispatcher.dispatch(plan, to: try await bench.appTarget(dispatcher), bench.lane)
    #expect(result.end == .drained)
    return try await bench.pushes(key)
  }

  @Test(arguments: [(0, PushState.accepted), (120, .failed)])
  func `A time to live counts from the planned moment`(age: Int, state: PushState) async throws {
    try await withSendingBench { bench in
      let rules = SendRules(purpose: .marketing, quietHours: nil, caps: [], ttl: 60)
      let pushes = try await dispatch(bench, plannedBefore: age, rules)
      #expect(pushes.map(\.state) == [state, state, state])
      #expect(pushes[0].reason == (state == .failed ? "expired" : nil))
    }
  }

  @Test func `A sendout with rules is claimed by them, and once a batch`() async throws {
    try await withSendingBench { bench in
      let database = CountingDatabase(bench.pool)
      let rules = SendRules(
        purpose: .marketing, quietHours: nil, caps: [Cap("1/24h")].compactMap(\.self))
      let pushes = try await dispatch(bench, plannedBefore: 0, rules, on: database)
      #expect(pushes.map(\.state) == [.accepted, .accepted, .accepted])
      #expect(database.counts["batch.claim_ruled"] == 2 && database.counts["batch.claim"] == nil)
      #expect(
        try await bench.database.query("SELECT sum(cardinality(every))::bigint FROM reach")[0].decode(Int.self) == 3)
    }
  }

  @Test func `Whoever is capped gets nothing, and the batch is settled`() async throws {
    try await withSendingBench { bench in
      let rules = SendRules(
        purpose: .marketing, quietHours: nil, caps: [Cap("1/24h")].compactMap(\.self))
      try await bench.database.query(
        """
        INSERT INTO reach (customer_id, contact_id, marketing, every, refs)
        SELECT $1, n, ARRAY[m], ARRAY[m], ARRAY[n]
          FROM generate_series(1, 1000) AS n, (SELECT (extract(epoch FROM now()) * 1000)::bigint AS m) AS moment
        """, bench.customer.rawValue)
      let pushes = try await dispatch(bench, plannedBefore: 0, rules)
      #expect(pushes.map(\.state) == [.skipped, .skipped, .skipped])
      #expect(pushes[0].reason == "capped 1/24h")
      #expect(bench.simulator.apns.requests.isEmpty)
      let states = try await bench.database.query("SELECT DISTINCT state FROM push_batch").map {
        try $0.decode(String.self)
      }
      #expect(states == ["settled"])
    }
  }

  @Test func `After the sendout's end nothing leaves`() async throws {
    try await withSendingBench { bench in
      let rules = SendRules(purpose: .marketing, quietHours: nil, caps: [])
      let pushes = try await dispatch(
        bench, plannedBefore: 0, rules, endAt: Date(timeIntervalSinceNow: -1))
      #expect(pushes.map(\.state) == [.skipped, .skipped, .skipped] && pushes[0].reason == "expired")
      #expect(bench.simulator.apns.requests.isEmpty)
    }
  }

  @Test func `What still waits in the hub at the sendout's end does not leave`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(40)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      // The first push has its connection for itself until it is answered; the others wait behind it.
      bench.simulator.apns.rule(.any, .ignore)
      let lead = Mutex(0.0)
      var settings = DispatchSettings.unhurried
      settings.recipientAge = .milliseconds(20)
      let dispatcher = Dispatcher(
        bench.pool, services: bench.services, links: bench.links, suppressions: .ofTests, settings: settings,
        logger: TestServer.logger, time: ServerClock { Date(timeIntervalSinceNow: lead.withLock(\.self)) })
      var plan = try bench.plan(key, MessageBody(alert: "Hello"))
      plan.endAt = Date(timeIntervalSinceNow: 1800)
      let app = try await bench.appTarget(dispatcher)
      async let result = dispatcher.dispatch(plan, to: app, bench.lane)
      _ = await bench.simulator.apns.received(count: 1)
      lead.withLock { $0 = 3600 }
      // What was known of the recipients before that is too old then.
      let passedAt = ContinuousClock.now
      try await waitUntil { ContinuousClock.now > passedAt + settings.recipientAge }
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      #expect(await result.end == .drained)
      let pushes = try await bench.pushes(key)
      #expect(pushes.count { $0.state == .accepted } == 1 && bench.simulator.apns.count == 1)
      #expect(pushes.count { $0.state == .skipped && $0.reason == "expired" } == 39)
    }
  }
}
