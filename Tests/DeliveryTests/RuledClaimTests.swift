import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Delivery

/// The claim of a planned sendout, as a statement.
@Suite struct RuledClaimTests {
  /// A sendout of ten pushes in one batch, to ten contacts in Europe/Stockholm, and its claims.
  private struct Fixture {
    let database: TestDatabase
    let customer: Int64
    let sendout: Int64

    func claim(
      _ rules: SendRules = SendRules(purpose: .marketing, quietHours: nil, caps: []), end: Date? = nil, ttl: Int? = nil
    ) async throws -> Int32? {
      let caps = CapSQL.Parameters(rules.caps)
      return try await database.pool.query(
        RuledClaimQueries.claim, customer, sendout, UUID(), 60.0, Int64(1), false, end, Double(rules.lateSeconds),
        rules.quietHours?.start.description, rules.quietHours?.end.description, rules.quietHours?.policy?.rawValue,
        ttl.map(Double.init), caps.counts, caps.hours, caps.purposes, caps.names, MessagePurpose.marketing.rawValue,
        Int32(rules.keptMoments), rules.ignoresCaps, rules.ratePerSecond.map(Double.init)
      ).first?.decode(Int32.self, Int32.self, Int32.self, Int32.self, Bool.self).0
    }

    /// How many pushes are in which state, for which reason.
    func states() async throws -> [String: Int] {
      let rows = try await database.query(
        """
        SELECT state || coalesce(' ' || reason, ''), count(*) FROM push WHERE customer_id = $1 AND sendout_id = $2 GROUP BY 1
        """, customer, sendout)
      return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(String.self, Int.self) })
    }

    func change(_ sql: String) async throws {
      try await database.query(sql, customer, sendout)
    }

    /// The batch is queued again, as after a release.
    func requeue() async throws {
      try await change("UPDATE push_batch SET state = 'queued' WHERE customer_id = $1 AND sendout_id = $2")
    }
  }

  private func fixture(_ database: TestDatabase, customer: Int64? = nil) async throws -> Fixture {
    let customer =
      if let customer { customer } else { try await database.customer().rawValue }
    let sendout = try await database.query(
      """
      INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message)
      VALUES ($1, '{1}', 's', 'running', '{"all":true}', '{}') RETURNING sendout_id
      """, customer)[0].decode(Int64.self)
    let fixture = Fixture(database: database, customer: customer, sendout: sendout)
    try await database.query("SELECT require_sendout_range($1)", sendout)
    try await fixture.change("INSERT INTO sendout_pace (customer_id, sendout_id) VALUES ($1, $2)")
    try await fixture.change(
      """
      INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, contacts)
      VALUES ($1, $2, 1, 'Europe/Stockholm', 'contact', 10)
      """)
    try await fixture.change(
      """
      INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued, planned_at)
      VALUES ($1, $2, 0, 1, false, 1, 10, 10, now())
      """)
    try await fixture.change(
      """
      INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, zone_no)
      SELECT $1, $2, n, 0, n, n, 1 FROM generate_series(1, 10) AS n
      """)
    return fixture
  }

  private let once = SendRules(
    purpose: .marketing, quietHours: nil, caps: [Cap("1/24h/marketing")].compactMap(\.self))

  /// Quiet hours that have begun an hour ago and end in an hour.
  private func quiet(_ policy: String, _ database: TestDatabase) async throws -> SendRules {
    let (start, end) = try await database.query(
      """
      SELECT to_char(now() AT TIME ZONE 'Europe/Stockholm' - interval '1 hour', 'HH24:MI'),
             to_char(now() AT TIME ZONE 'Europe/Stockholm' + interval '1 hour', 'HH24:MI')
      """)[0].decode(String.self, String.self)
    return SendRules(purpose: .marketing, quietHours: QuietHours("\(start)-\(end)/\(policy)"), caps: [])
  }

  @Test func `Without limits every push is to be sent`() async throws {
    try await withDatabase { database in
      let fixture = try await fixture(database)
      #expect(try await fixture.claim() == 0)
      #expect(try await fixture.states() == ["queued": 10])
      #expect(try await fixture.claim() == nil)
    }
  }

  @Test func `A second sendout within the span is capped, and the same one claimed again is not`() async throws {
    try await withDatabase { database in
      let first = try await fixture(database)
      let second = try await fixture(database, customer: first.customer)
      #expect(try await first.claim(once) == 0)
      try await first.requeue()
      #expect(try await first.claim(once) == 0)
      #expect(try await first.states() == ["queued": 10])
      #expect(try await second.claim(once) == 0)
      #expect(try await second.states() == ["skipped capped 1/24h marketing": 10])
      let third = try await fixture(database, customer: first.customer)
      var ignoring = once
      ignoring.ignoresCaps = true
      #expect(try await third.claim(ignoring) == 0)
      #expect(try await third.states() == ["queued": 10])
    }
  }

  @Test func `Caps hold for sendouts that are claimed at the same moment`() async throws {
    try await withDatabase { database in
      let first = try await fixture(database)
      var fixtures = [first]
      for _ in 1..<20 { fixtures.append(try await fixture(database, customer: first.customer)) }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for fixture in fixtures { group.addTask { _ = try await fixture.claim(once) } }
        try await group.waitForAll()
      }
      let most = try await database.query(
        """
        SELECT max(count) FROM (SELECT count(*) FROM push WHERE customer_id = $1 AND state = 'queued' GROUP BY contact_id) AS got
        """, first.customer)[0].decode(Int.self)
      #expect(most == 1)
    }
  }

  @Test func `In quiet hours a push waits until they end, or is left out`() async throws {
    try await withDatabase { database in
      let held = try await fixture(database)
      try await held.change("UPDATE push_batch SET quiet_at = now() WHERE customer_id = $1 AND sendout_id = $2")
      #expect(try await held.claim(quiet("hold", database)) == 0)
      #expect(try await held.states() == ["waiting quiet": 10])
      let isSoon = try await database.query(
        """
        SELECT bool_and(not_before > now() + interval '50 minutes' AND not_before < now() + interval '80 minutes') FROM push
         WHERE customer_id = $1 AND sendout_id = $2
        """, held.customer, held.sendout)[0].decode(Bool.self)
      #expect(isSoon)
      for (policy, ttl) in [("skip", nil), ("hold", 60)] {
        let skipped = try await fixture(database, customer: held.customer)
        try await skipped.change("UPDATE push_batch SET quiet_at = now() WHERE customer_id = $1 AND sendout_id = $2")
        #expect(try await skipped.claim(quiet(policy, database), ttl: ttl) == 0)
        #expect(try await skipped.states() == ["skipped quiet": 10])
      }
    }
  }

  @Test func `What hubs kept waiting for too long is missed, and what they sent without a break is not`() async throws {
    try await withDatabase { database in
      let late =
        "UPDATE push_batch SET planned_at = now() - interval '2 hours' WHERE customer_id = $1 AND sendout_id = $2"
      let away = try await fixture(database)
      try await away.change(late)
      try await away.change(
        "UPDATE sendout_pace SET worked_at = now() - interval '3 hours' WHERE customer_id = $1 AND sendout_id = $2")
      #expect(try await away.claim() == 0)
      #expect(try await away.states() == ["skipped missed": 10])
      let busy = try await fixture(database)
      try await busy.change(late)
      #expect(try await busy.claim() == 0)
      #expect(try await busy.states() == ["queued": 10])
    }
  }

  @Test func `After its end nothing is sent`() async throws {
    try await withDatabase { database in
      let fixture = try await fixture(database)
      #expect(try await fixture.claim(end: Date(timeIntervalSince1970: 0)) == 0)
      #expect(try await fixture.states() == ["skipped expired": 10])
    }
  }

  @Test func `With a rate the next batch waits for its turn`() async throws {
    try await withDatabase { database in
      let fixture = try await fixture(database)
      let slow = SendRules(purpose: .marketing, quietHours: nil, caps: [], ratePerSecond: 1)
      #expect(try await fixture.claim(slow) == 0)
      try await fixture.requeue()
      #expect(try await fixture.claim(slow) == nil)
      try await fixture.change(
        "UPDATE sendout_pace SET next_claim = now() WHERE customer_id = $1 AND sendout_id = $2")
      #expect(try await fixture.claim(slow) == 0)
    }
  }
}
