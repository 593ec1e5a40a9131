import Foundation
import Postgres
import Registry
import Sendouts
import ServiceLifecycle
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

@Suite struct HubTests {
  @Test func `Several hubs share a sendout and send each push once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1500)
      // Nobody gets an answer before another hub has taken its share, which is all that one of them may have in hand.
      bench.simulator.apns.rule(.any, .ignore)
      try await bench.withHubs(4, { $0.dispatch.window = 300 }) {
        let key = try await bench.send("Hello")
        try await waitUntil {
          try await bench.database.query("SELECT count(DISTINCT hub_id) FROM push_batch")[0].decode(Int.self) >= 2
        }
        bench.simulator.apns.removeRules()
        bench.simulator.apns.answerIgnored()
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 1500, sent: 1500, accepted: 1500))
        #expect(bench.simulator.apns.count == 1500)
        #expect(Set(bench.simulator.apns.requests.map(\.token)).count == 1500)
        let hubs = try await bench.database.query("SELECT count(DISTINCT hub_id), max(claims) FROM push_batch")[0]
        let (distinct, claims) = try hubs.decode(Int.self, Int32.self)
        #expect(distinct > 1)
        #expect(claims == 1)
      }
    }
  }

  @Test func `After a hub was killed, another sends the rest and records why pushes may be sent twice`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(20, from: 101, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      // At its end the provider waits for answers.
      defer { bench.simulator.apns.answerIgnored() }
      let key = try await killedHub(bench, .resend)
      bench.simulator.apns.removeRules()
      try await bench.withHubs {
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 120, sent: 120, accepted: 120))
      }
      let pushes = try await bench.pushes(key)
      let resent = pushes.filter { $0.resentBecause != nil }
      #expect(resent.allSatisfy { $0.resentBecause == "hub_stopped" && $0.attempts == 2 })
      #expect(resent.count >= 20)
      try await expectNobodySentTwiceUnnoticed(bench, pushes)
    }
  }

  @Test func `With skip, a killed hub's uncertain pushes are not sent again`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(20, from: 101, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      // At its end the provider waits for answers.
      defer { bench.simulator.apns.answerIgnored() }
      let key = try await killedHub(bench, .skip)
      bench.simulator.apns.removeRules()
      let counts = try await bench.withHubs { try #require(try await bench.until(key, .finished).counts) }
      #expect(counts.uncertain >= 20)
      #expect(counts.accepted + counts.uncertain == 120)
      let pushes = try await bench.pushes(key)
      #expect(pushes.filter { $0.state == .uncertain }.allSatisfy { $0.reason == "hub_stopped" && $0.attempts == 1 })
      #expect(bench.simulator.apns.count == Set(bench.simulator.apns.requests.map(\.token)).count)
    }
  }

  @Test func `With skip, a killed hub leaves no more pushes uncertain than it had in flight`() async throws {
    try await withSendingBench(simulator: { $0.requestsKept = 5000 }) { bench in
      try await bench.addDevices(1)
      try await bench.addDevices(2499, from: 2, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      let window = DispatchSettings().window
      let key = try await bench.withHubs(1, { $0.runner.batchSize = 1000 }) {
        let key = try await bench.send("Hello", onUncertain: .skip)
        // A lane that does not answer has a fifth of the window.
        _ = await bench.simulator.apns.received(count: window / 5)
        return key
      }
      bench.simulator.apns.removeRules()
      let counts = try await bench.withHubs { try #require(try await bench.until(key, .finished).counts) }
      #expect(counts.uncertain > 0 && counts.uncertain <= window)
      #expect(counts.accepted + counts.uncertain == 2500)
      #expect(bench.simulator.apns.count == Set(bench.simulator.apns.requests.map(\.token)).count)
    }
  }

  /// Pushes that may have left, of claims whose hub has not written their outcome.
  private func inFlight(_ bench: SendingBench) async throws -> Int {
    try await bench.database.query(
      """
      SELECT count(*) FROM push_batch b JOIN push p USING (customer_id, sendout_id, batch_no)
       WHERE b.state = 'claimed' AND p.state = 'queued' AND p.push_no <= b.sent_to
      """)[0].decode(Int.self)
  }

  @Test func `All sendouts of a hub together have no more pushes in flight than its window`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(200)
      // None is answered before some are seen in flight.
      bench.simulator.apns.rule(.any, .ignore)
      try await bench.withHubs(1, { $0.dispatch.window = 50 }) {
        var keys: [SendoutKey] = []
        for _ in 1...4 { keys.append(try await bench.send()) }
        var most = 0
        try await waitUntil {
          most = try await inFlight(bench)
          return most > 0
        }
        bench.simulator.apns.removeRules()
        bench.simulator.apns.rule(.any, .after(.milliseconds(20), .accept))
        bench.simulator.apns.answerIgnored()
        while let key = keys.last {
          most = max(most, try await inFlight(bench))
          if try await bench.show(key).state == .finished { keys.removeLast() }
        }
        #expect(most > 0 && most <= 50)
      }
    }
  }

  @Test func `With skip, a hub that is killed amid several sendouts leaves no more uncertain than its window`()
    async throws
  {
    try await withSendingBench(simulator: { $0.requestsKept = 5000 }) { bench in
      try await bench.addDevices(1)
      try await bench.addDevices(199, from: 2, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      let keys = try await bench.withHubs(1, { $0.dispatch.window = 50 }) {
        var keys: [SendoutKey] = []
        for _ in 1...3 { keys.append(try await bench.send("Hello", onUncertain: .skip)) }
        for key in keys { try await bench.until(key) { ($0.counts?.sending ?? 0) > 0 } }
        try await waitUntil { try await inFlight(bench) >= 10 }
        return keys
      }
      bench.simulator.apns.removeRules()
      var uncertain = 0
      try await bench.withHubs {
        for key in keys { uncertain += try #require(try await bench.until(key, .finished).counts).uncertain }
      }
      #expect(uncertain >= 10 && uncertain <= 50)
    }
  }

  @Test func `A sendout whose push service does not answer leaves room for another`() async throws {
    try await withSendingBench { bench in
      let slow = ListID(1), quick = ListID(2)
      for (list, name) in [(slow, "slow"), (quick, "quick")] {
        try await bench.database.query(
          "INSERT INTO list (customer_id, list_id, name) VALUES ($1::bigint, $2::bigint, $3::text)",
          bench.customer.rawValue, list.rawValue, name)
      }
      try await bench.addDevices(200, prefix: "bb", sandbox: true, list: slow)
      try await bench.addDevices(100, from: 201, list: quick)
      bench.simulator.apns.rule(.nth(1), .accept)
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      try await bench.withHubs(1, { $0.dispatch.window = 50 }) {
        _ = try await bench.send(audience: .list(slow))
        _ = await bench.simulator.apns.received(count: 10)
        let key = try await bench.send(audience: .list(quick))
        #expect(try await bench.until(key, .finished).counts?.accepted == 100)
      }
    }
  }

  @Test func `A killed hub's batches are settled although the sendout was cancelled meanwhile`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(100)
      try await bench.addDevices(20, from: 101, prefix: "bb")
      bench.simulator.apns.rule(.prefix("bb"), .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      let key = try await killedHub(bench, .resend)
      try await bench.sendouts.cancel(bench.customer, key.sendout)
      let counts = try await bench.withHubs {
        try #require(try await bench.until(key) { $0.counts?.sending == 0 }.counts)
      }
      #expect(counts.accepted == 100 && counts.uncertain == 20)
    }
  }

  /// A sendout whose hub was killed while pushes to tokens that begin with `bb` were unanswered.
  private func killedHub(_ bench: SendingBench, _ policy: UncertainPolicy) async throws -> SendoutKey {
    try await bench.withHubs {
      let key = try await bench.send("Hello", onUncertain: policy)
      try await bench.until(key) { $0.counts?.accepted == 100 }
      return key
    }
  }

  /// Expects that a push sent twice has a row with the reason.
  private func expectNobodySentTwiceUnnoticed(_ bench: SendingBench, _ pushes: [PushReply]) async throws {
    let tokens = try await bench.tokens()
    let received = Dictionary(grouping: bench.simulator.apns.requests, by: \.token)
    #expect(received.count == pushes.count)
    for push in pushes where push.resentBecause == nil {
      #expect(received[tokens[push.deviceId] ?? ""]?.count == 1)
    }
  }

  @Test func `A hub that reaches its shutdown timeout logs it, and the next hub continues`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(20)
      bench.simulator.apns.rule(.any, .ignore)
      let log = LogCapture()
      var hub = TestHub()
      hub.runner.shutdownTimeout = .zero
      let runner = SendoutRunner(
        bench.pool, dispatcher: bench.dispatcher(hub), vault: bench.vault, settings: hub.runner, logger: log.logger)
      let group = ServiceGroup(
        configuration: .init(services: [runner], gracefulShutdownSignals: [], logger: TestServer.logger))
      let key = try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let key = try await bench.send("Hello")
        _ = await bench.simulator.apns.received(count: 1)
        await group.triggerGracefulShutdown()
        try await tasks.waitForAll()
        return key
      }
      #expect(log.lines.count { $0.hasPrefix("warning") && $0.contains("shutdown timeout") } == 1)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      try await bench.endLeases()
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.pushes(key).contains { $0.resentBecause == "hub_stopped" })
    }
  }

  @Test func `A hub that shuts down waits for pushes in flight, and releases the rest at once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(200)
      bench.simulator.apns.rule(.nth(1), .accept)
      bench.simulator.apns.rule(.any, .ignore)
      var hub = TestHub()
      hub.dispatch.window = 30
      let group = ServiceGroup(
        configuration: .init(services: [bench.runner(hub)], gracefulShutdownSignals: [], logger: TestServer.logger))
      let key = try await withThrowingTaskGroup(of: Void.self) { tasks in
        tasks.addTask { try await group.run() }
        let key = try await bench.send("Hello")
        _ = await bench.simulator.apns.received(count: hub.dispatch.window / 5)
        await group.triggerGracefulShutdown()
        bench.simulator.apns.removeRules()
        bench.simulator.apns.answerIgnored()
        try await tasks.waitForAll()
        return key
      }
      let counts = try #require(try await bench.show(key).counts)
      #expect(counts.sending == 0)
      #expect(counts.accepted == bench.simulator.apns.count)
      #expect(counts.queued == 200 - counts.accepted)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.pushes(key).allSatisfy { $0.attempts == 1 && $0.resentBecause == nil })
      #expect(bench.simulator.apns.count == 200)
    }
  }

  @Test func `A push has the same apns-id, derived from its ledger row, in every attempt`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      bench.simulator.apns.rule(.nth(2), .resetStream, times: 1)
      try await bench.withHubs {
        let key = try await bench.send("Hello")
        try await bench.until(key, .finished)
        let tokens = try await bench.tokens()
        let ids = Dictionary(grouping: bench.simulator.apns.requests, by: \.token)
          .mapValues { $0.map { $0.header("apns-id") } }
        #expect(ids.values.map(\.count).sorted() == [1, 1, 2])
        for (index, device) in devices.enumerated() {
          let id = PushIdentity.id(key, PushNumber(Int64(index) + 1)).uuidString.lowercased()
          #expect(ids[tokens[device] ?? ""]?.allSatisfy { $0 == id } == true)
        }
        #expect(bench.simulator.apns.requests.allSatisfy { $0.header("apns-collapse-id") == "s\(key.sendout)" })
      }
    }
  }

  @Test func `A hub finds sendouts that were started before it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let key = try await bench.send()
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await bench.show(key).counts?.accepted == 5)
    }
  }

  @Test
  func `Lost database connections lose no push, and record every push that is sent twice`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1000)
      bench.simulator.apns.rule(.any, .after(.milliseconds(30), .accept))
      let key = try await bench.withHubs(2, { $0.dispatch.window = 60 }) {
        let key = try await bench.send("Hello")
        try await bench.database.withPool { other in
          let cut = Statement(
            "test.cut", .write,
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND pid <> pg_backend_pid()
            """)
          for count in 1...10 {
            _ = await bench.simulator.apns.received(count: count * 60)
            try await other.query(cut)
          }
        }
        try await waitUntil { (try? await bench.show(key))?.state == .finished }
        return key
      }
      let counts = try #require(try await bench.show(key).counts)
      #expect(counts == SendoutCounts(audience: 1000, sent: 1000, accepted: 1000))
      try await expectNobodySentTwiceUnnoticed(bench, try await bench.pushes(key))
    }
  }
}
