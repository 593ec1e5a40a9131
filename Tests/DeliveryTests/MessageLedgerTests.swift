import Content
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Delivery

@Suite struct MessageLedgerTests {
  @Test(arguments: [false, true])
  func `Messages whose commit had no reply are in the ledger once, whether it was committed or not`(isCommitted: Bool)
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let database = LosingDatabase(bench.pool, isCommitted: isCommitted)
      let ledger = try await ledger(bench, database)
      var numbers = StreamNumbers(message: 1, push: 1, batch: 0, messagesLeft: 10, pushesLeft: 1000, batchesLeft: 100)
      let messages = try ["user1@example.com", "nobody", "user2@example.com"].map { try message(to: $0) }
      let (acceptances, batches) = try await ledger.accept(messages, &numbers)
      #expect(database.losses == 1)
      guard case .accepted(1, let first) = acceptances[0], case .addresseeUnknown = acceptances[1],
        case .accepted(3, let second) = acceptances[2]
      else {
        Issue.record("\(acceptances)")
        return
      }
      #expect((first + second).map(\.number) == [PushNumber(1), PushNumber(2)])
      #expect(batches.count == 1 && batches[0].batch.pushes.map(\.message) == [1, 3])
      #expect(Set(batches[0].batch.contents.keys) == [1, 3] && batches[0].recipients.count == 2)
      for table in ["message", "push"] {
        #expect(try await bench.database.query("SELECT count(*) FROM \(table)")[0].decode(Int.self) == 2, "\(table)")
      }
      #expect(numbers.message == 4 && numbers.push == 3 && numbers.batch == 1)
    }
  }

  @Test func `Nobody is told that nothing was done where a lost commit cannot be read in time`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let ledger = try await ledger(bench, LosingDatabase(bench.pool, isCommitted: true, isSlow: true))
      var numbers = StreamNumbers(message: 1, push: 1, batch: 0, messagesLeft: 10, pushesLeft: 1000, batchesLeft: 100)
      do {
        _ = try await ledger.accept([message(to: "user1@example.com")], &numbers)
        Issue.record("It was accepted.")
      } catch PostgresError.unknownOutcome {
        #expect(try await bench.database.query("SELECT FROM message").count == 1)
      }
    }
  }

  @Test(arguments: [false, true])
  func `Messages with idempotency keys whose commit had no reply are accepted once, and true repetitions are told`(
    isCommitted: Bool
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let key = try await bench.addStream()
      var numbers = StreamNumbers(message: 1, push: 1, batch: 0, messagesLeft: 10, pushesLeft: 1000, batchesLeft: 100)
      _ = try await ledger(bench, bench.pool, key).accept([message(to: "user1@example.com", once: "old")], &numbers)
      let database = LosingDatabase(bench.pool, isCommitted: isCommitted)
      let messages = try [("user1@example.com", "a"), ("user2@example.com", "old"), ("user2@example.com", "b")].map {
        try message(to: $0.0, once: $0.1)
      }
      let (acceptances, batches) = try await ledger(bench, database, key).accept(messages, &numbers)
      #expect(database.losses == 1)
      guard case .accepted(2, let first) = acceptances[0], case .repeated = acceptances[1],
        case .accepted(4, let second) = acceptances[2]
      else {
        Issue.record("\(acceptances)")
        return
      }
      #expect((first + second).map(\.number) == [PushNumber(2), PushNumber(3)])
      #expect(batches.count == 1 && batches[0].batch.pushes.map(\.message) == [2, 4])
      // The next ones find their numbers free.
      #expect(numbers.message == 5 && numbers.push == 4 && numbers.batch == 2)
      let (next, _) = try await ledger(bench, bench.pool, key).accept(
        [message(to: "user2@example.com", once: "c")], &numbers)
      guard case .accepted(5, _) = next[0] else {
        Issue.record("\(next)")
        return
      }
      #expect(try await bench.database.query("SELECT count(*) FROM message")[0].decode(Int.self) == 4)
    }
  }

  @Test func `Batches that wait in the hub keep their leases, however long the push service takes`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(30)
      bench.simulator.apns.rule(.any, .ignore)
      var hub = TestHub()
      hub.dispatch.window = 10
      hub.dispatch.extendEvery = .milliseconds(20)
      let dispatcher = bench.dispatcher(hub)
      let key = try await bench.addStream()
      let messages = MessageDispatcher(dispatcher)
      let stream = try await bench.messageStream(dispatcher, key)
      for number in 1...30 { _ = try await messages.accept(message(to: "user\(number)@example.com"), in: stream) }
      _ = await bench.simulator.apns.received(count: 1)
      // As if the time of each were nearly over. Those that wait are extended like those that are sent.
      try await bench.database.query("UPDATE push_batch SET lease_until = now() + interval '30 minutes'")
      try await waitUntil {
        try await bench.database.query(
          "SELECT count(*) FROM push_batch WHERE state = 'claimed' AND lease_until < now() + interval '31 minutes'")[0]
          .decode(Int.self) == 0
      }
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
      #expect(try await bench.ledger.counts(key).accepted == 30)
      #expect(bench.simulator.apns.count == 30)
    }
  }

  @Test func `A message that is accepted while the hub stops is left to other hubs`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let dispatcher = bench.dispatcher()
      let key = try await bench.addStream()
      let messages = MessageDispatcher(dispatcher)
      let stream = try await bench.messageStream(dispatcher, key)
      await messages.end()
      guard case .accepted = try await messages.accept(message(to: "user1@example.com"), in: stream) else {
        Issue.record("not accepted")
        return
      }
      let (state, hub) = try await bench.database.query("SELECT state, hub_id::text FROM push_batch")[0].decode(
        String.self, String?.self)
      #expect(state == "queued" && hub == nil && bench.simulator.apns.count == 0)
    }
  }

  @Test func `A verdict that comes after its caller has left is not kept`() {
    let waits = MessageWaits()
    let key = SendoutKey(CustomerID(1), SendoutID(1))
    waits.add(MessageWait(), key, [PushNumber(1), PushNumber(2)])
    func settle(_ number: Int64, _ state: PushState) {
      waits.settled(
        key, [Settlement(push: PushNumber(number), batch: 0, state: state, reason: nil, left: true)])
    }
    settle(1, .waiting)
    settle(2, .accepted)
    #expect(!waits.isEmpty)
    settle(1, .failed)
    #expect(waits.isEmpty)
  }

  @Test func `Who waits for the service's answer is told before it is written, and who waits for the outcome after`()
    async throws
  {
    let waits = MessageWaits()
    let key = SendoutKey(CustomerID(1), SendoutID(1))
    let told = Mutex<[Int64: [PushState]]>([:])
    let settlements = [1, 2].map {
      Settlement(push: PushNumber($0), batch: 0, state: .accepted, reason: nil, left: true)
    }
    for (number, endsWithAnswer) in [(Int64(1), true), (2, false)] {
      let wait = MessageWait(endsWithAnswer: endsWithAnswer)
      wait.expect([PushNumber(number)])
      waits.add(wait, key, [PushNumber(number)])
      waits.verdicts(wait, within: .seconds(600)) { verdicts in
        told.withLock { $0[number, default: []].append(verdicts[PushNumber(number)]?.state ?? .queued) }
      }
    }
    #expect(waits.isWritingAwaited)
    waits.answered(key, settlements)
    #expect(told.withLock(\.self) == [1: [.accepted]])
    #expect(waits.isWritingAwaited && !waits.isEmpty)
    #expect(waits.settled(key, settlements))
    #expect(!waits.isWritingAwaited && waits.isEmpty)
    try await waitUntil { told.withLock(\.self) == [1: [.accepted], 2: [.accepted]] }
    #expect(!waits.settled(key, settlements))
  }

  @Test func `Messages that are due later are queued by lane and moment, and only the others are handed over`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.addDevices(1, from: 4, prefix: "bb", sandbox: true)
      let ledger = try await ledger(bench, bench.pool)
      var numbers = StreamNumbers(message: 1, push: 1, batch: 0, messagesLeft: 10, pushesLeft: 1000, batchesLeft: 1000)
      let (noon, evening) = (Date(timeIntervalSinceNow: 3600), Date(timeIntervalSinceNow: 7200))
      let due = [(1, noon), (2, nil), (3, noon), (4, noon), (1, evening), (4, nil)]
      let messages = try due.map { try message(to: "user\($0)@example.com", at: $1) }
      let (acceptances, handed) = try await ledger.accept(messages, &numbers)
      #expect(
        acceptances.count == 6 && handed.flatMap { $0.batch.pushes.map(\.message) }.sorted { $0! < $1! } == [2, 6])
      let batches = try await bench.database.query(
        """
        SELECT count(*), count(*) FILTER (WHERE state = 'claimed' AND hub_id IS NOT NULL AND not_before <= now()),
               count(*) FILTER (WHERE state = 'queued' AND hub_id IS NULL AND lease_until IS NULL AND not_before > now())
          FROM push_batch
        """)[0].decode(Int.self, Int.self, Int.self)
      // Now in two environments, noon in two, and evening.
      #expect(batches == (5, 2, 3))
      #expect(numbers.batch == 5 && numbers.push == 7)
      let wrong = try await bench.database.query(
        """
        SELECT count(*) FROM push JOIN message m USING (customer_id, sendout_id, message_no)
          JOIN push_batch b USING (customer_id, sendout_id, batch_no)
         WHERE coalesce(m.deliver_at, m.created_at) <> b.not_before OR push_no NOT BETWEEN first_push AND last_push
        """)[0].decode(Int.self)
      #expect(wrong == 0)
      let unseen = await Set(try bench.ledger.due().map(\.lane))
      #expect(unseen.isEmpty)
    }
  }

  @Test func `However many messages are accepted, no more of them have left than the hub's window has capacity for`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      bench.simulator.apns.rule(.any, .ignore)
      let key = try await bench.addStream()
      var hub = TestHub()
      hub.dispatch.window = 20
      // The pushes are answered at the end, however long the rest takes.
      hub.dispatch.verdictTimeout = .seconds(600)
      let dispatcher = bench.dispatcher(hub)
      let stream = try await bench.messageStream(dispatcher, key)
      let messages = MessageDispatcher(dispatcher)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 1...60 {
          let message = try message(to: "user\(number)@example.com")
          group.addTask { _ = try await messages.accept(message, in: stream) }
        }
        try await group.waitForAll()
      }
      _ = await bench.simulator.apns.received(count: 1)
      let (pushes, left) = try await bench.database.query(
        """
        SELECT count(*), count(*) FILTER (WHERE b.state = 'claimed' AND p.state = 'queued' AND p.push_no <= b.sent_to)
          FROM push_batch b JOIN push p USING (customer_id, sendout_id, batch_no)
        """)[0].decode(Int.self, Int.self)
      #expect(pushes == 60 && left > 0 && left <= 20)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
      #expect(try await bench.ledger.counts(key).accepted == 60)
    }
  }

  @Test func `A list waits while many pushes of its customer wait to be sent, and another customer's does not`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2000)
      bench.simulator.apns.rule(.any, .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      let dispatcher = bench.dispatcher()
      let stream = try await bench.messageStream(dispatcher, bench.addStream())
      let messages = MessageDispatcher(dispatcher)
      let all = try (1...2000).map { try message(to: "user\($0)@example.com") }
      _ = await messages.acceptEach(all, in: stream)
      let hasCapacity = Flag()
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await messages.waitForCapacity(bench.customer, until: .now + .seconds(60))
          hasCapacity.set()
        }
        // If it waited, too, this would never end.
        await messages.waitForCapacity(CustomerID(bench.customer.rawValue + 1), until: .now + .seconds(60))
        _ = await bench.simulator.apns.received(count: 1)
        #expect(!hasCapacity.isSet)
        bench.simulator.apns.removeRules()
        bench.simulator.apns.answerIgnored()
      }
      await messages.end(sendsRest: true)
      #expect(hasCapacity.isSet)
    }
  }

  /// A hub whose push service has answered nothing: one push is in flight, and the others wait in memory.
  private func withWaitingMessages(
    _ count: Int, _ configure: (inout TestHub) -> Void = { _ in },
    _ body: (SendingBench, SendoutKey, Dispatcher, MessageDispatcher) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(count)
      bench.simulator.apns.rule(.any, .ignore)
      defer { bench.simulator.apns.answerIgnored() }
      let key = try await bench.addStream()
      var hub = TestHub()
      hub.dispatch.window = 5
      configure(&hub)
      let dispatcher = bench.dispatcher(hub)
      let stream = try await bench.messageStream(dispatcher, key)
      let messages = MessageDispatcher(dispatcher)
      for number in 1...count {
        _ = try await messages.accept(
          message(to: "user\(number)@example.com", expiresAt: hub.now().addingTimeInterval(600)), in: stream)
        if number == 1 { _ = await bench.simulator.apns.received(count: 1) }
      }
      try await body(bench, key, dispatcher, messages)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
    }
  }

  private func batches(_ bench: SendingBench, _ state: String) async throws -> Int {
    try await bench.database.query("SELECT count(*) FROM push_batch WHERE state = $1::text", state)[0].decode(Int.self)
  }

  @Test func `What waits of a stream that is paused goes back to the ledger, and never leaves`() async throws {
    try await withWaitingMessages(20) { bench, key, dispatcher, messages in
      try await bench.database.query(
        "UPDATE sendout SET state = 'paused' WHERE sendout_id = $1::bigint", key.sendout.rawValue)
      try await bench.ledger.hold(key)
      dispatcher.verifyStream(key)
      try await waitUntil { try await batches(bench, "held") >= 15 }
      bench.simulator.apns.answerIgnored()
      await messages.end()
      #expect(bench.simulator.apns.count <= 5)
      #expect(try await batches(bench, "claimed") == 0)
    }
  }

  @Test func `A hub that stops gives what has not left back to the ledger, and awaits what has`() async throws {
    try await withWaitingMessages(20) { bench, _, _, messages in
      async let end: Void = messages.end()
      try await waitUntil { try await batches(bench, "queued") >= 15 }
      bench.simulator.apns.answerIgnored()
      await end
      #expect(bench.simulator.apns.count <= 5)
      #expect(try await batches(bench, "queued") + batches(bench, "settled") == 20)
    }
  }

  @Test func `A push that has waited leaves for nobody else`() async throws {
    try await withWaitingMessages(12, { $0.dispatch.recipientAge = .milliseconds(20) }) { bench, key, _, messages in
      try await bench.database.query(
        """
        UPDATE device SET invalidated_at = now(), invalidation_type = -1, invalidation_reason = 'x' WHERE token LIKE '%b'
        """)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
      let counts = try await bench.ledger.counts(key)
      #expect(counts.skipped == 1 && counts.accepted == 11)
    }
  }

  /// APNs gets one request on a fresh connection, and the next ones after its answer.
  @Test func `A push that has waited for a fresh connection leaves for nobody else`() async throws {
    try await withWaitingMessages(12, { $0.dispatch.recipientAge = .milliseconds(20) }) { bench, key, _, messages in
      try await bench.database.query(
        """
        UPDATE device SET invalidated_at = now(), invalidation_type = -1, invalidation_reason = 'x' WHERE token LIKE '%2'
        """)
      #expect(bench.simulator.apns.count == 1)
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
      let counts = try await bench.ledger.counts(key)
      #expect(counts.skipped == 1 && counts.accepted == 11)
    }
  }

  @Test func `A push that has waited does not leave once its message has expired`() async throws {
    let lead = Mutex(0.0)
    try await withWaitingMessages(
      12,
      {
        $0.dispatch.recipientAge = .milliseconds(20)
        $0.now = { Date(timeIntervalSinceNow: lead.withLock(\.self)) }
      }
    ) { bench, key, _, messages in
      lead.withLock { $0 = 3600 }
      bench.simulator.apns.removeRules()
      bench.simulator.apns.answerIgnored()
      await messages.end(sendsRest: true)
      let counts = try await bench.ledger.counts(key)
      #expect(counts.failed >= 7 && counts.failed + counts.accepted == 12)
    }
  }

  private func ledger(
    _ bench: SendingBench, _ database: any Querying, _ key: SendoutKey? = nil
  ) async throws -> MessageLedger {
    let key = if let key { key } else { try await bench.addStream() }
    return MessageLedger(
      database: database, key: key, apps: [bench.app.id], run: RunID(), lease: .seconds(60), capacity: 100,
      suppressions: .ofTests)
  }
}

/// A database that loses the reply to the first acceptance, after its commit or before.
private final class LosingDatabase: Querying {
  private let database: any Querying
  private let isCommitted: Bool
  /// Whether it then takes too long to read what was accepted.
  private let isSlow: Bool
  private let count = Mutex(0)

  init(_ database: any Querying, isCommitted: Bool, isSlow: Bool = false) {
    self.database = database
    self.isCommitted = isCommitted
    self.isSlow = isSlow
  }

  var losses: Int { count.withLock(\.self) }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let isLost = count.withLock { count in
      guard statement.name.hasPrefix("message.accept"), statement.name != "message.accepted", count == 0 else {
        return false
      }
      count += 1
      return true
    }
    if isSlow, statement.name == "message.accepted" { throw PostgresError.timedOut(statement: statement.name) }
    guard isLost else { return try await database.run(statement, parameters, deadline: deadline) }
    if isCommitted { _ = try await database.run(statement, parameters, deadline: deadline) }
    throw PostgresError.unknownOutcome(statement: statement.name)
  }
}

private final class Flag: Sendable {
  private let state = Mutex(false)

  var isSet: Bool { state.withLock(\.self) }
  func set() { state.withLock { $0 = true } }
}
