import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Delivery

/// Single messages whose customer has quiet hours or caps.
@Suite struct RuledMessageTests {
  /// A stream whose messages wait in the ledger once they are accepted.
  private struct Fixture {
    let bench: SendingBench
    let dispatcher: Dispatcher
    let messages: MessageDispatcher
    var stream: MessageStream

    /// - Parameter update: the customer's settings.
    init(
      _ bench: SendingBench, _ update: CustomerUpdate, _ purpose: MessagePurpose = .marketing,
      sendsItself: Bool = false
    ) async throws {
      self.bench = bench
      dispatcher = bench.dispatcher()
      messages = MessageDispatcher(dispatcher, sendsItself: sendsItself)
      stream = try await bench.messageStream(dispatcher, try await bench.addStream())
      let customer = try await Customers(bench.pool).update(bench.customer, update)
      stream.limits = StreamLimits(CustomerLimits(customer.settings), for: purpose)
    }

    func accept(_ all: NewMessage...) async throws -> [Acceptance] {
      try await messages.acceptEach(all, in: stream).map { try $0.get() }
    }

    /// State and reason of each push, in the order of their numbers.
    func pushes() async throws -> [String] {
      try await bench.database.query(
        "SELECT state || coalesce(' ' || reason, '') FROM push WHERE sendout_id = $1 ORDER BY push_no",
        stream.key.sendout.rawValue
      ).map { try $0.decode(String.self) }
    }

    /// Claims the oldest batch that is due, as a hub does whose customer has these limits.
    func claim() async throws -> Claim? {
      let ledger = BatchLedger(
        database: bench.pool, key: stream.key, lane: Lane(app: bench.app.id, isSandbox: false), run: RunID(),
        lease: .seconds(60), rules: stream.limits?.rules, places: stream.limits?.places)
      return try await ledger.claim()?.claim
    }

    /// What is due later is due now.
    func comeDue() async throws {
      try await bench.database.query(
        """
        UPDATE push_batch SET not_before = now(), quiet_at = least(quiet_at, now()) WHERE sendout_id = $1 AND state = 'queued'
        """, stream.key.sendout.rawValue)
      try await bench.database.query(
        "UPDATE push SET not_before = now() WHERE sendout_id = $1 AND state = 'waiting'", stream.key.sendout.rawValue)
    }
  }

  private static func caps(_ text: String...) -> CustomerUpdate { CustomerUpdate(caps: text.compactMap { Cap($0) }) }

  private func limit(_ acceptance: Acceptance) -> MessageLimit? {
    if case .limited(_, _, let limit) = acceptance { limit } else { nil }
  }

