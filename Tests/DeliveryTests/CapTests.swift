import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Delivery

/// What caps decide and count when batches are claimed.
@Suite struct CapTests {
  private func rules(
    _ caps: String..., purpose: MessagePurpose = .marketing, ignoresCaps: Bool = false
  ) -> SendRules {
    SendRules(purpose: purpose, quietHours: nil, caps: caps.compactMap { Cap($0) }, ignoresCaps: ignoresCaps)
  }

  /// How many moments of contacts are counted in a column of `reach`.
  private func counted(_ column: String, _ sendout: RuledSendout) async throws -> Int {
    try await sendout.database.query(
      "SELECT coalesce(sum(cardinality(\(column))), 0)::bigint FROM reach WHERE customer_id = $1",
      sendout.key.customer.rawValue)[0].decode(Int.self)
  }

  @Test func `Without limits every push is to be sent, and nobody is counted`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      #expect(try await sendout.claim() == 0)
      #expect(try await sendout.states() == ["queued": 10])
      #expect(try await sendout.claim() == nil)
      #expect(try await counted("every", sendout) == 0)
    }
  }

  @Test func `A second sendout within the span is capped, and the first one claimed again is not`() async throws {
    try await withDatabase { database in
      let once = rules("1/24h/marketing")
      let first = try await RuledSendout(database)
      let second = try await RuledSendout(database, of: first.key.customer)
      #expect(try await first.claim(once) == 0)
      try await first.requeue()
      #expect(try await first.claim(once) == 0)
      #expect(try await first.states() == ["queued": 10])
      #expect(try await second.claim(once) == 0)
      #expect(try await second.states() == ["skipped capped 1/24h marketing": 10])
      #expect(try await counted("every", first) == 10)
    }
  }

  @Test func `A sendout that ignores caps reaches everybody, and counts`() async throws {
    try await withDatabase { database in
      let first = try await RuledSendout(database)
      let second = try await RuledSendout(database, of: first.key.customer)
      #expect(try await first.claim(rules("1/24h")) == 0)
      #expect(try await second.claim(rules("1/24h", ignoresCaps: true)) == 0)
      #expect(try await second.states() == ["queued": 10])
      #expect(try await counted("every", first) == 20)
    }
  }

  @Test func `Two phones of a contact count once`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      try await sendout.addBatch(1, app: 2)
      #expect(try await sendout.claim(rules("1/24h")) == 0)
      #expect(try await sendout.claim(rules("1/24h"), app: 2) == 1)
      #expect(try await sendout.states() == ["queued": 20])
      #expect(try await counted("every", sendout) == 10)
    }
  }

  @Test func `Fifty sendouts at the same moment reach nobody more often than a cap allows`() async throws {
    try await withDatabase { database in
      let twice = rules("2/24h")
      let first = try await RuledSendout(database)
      var sendouts = [first]
      for _ in 1..<50 { sendouts.append(try await RuledSendout(database, of: first.key.customer)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for sendout in sendouts { group.addTask { _ = try await sendout.claim(twice) } }
        try await group.waitForAll()
      }
      let (fewest, most) = try await database.query(
        """
        SELECT min(count), max(count)
          FROM (SELECT count(*) FROM push WHERE customer_id = $1 AND state = 'queued' GROUP BY contact_id) AS got
        """, first.key.customer.rawValue)[0].decode(Int.self, Int.self)
      #expect(fewest == 2 && most == 2)
      let (contacts, capped) = try await database.query(
        "SELECT sum(contacts)::bigint, sum(capped)::bigint FROM cap_day WHERE customer_id = $1 AND rule = '2/24h'",
        first.key.customer.rawValue)[0].decode(Int.self, Int.self)
      #expect(contacts == 20 && capped == 480)
    }
  }

  @Test(arguments: [true, false])
  func `A push names the cap that was reached while it was claimed`(isKnown: Bool) async throws {
    try await withDatabase { database in
      let caps = rules("5/1h", isKnown ? "2/24h" : "1/24h")
      let first = try await RuledSendout(database)
      if isKnown { #expect(try await first.claim(caps) == 0) }
      let second = try await RuledSendout(database, of: first.key.customer)
      let claim = try await database.pool.transaction { transaction in
        // As a third sendout counts each contact once more, and has not committed yet.
        try await transaction.query(
          sql: """
            INSERT INTO reach AS r (customer_id, contact_id, marketing, every, refs)
            SELECT \(first.key.customer.rawValue), n, ARRAY[m], ARRAY[m], ARRAY[0]
              FROM generate_series(1, 10) AS n, (SELECT (extract(epoch FROM now()) * 1000)::bigint AS m) AS moment
            ON CONFLICT (customer_id, contact_id) DO UPDATE
               SET marketing = excluded.marketing || r.marketing, every = excluded.every || r.every, refs = excluded.refs || r.refs
            """)
        let claim = Task { try await second.claim(caps) }
        try await waitUntil {
          try await transaction.query(
            sql: "SELECT count(*) FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid")[0]
            .decode(Int.self) == 1
        }
        return claim
      }
      #expect(try await claim.value == 0)
      #expect(try await second.states() == ["skipped capped \(isKnown ? "2/24h" : "1/24h")": 10])
      let days = try await database.query(
        "SELECT rule, sum(capped)::bigint FROM cap_day WHERE customer_id = $1 AND capped > 0 GROUP BY rule",
        first.key.customer.rawValue
      ).map { try $0.decode(String.self, Int.self) }
      #expect(days.map(\.0) == [isKnown ? "2/24h" : "1/24h"] && days.map(\.1) == [10])
    }
  }

  @Test(arguments: [(24 * 3600 - 60, "skipped capped 1/24h"), (24 * 3600 + 1, "queued")])
  func `The span of a cap ends with the present moment`(age: Int, state: String) async throws {
    try await withDatabase { database in
      let first = try await RuledSendout(database)
      #expect(try await first.claim(rules("1/24h")) == 0)
      try await database.query(
        "UPDATE reach SET every = ARRAY[every[1] - 1000 * $2::bigint] WHERE customer_id = $1",
        first.key.customer.rawValue, Int64(age))
      let second = try await RuledSendout(database, of: first.key.customer)
      #expect(try await second.claim(rules("1/24h")) == 0)
      #expect(try await second.states() == [state: 10])
    }
  }

  @Test func `A cap counts what it concerns, and without a purpose everything`() async throws {
    try await withDatabase { database in
      let caps = ["1/24h/marketing", "2/24h"]
      func claim(_ purpose: MessagePurpose, _ sendout: RuledSendout) async throws -> [String: Int] {
        let rules = SendRules(purpose: purpose, quietHours: nil, caps: caps.compactMap { Cap($0) })
        #expect(try await sendout.claim(rules) == 0)
        return try await sendout.states()
      }
      let first = try await RuledSendout(database)
      func next() async throws -> RuledSendout { try await RuledSendout(database, of: first.key.customer) }
      #expect(try await claim(.transactional, first) == ["queued": 10])
      #expect(try await claim(.marketing, next()) == ["queued": 10])
      #expect(try await claim(.marketing, next()) == ["skipped capped 1/24h marketing": 10])
      #expect(try await claim(.transactional, next()) == ["skipped capped 2/24h": 10])
      #expect(try await counted("marketing", first) == 10)
      #expect(try await counted("transactional", first) == 10)
    }
  }

  @Test func `What no rule can look back to is deleted`() async throws {
    try await withDatabase { database in
      let sendout = try await RuledSendout(database)
      let customer = sendout.key.customer
      #expect(try await sendout.claim(rules("1/30d")) == 0)
      try await database.query(
        "UPDATE reach SET changed_at = now() - interval '721 hours' WHERE customer_id = $1 AND contact_id <= 4",
        customer.rawValue)
      try await database.query(
        "UPDATE cap_day SET day = day - 500 WHERE customer_id = $1", customer.rawValue)
      try await CapCounts.forgetOld(customer, in: database.pool)
      #expect(try await counted("every", sendout) == 6)
      #expect(
        try await database.query("SELECT FROM cap_day WHERE customer_id = $1", customer.rawValue).isEmpty)
    }
  }
}
