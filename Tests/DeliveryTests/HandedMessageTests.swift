import Postgres
import Registry
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Delivery

/// Messages that are handed over to the lanes of a hub, when these are to stop or are tried again.
@Suite struct HandedMessageTests {
  /// Hands over messages to so many devices at an APNs that answers nothing. The first has left.
  private func messagesAtSilentAPNs(_ bench: SendingBench, count: Int) async throws
    -> (dispatcher: Dispatcher, messages: MessageDispatcher, key: SendoutKey)
  {
    try await bench.addDevices(count)
    bench.simulator.apns.rule(.any, .ignore)
    let key = try await bench.addStream()
    var hub = TestHub()
    hub.dispatch.window = 5
    let dispatcher = bench.dispatcher(hub)
    let messages = MessageDispatcher(dispatcher)
    let stream = try await bench.messageStream(dispatcher, key)
    for number in 1...count {
      _ = try await messages.accept(message(to: "user\(number)@example.com"), in: stream)
      if number == 1 { _ = await bench.simulator.apns.received(count: 1) }
    }
    return (dispatcher, messages, key)
  }

  @Test func `A pause reaches a lane that has got a successor, as after the app has changed`() async throws {
    try await withSendingBench { bench in
      defer { bench.simulator.apns.answerIgnored() }
      let (dispatcher, messages, key) = try await messagesAtSilentAPNs(bench, count: 20)
      try await bench.database.query("UPDATE push_app SET updated_at = updated_at + interval '1 second'")
      let app = try #require(try await bench.currentApp())
      let credentials = try #require(
        try await PushCredentialVault(bench.pool, vault: bench.vault).credentials(for: app))
      let changed = MessageStream(key: key, apps: [dispatcher.target(for: app, credentials)], notify: {}) {
        throw CancellationError()
      }
      _ = try await messages.accept(message(to: "user1@example.com"), in: changed)
      try await bench.database.query(
        "UPDATE sendout SET state = 'paused' WHERE sendout_id = $1::bigint", key.sendout.rawValue)
      try await bench.ledger.hold(key)
      dispatcher.verifyStream(key)
      try await waitUntil { try await batches(bench, "held") >= 16 }
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end()
      #expect(bench.simulator.apns.count <= 5)
      #expect(try await batches(bench, "claimed") == 0)
    }
  }

  @Test func `Recipients are expected to be as large as the last ones, and wait in the ledger without capacity`()
    async throws
  {
    try await withSendingBench { bench in
      defer { bench.simulator.apns.answerIgnored() }
      try await bench.addDevices(270)
      try await bench.database.query("UPDATE contact SET properties = json_build_object('text', repeat('x', 57000))")
      bench.simulator.apns.rule(.any, .ignore)
      let key = try await bench.addStream()
      var hub = TestHub()
      hub.dispatch.window = 5
      let dispatcher = bench.dispatcher(hub)
      let messages = MessageDispatcher(dispatcher)
      let stream = try await bench.messageStream(dispatcher, key)
      // 100 recipients take 5.7 of a customer's 8 MiB, and 20 more fit beside them.
      for (numbers, queued) in [(1...100, 0), (101...200, 100), (201...220, 100), (221...270, 150)] {
        let list = try numbers.map { try message(to: "user\($0)@example.com", "{{properties.text}}") }
        for result in await messages.acceptEach(list, in: stream) {
          guard case .success(.accepted) = result else { return _ = Issue.record("\(result)") }
        }
        let waiting = "SELECT coalesce(sum(last_push - first_push + 1), 0)::int8 FROM push_batch WHERE state = 'queued'"
        #expect(try await bench.database.query(waiting)[0].decode(Int.self) == queued, "\(numbers)")
      }
      try await cancel(messages)
    }
  }

  @Test func `Messages whose stream is paused while they are accepted are not handed over`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let dispatcher = bench.dispatcher()
      let key = try await bench.addStream()
      let messages = MessageDispatcher(dispatcher)
      let stream = try await bench.messageStream(dispatcher, key)
      let accepting = try await bench.pool.transaction { transaction in
        try await transaction.query(sql: "LOCK TABLE message IN EXCLUSIVE MODE")
        let accepting = Task { try await messages.accept(message(to: "user1@example.com"), in: stream) }
        // On this connection, as the statement may stand before others on theirs.
        try await waitUntil {
          try await transaction.query(
            Statement(
              "test.waiting", .read,
              """
              SELECT FROM \(TestDatabase.locks) WHERE NOT granted AND relation = 'message'::regclass
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
              """)
          ).count == 1
        }
        dispatcher.verifyStream(key)
        return accepting
      }
      guard case .accepted = try await accepting.value else {
        Issue.record("not accepted")
        return
      }
      await messages.end()
      #expect(try await batches(bench, "queued") == 1)
      #expect(bench.simulator.apns.count == 0)
    }
  }

  @Test func `A hub that is cancelled does not wait for further messages`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let key = try await bench.addStream()
      let dispatcher = bench.dispatcher()
      let messages = MessageDispatcher(dispatcher)
      _ = try await messages.accept(
        message(to: "user1@example.com"), in: bench.messageStream(dispatcher, key))
      try await waitUntil { try await bench.ledger.counts(key).accepted == 1 }
      try await cancel(messages)
    }
  }

  @Test func `A hub that is cancelled drops what waits for a push service, and leaves it to its leases`() async throws {
    try await withSendingBench { bench in
      defer { bench.simulator.apns.answerIgnored() }
      let (_, messages, _) = try await messagesAtSilentAPNs(bench, count: 3)
      try await cancel(messages)
      #expect(bench.simulator.apns.count == 1)
      #expect(try await batches(bench, "claimed") == 3)
    }
  }

  @Test func `A message that tries a closed lane and learns nothing leaves the next try to others at once`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      // Whether the push was processed is not to be known.
      bench.simulator.apns.rule(.any, .resetStream)
      let clock = SteerableClock()
      var hub = TestHub()
      hub.clock = { clock.now }
      let dispatcher = bench.dispatcher(hub)
      let key = LaneKey(customer: bench.customer, lane: bench.lane)
      dispatcher.laneStatus.close(key, .unavailable(reason: "x"))
      clock.advance(by: .seconds(1))
      let messages = MessageDispatcher(dispatcher)
      _ = try await messages.accept(
        message(to: "user1@example.com"), in: bench.messageStream(dispatcher, bench.addStream()))
      _ = await bench.simulator.apns.received(count: 1)
      // The lane's task is still there, since more may come.
      try await waitUntil { dispatcher.isOpen(bench.lane, of: bench.customer) }
      #expect(dispatcher.laneStatus.admit(key) == .probe)
      await messages.end()
    }
  }

  /// Runs the service and cancels it.
  private func cancel(_ messages: MessageDispatcher) async throws {
    let hasEnded = Mutex(false)
    let service = Task {
      try await messages.run()
    }
    service.cancel()
    async let end: Void = {
      try await service.value
      hasEnded.withLock { $0 = true }
    }()
    try await waitUntil { hasEnded.withLock(\.self) }
    try await end
  }

  private func batches(_ bench: SendingBench, _ state: String) async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM push_batch WHERE state = $1::text", state)[0].decode(Int.self)
  }
}