  @Test func `A message beyond a cap is in the ledger, and its pushes are skipped`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let fixture = try await Fixture(bench, Self.caps("1/24h/marketing"))
      #expect(limit(try await fixture.accept(message(to: "user1@example.com"))[0]) == nil)
      let second = try await fixture.accept(message(to: "user1@example.com"))[0]
      #expect(limit(second) == MessageLimit(reason: "capped 1/24h marketing", heldUntil: nil))
      #expect(limit(try await fixture.accept(message(to: "user2@example.com"))[0]) == nil)
      #expect(try await fixture.pushes() == ["queued", "skipped capped 1/24h marketing", "queued"])
      let (counted, capped) = try await bench.database.query(
        "SELECT sum(contacts)::bigint, sum(capped)::bigint FROM cap_day")[0].decode(Int.self, Int.self)
      #expect(counted == 2 && capped == 1)
    }
  }

  @Test func `Of two messages to a contact at once, each is decided about`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let fixture = try await Fixture(bench, Self.caps("2/24h"))
      let answers = try await fixture.accept(
        message(to: "user1@example.com"), message(to: "user1@example.com"), message(to: "user2@example.com"),
        message(to: "user1@example.com"), message(to: "nobody@example.com"))
      #expect(answers.map { limit($0) != nil } == [false, false, false, true, false])
      if case .addresseeUnknown = answers[4] {} else { Issue.record("\(answers[4])") }
      #expect(try await fixture.pushes().filter { $0 == "queued" }.count == 3)
      #expect(try await fixture.pushes().filter { $0 == "skipped capped 2/24h" }.count == 1)
    }
  }

  @Test func `A message that is sent once only counts once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let fixture = try await Fixture(bench, Self.caps("2/24h"))
      for _ in 0..<3 { _ = try await fixture.accept(message(to: "user1@example.com", once: "a")) }
      #expect(limit(try await fixture.accept(message(to: "user1@example.com", once: "b"))[0]) == nil)
      #expect(try await fixture.pushes() == ["queued", "queued"])
    }
  }

  @Test func `In quiet hours a message waits until they end, and is decided about then`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      try await bench.database.query("UPDATE contact SET time_zone = 'Europe/Stockholm'")
      let hours = try await bench.database.quietHours(.hold)
      var fixture = try await Fixture(
        bench, CustomerUpdate(quietHours: .set(hours), caps: [Cap("1/24h")].compactMap(\.self)))
      let limits = try #require(fixture.stream.limits)
      let held = try #require(limit(try await fixture.accept(message(to: "user1@example.com"))[0]))
      let heldUntil = try #require(held.heldUntil)
      #expect(held.reason == "quiet" && heldUntil > Date(timeIntervalSinceNow: 3000))
      #expect(try await fixture.pushes() == ["waiting quiet"])
      #expect(try await fixture.claim() == nil)
      // Meanwhile another message has gone, and quiet hours are over.
      let after = CustomerUpdate(quietHours: .clear)
      let settings = try await Customers(bench.pool).update(bench.customer, after).settings
      fixture.stream.limits = StreamLimits(CustomerLimits(settings), for: .marketing)
      #expect(limit(try await fixture.accept(message(to: "user1@example.com"))[0]) == nil)
      #expect(try await fixture.claim() != nil)
      try await fixture.comeDue()
      #expect(try await fixture.claim() != nil)
      #expect(try await fixture.pushes() == ["skipped capped 1/24h", "queued"])
      #expect(limits.rules.quietHours == hours)
      try await bench.database.checkBatchCounts()
    }
  }

  @Test(arguments: [QuietPolicy.skip, .hold])
  func `A message is skipped whose quiet hours outlast it`(policy: QuietPolicy) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let hours = try await bench.database.quietHours(policy, in: "UTC")
      let fixture = try await Fixture(bench, CustomerUpdate(quietHours: .set(hours)))
      let answer = try await fixture.accept(message(to: "user1@example.com", livingFor: policy == .hold ? 60 : nil))
      #expect(limit(answer[0]) == MessageLimit(reason: "quiet", heldUntil: nil))
      #expect(try await fixture.pushes() == ["skipped quiet"])
    }
  }

  @Test func `The zone is the contact's, else its newest device's, its country's, or the customer's`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(4)
      try await bench.database.query(
        "UPDATE contact SET time_zone = 'Pacific/Auckland' WHERE original_id = 'user1@example.com'")
      try await bench.database.query(
        "UPDATE device SET time_zone = 'Pacific/Auckland' WHERE device_id = $1", devices[1].rawValue)
      try await bench.database.query("UPDATE contact SET country = 'se' WHERE original_id = 'user3@example.com'")
      let hours = try await bench.database.quietHours(.skip)
      var fixture = try await Fixture(bench, CustomerUpdate(timeZone: "Pacific/Auckland", quietHours: .set(hours)))
      let answers = try await fixture.accept(
        message(to: "user1@example.com"), message(to: "user2@example.com"), message(to: "user3@example.com"),
        message(to: "user4@example.com"))
      #expect(answers.map { limit($0) != nil } == [false, false, true, false])
      let settings = try await Customers(bench.pool).update(
        bench.customer, CustomerUpdate(timeZone: "Europe/Stockholm")
      ).settings
      fixture.stream.limits = StreamLimits(CustomerLimits(settings), for: .marketing)
      #expect(limit(try await fixture.accept(message(to: "user4@example.com"))[0])?.reason == "quiet")
    }
  }

  @Test func `What is due later is decided about when it is claimed, two messages to a contact one after the other`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let fixture = try await Fixture(bench, Self.caps("1/24h"))
      let later = Date(timeIntervalSinceNow: 3600)
      let answers = try await fixture.accept(
        message(to: "user1@example.com", at: later), message(to: "user1@example.com", at: later))
      #expect(answers.allSatisfy { limit($0) == nil })
      #expect(try await bench.database.query("SELECT FROM reach").isEmpty)
      try await fixture.comeDue()
      #expect(try await fixture.claim() != nil)
      #expect(try await fixture.pushes() == ["queued", "waiting"])
      // The first one is accepted, and the batch is released.
      let stream = fixture.stream.key.sendout.rawValue
      try await bench.database.query(
        "UPDATE push SET state = 'accepted' WHERE sendout_id = $1 AND state = 'queued'", stream)
      try await bench.database.query(
        "UPDATE push_batch SET state = 'queued', queued = 0, accepted = 1 WHERE sendout_id = $1", stream)
      #expect(try await fixture.claim() != nil)
      #expect(try await fixture.pushes() == ["accepted", "skipped capped 1/24h"])
    }
  }

  @Test func `Calls, PINs and messages without limits are neither counted nor capped`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      var fixture = try await Fixture(bench, Self.caps("1/24h/marketing"), .transactional)
      #expect(fixture.stream.limits == nil)
      for _ in 0..<2 { _ = try await fixture.accept(message(to: "user1@example.com")) }
      #expect(try await fixture.pushes() == ["queued", "queued"])
      // In one stream, each message has its own.
      let (messages, plain) = (fixture.messages, fixture.stream)
      fixture.stream.limits = StreamLimits(
        CustomerLimits(
          try await Customers(bench.pool).update(bench.customer, Self.caps("1/24h")).settings), for: .transactional)
      let limited = fixture
      async let unlimited = messages.acceptEach([message(to: "user1@example.com")], in: plain)
      async let counted = limited.accept(message(to: "user1@example.com"))
      #expect(limit(try await unlimited[0].get()) == nil)
      #expect(limit(try await counted[0]) == nil)
      #expect(
        try await bench.database.query("SELECT sum(cardinality(every))::bigint FROM reach")[0].decode(Int.self) == 1)
    }
  }

  @Test func `What is not limited is sent at once`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let fixture = try await Fixture(bench, Self.caps("1/24h"), sendsItself: true)
      _ = try await fixture.accept(message(to: "user1@example.com"))
      _ = try await fixture.accept(message(to: "user1@example.com"))
      await fixture.messages.end(sendsRest: true)
      #expect(try await fixture.pushes() == ["accepted", "skipped capped 1/24h"])
      #expect(bench.simulator.apns.requests.count == 1)
    }
  }
}
