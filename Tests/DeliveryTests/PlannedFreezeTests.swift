import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Delivery

/// The freeze of a sendout with times, limits or variants, and its preflight.
@Suite struct PlannedFreezeTests {
  /// A customer with the app 1, and contacts with the numbers that a test gives them.
  private struct Fixture {
    let database: TestDatabase
    let customer: CustomerID
    let app = PushAppID(1)

    /// A contact with a device for each time zone; nil is one without.
    func add(
      _ contact: Int64, zone: String? = nil, country: String? = nil, deviceZones: [String?] = [nil]
    ) async throws {
      try await database.query(
        """
        INSERT INTO contact (customer_id, contact_id, original_id, time_zone, country)
        VALUES ($1::bigint, $2::bigint, 'user' || $2::bigint, $3::text, $4::text)
        """, customer.rawValue, contact, zone, country)
      for (index, zone) in deviceZones.enumerated() {
        try await database.query(
          """
          INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, time_zone, registered_at)
          SELECT $1::bigint, 1, $2::bigint, token, decode(token, 'hex'), $4::text, now() + $3::int4 * interval '1 second'
            FROM (SELECT lpad(to_hex($2::bigint * 16 + $3::int4), 64, '0') AS token) AS made
          """, customer.rawValue, contact, Int32(index), zone)
      }
    }

    /// Contacts from 1 on, with a device each, and every tenth with two.
    func add(count: Int) async throws {
      try await database.query(
        """
        WITH made AS (
          INSERT INTO contact (customer_id, contact_id, original_id)
          SELECT $1::bigint, n, 'user' || n FROM generate_series(1, $2::int4) AS n RETURNING contact_id)
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT $1::bigint, 1, contact_id, token, decode(token, 'hex')
          FROM made
         CROSS JOIN generate_series(0, CASE WHEN contact_id % 10 = 0 THEN 1 ELSE 0 END) AS place
         CROSS JOIN LATERAL (SELECT lpad(to_hex(contact_id * 16 + place), 64, '0') AS token) AS t
        """, customer.rawValue, Int32(count))
    }

    func token(ofContact contact: Int64) -> String {
      let digits = String(contact * 16, radix: 16)
      return String(repeating: "0", count: 64 - digits.count) + digits
    }

    func sendout() async throws -> SendoutKey {
      let number = try await database.query(
        """
        INSERT INTO sendout (customer_id, push_app_ids, name, state, audience, message)
        VALUES ($1::bigint, '{1}', 's', 'freezing', '{"all":true}', '{}') RETURNING sendout_id
        """, customer.rawValue)[0].decode(Int64.self)
      try await database.query("SELECT require_sendout_range($1::bigint)", number)
      return SendoutKey(customer, SendoutID(number))
    }

    /// Freezes a new sendout to everybody. A preflight before counts the same.
    func freeze(
      _ plan: FreezePlan, excluded: FilterSQL? = nil, batchSize: Int = 1000
    ) async throws -> (key: SendoutKey, frozen: FrozenAudience) {
      let key = try await sendout()
      return try await database.pool.transaction { transaction in
        let ledger = Ledger(transaction)
        let counts = try await ledger.preflight(
          customer, sendout: key.sendout, apps: [app], audience: .all, excluded: excluded, plan: plan)
        let frozen = try await ledger.freeze(
          key, apps: [app], audience: .all, excluded: excluded, plan: plan, batchSize: batchSize)
        var expected = FrozenAudience(
          devices: frozen.devices, everyone: frozen.everyone, people: frozen.people, leftOut: frozen.leftOut,
          held: counts.held, firstAt: counts.firstAt, lastAt: counts.lastAt)
        expected.leftOut = [:]
        for step in counts.steps where step.contacts > 0 {
          switch step.name {
          case .everyone: expected.everyone = step.contacts
          case .left: expected.people = step.contacts
          default: expected.leftOut[step.name] = step.contacts
          }
        }
        #expect(frozen == expected)
        #expect(counts.steps.map(\.name) == PreflightReply.StepName.allCases)
        #expect((frozen.people ?? 0) + frozen.leftOut.values.reduce(0, +) == frozen.everyone)
        return (key, frozen)
      }
    }

    /// The state and the reason of each push, by contact.
    func outcomes(_ key: SendoutKey) async throws -> [Int64: String] {
      let rows = try await database.query(
        """
        SELECT contact_id, string_agg(state || coalesce(' ' || reason, ''), ', ' ORDER BY device_id) FROM push
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint GROUP BY contact_id
        """, key.customer.rawValue, key.sendout.rawValue)
      return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(Int64.self, String.self) })
    }

    /// When each contact's pushes are due, as their batches say it; those left out are not there.
    func moments(_ key: SendoutKey) async throws -> [Int64: String] {
      let rows = try await database.query(
        """
        SELECT DISTINCT push.contact_id, to_char(batch.not_before AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI') FROM push
          JOIN push_batch AS batch USING (customer_id, sendout_id, batch_no)
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push.state = 'queued'
        """, key.customer.rawValue, key.sendout.rawValue)
      return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(Int64.self, String.self) })
    }

    func number(_ sql: String, _ key: SendoutKey) async throws -> Int {
      try await database.query(sql, key.customer.rawValue, key.sendout.rawValue)[0].decode(Int.self)
    }
  }

  private func withFixture(_ body: (Fixture) async throws -> Void) async throws {
    try await withDatabase { database in
      try await body(Fixture(database: database, customer: try await database.customer()))
      try await database.checkBatchCounts()
    }
  }

  private static let countries = CountryZones(
    zoneTab:
      "# a comment\nFI\t+6010+02458\tEurope/Helsinki\nUS\t+1\tAmerica/New_York\tEastern\nUS\t+2\tAmerica/Chicago\n")

  private func plan(
    _ campaign: CampaignFields = CampaignFields(), purpose: MessagePurpose = .marketing, quiet: QuietHours? = nil,
    caps: [Cap] = [], scheduledAt: Date? = nil, ttl: Int? = nil
  ) -> FreezePlan {
    FreezePlan(
      campaign, rules: SendRules(purpose: purpose, customerQuietHours: quiet, caps: caps, campaign, ttl: ttl),
      scheduledAt: scheduledAt, customerZone: "Europe/Stockholm", countryZones: Self.countries, suppressions: .ofTests)
  }

  private func timestamp(_ text: String) throws -> Wire.Timestamp {
    let timestamp = Wire.Timestamp(text)
    return try #require(timestamp)
  }

  @Test(arguments: [false, true])
  func `The look-ups of a freeze's filters share its memory`(isPlanned: Bool) async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Europe/Stockholm")
      let key = try await fixture.sendout()
      let plan = isPlanned ? plan() : nil
      let wanted = FilterSQL(template: "true", literals: [], lookUps: isPlanned ? 40 : 64)
      let unwanted = FilterSQL(template: "false", literals: [], lookUps: 24)
      let memory = try await fixture.database.pool.transaction { transaction in
        let frozen = try await Ledger(transaction).freeze(
          key, apps: [fixture.app], audience: .meeting(wanted), excluded: isPlanned ? unwanted : nil, plan: plan)
        #expect(frozen.devices == 1)
        return try await transaction.query(sql: "SELECT current_setting('work_mem')")[0].decode(String.self)
      }
      #expect(memory == "1MB")
    }
  }

  @Test func `Each contact is in the first step that leaves it out`() async throws {
    try await withFixture { fixture in
      for contact: Int64 in 1...6 { try await fixture.add(contact, zone: "Europe/Stockholm") }
      try await fixture.add(7, zone: "Asia/Tokyo")
      try await fixture.add(8, deviceZones: [])
      try await fixture.add(9, deviceZones: [nil, nil])
      let suppressions = Suppressions(fixture.database.pool, key: .ofTests)
      for contact in [1, 2, 8] {
        _ = try await suppressions.add(fixture.customer, .contact(originalID: "user\(contact)"), .marketing)
      }
      for contact: Int64 in [4, 9] {
        _ = try await suppressions.add(
          fixture.customer,
          .device(fixture.app, try DeviceToken(fixture.token(ofContact: contact), type: .ios, field: "token")), .all)
      }
      try await fixture.database.query("DELETE FROM device WHERE contact_id = 3")
      try await fixture.database.query(
        """
        INSERT INTO reach (customer_id, contact_id, every) VALUES ($1::bigint, 5, ARRAY[(extract(epoch FROM now()) * 1000)::bigint])
        """, fixture.customer.rawValue)
      // At noon in UTC it is nine in the evening in Tokyo.
      let plan = plan(
        CampaignFields(startAt: try timestamp("2036-01-15T12:00:00Z")), quiet: QuietHours("21:00-08:00/skip"),
        caps: [Cap("1/24h")].compactMap(\.self))
      let (key, frozen) = try await fixture.freeze(
        plan, excluded: FilterSQL(template: "(contact.original_id = ({literals})[1])", literals: ["user1"]))
      #expect(
        frozen.leftOut == [.excluded: 1, .suppressed: 3, .noDevice: 1, .capped: 1, .quiet: 1])
      #expect(frozen.everyone == 9)
      #expect(frozen.people == 2)
      #expect(
        try await fixture.outcomes(key) == [
          2: "skipped suppressed", 4: "skipped suppressed", 5: "skipped capped 1/24h", 6: "queued",
          7: "skipped quiet", 9: "skipped suppressed, queued",
        ])
      let stored = try await fixture.database.query(
        "SELECT reason, contacts FROM sendout_left_out WHERE customer_id = $1::bigint AND sendout_id = $2::bigint",
        key.customer.rawValue, key.sendout.rawValue
      ).map { try $0.decode(String.self, Int32.self) }
      #expect(
        Dictionary(uniqueKeysWithValues: stored) == [
          "excluded": 1, "suppressed": 3, "no_device": 1, "capped": 1, "quiet": 1,
        ])
      #expect(
        try await fixture.database.query("SELECT sum(capped)::bigint FROM cap_day WHERE rule = '1/24h'")[0]
          .decode(Int.self) == 1)
    }
  }

  @Test func `Suppressions of marketing do not concern transactional sendouts`() async throws {
    try await withFixture { fixture in
      for contact: Int64 in 1...2 { try await fixture.add(contact) }
      let suppressions = Suppressions(fixture.database.pool, key: .ofTests)
      _ = try await suppressions.add(fixture.customer, .contact(originalID: "user1"), .marketing)
      _ = try await suppressions.add(fixture.customer, .contact(originalID: "user2"), .all)
      let (key, _) = try await fixture.freeze(plan(purpose: .transactional))
      #expect(try await fixture.outcomes(key) == [1: "queued", 2: "skipped suppressed"])
    }
  }

  @Test func `Caps that a sendout ignores leave nobody out`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1)
      try await fixture.database.query(
        """
        INSERT INTO reach (customer_id, contact_id, every) VALUES ($1::bigint, 1, ARRAY[(extract(epoch FROM now()) * 1000)::bigint])
        """, fixture.customer.rawValue)
      let caps = [Cap("1/24h")].compactMap(\.self)
      let (key, _) = try await fixture.freeze(plan(CampaignFields(ignoreCaps: true), caps: caps))
      #expect(try await fixture.outcomes(key) == [1: "queued"])
    }
  }

  @Test func `The holdout gets nothing, and variants fall to the others by their shares`() async throws {
    try await withFixture { fixture in
      try await fixture.add(count: 2000)
      let variants = [("A", 10), ("B", 30)].map { MessageVariant(name: $0.0, share: $0.1, message: MessageBody()) }
      let campaign = CampaignFields(
        variants: variants, winner: WinnerRule(afterMinutes: 60), holdoutPercent: 20)
      let (key, frozen) = try await fixture.freeze(plan(campaign), batchSize: 100)
      let isHeldOut = ShareSQL.isAmong(percent: "20", .holdout, contact: "contact_id", sendout: "sendout_id")
      let variant = ShareSQL.variant(bounds: "'{1000,4000}'::int4[]", contact: "contact_id", sendout: "sendout_id")
      let wrong = try await fixture.number(
        """
        SELECT count(*) FROM push
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
           AND (\(isHeldOut) <> (state = 'skipped' AND reason = 'held_out')
                OR variant IS DISTINCT FROM CASE WHEN state = 'queued' THEN \(variant) END)
        """, key)
      #expect(wrong == 0)
      #expect(frozen.leftOut.keys.sorted { $0.rawValue < $1.rawValue } == [.heldOut])
      let rows = try await fixture.database.query(
        """
        SELECT variant_no, name, share, contacts, (SELECT count(DISTINCT contact_id) FROM push
            WHERE push.customer_id = v.customer_id AND push.sendout_id = v.sendout_id AND push.variant = v.variant_no)
          FROM sendout_variant AS v WHERE customer_id = $1::bigint AND sendout_id = $2::bigint ORDER BY variant_no
        """, key.customer.rawValue, key.sendout.rawValue
      ).map { try $0.decode(Int16.self, String.self, Int32.self, Int32.self, Int.self) }
      #expect(rows.map(\.0) == [0, 1, 2])
      #expect(rows.map(\.1) == ["", "A", "B"])
      #expect(rows.map(\.2) == [60, 10, 30])
      #expect(rows.allSatisfy { Int($0.3) == $0.4 })
      #expect(rows.reduce(0) { $0 + Int($1.3) } == frozen.people)
      // Those who wait for the winner are in batches of their own, which have their moment all the same.
      let mixed = try await fixture.number(
        """
        SELECT count(*) FROM push JOIN push_batch AS batch USING (customer_id, sendout_id, batch_no)
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push.state = 'queued'
           AND (push.variant = 0) <> (batch.not_before = 'infinity' AND batch.planned_at IS NOT NULL)
        """, key)
      #expect(mixed == 0)
      let settled = try await fixture.number(
        """
        SELECT count(*) FROM push_batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND (state = 'settled') <> (skipped > 0)
        """, key)
      #expect(settled == 0)
    }
  }

  @Test func `Each zone has the local time by its own clock, and batches of its own`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Asia/Tokyo")
      try await fixture.add(2, zone: "Europe/Stockholm")
      try await fixture.add(3, zone: "Europe/Berlin", deviceZones: [nil, nil])
      let (key, frozen) = try await fixture.freeze(plan(CampaignFields(localTime: WallTime("2036-01-15T18:30"))))
      #expect(
        try await fixture.moments(key) == [1: "2036-01-15 09:30", 2: "2036-01-15 17:30", 3: "2036-01-15 17:30"])
      #expect(frozen.firstAt == (try timestamp("2036-01-15T09:30:00Z")).date)
      #expect(frozen.lastAt == (try timestamp("2036-01-15T17:30:00Z")).date)
      let batches = try await fixture.number(
        """
        SELECT count(*) FROM push_batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND planned_at = not_before AND quiet_at IS NULL
        """, key)
      #expect(batches == 2)
      let zones = try await fixture.database.query(
        """
        SELECT zone, contacts, (SELECT count(*) FROM push WHERE push.customer_id = z.customer_id
                                   AND push.sendout_id = z.sendout_id AND push.zone_no = z.zone_no)
          FROM sendout_zone AS z WHERE customer_id = $1::bigint AND sendout_id = $2::bigint ORDER BY zone
        """, key.customer.rawValue, key.sendout.rawValue
      ).map { try $0.decode(String.self, Int32.self, Int.self) }
      #expect(zones.map(\.0) == ["Asia/Tokyo", "Europe/Berlin", "Europe/Stockholm"])
      #expect(zones.map(\.1) == [1, 1, 1])
      #expect(zones.map(\.2) == [1, 2, 1])
      #expect(
        try await fixture.number("SELECT count(*) FROM sendout_moment WHERE customer_id = $1 AND sendout_id = $2", key)
          == 0)
    }
  }

  @Test(arguments: [
    ("2036-03-30T02:30", "2036-03-30 01:30"), ("2036-10-26T02:30", "2036-10-26 00:30"),
    ("2036-03-30T03:00", "2036-03-30 01:00"), ("2036-10-26T03:00", "2036-10-26 02:00"),
  ])
  func `A time that clocks skip is later by the gap, and of one that comes twice the first counts`(
    local: String, moment: String
  ) async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Europe/Stockholm")
      let (key, _) = try await fixture.freeze(plan(CampaignFields(localTime: WallTime(local))))
      #expect(try await fixture.moments(key) == [1: moment])
    }
  }

  @Test func `Zones where the local time is over are skipped, go now, or go the next day`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Pacific/Kiritimati")
      try await fixture.add(2, zone: "Europe/Stockholm")
      let scheduledAt = try timestamp("2036-06-01T00:00:00Z").date
      func freeze(_ policy: MissedPolicy?) async throws -> (key: SendoutKey, frozen: FrozenAudience) {
        try await fixture.freeze(
          plan(
            CampaignFields(localTime: WallTime("2036-06-01T12:00"), onMissed: policy), scheduledAt: scheduledAt))
      }
      let skipped = try await freeze(nil)
      #expect(try await fixture.outcomes(skipped.key) == [1: "skipped missed", 2: "queued"])
      #expect(skipped.frozen.leftOut == [.missed: 1])
      let next = try await freeze(.nextDay)
      #expect(try await fixture.moments(next.key) == [1: "2036-06-01 22:00", 2: "2036-06-01 10:00"])
      let now = try await freeze(.now)
      let due = try await fixture.number(
        """
        SELECT count(*) FROM push_batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND not_before <= now() AND planned_at IS NOT NULL
        """, now.key)
      #expect(due == 1)
    }
  }

  @Test func `Where the next day's local time is over, too, it is missed, and after the end it has expired`()
    async throws
  {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Pacific/Kiritimati")
      try await fixture.add(2, zone: "Pacific/Auckland")
      try await fixture.add(3, zone: "Europe/Stockholm")
      try await fixture.add(4, zone: "Pacific/Pago_Pago")
      func freeze(_ scheduledAt: String, endAt: String? = nil) async throws -> (SendoutKey, FrozenAudience) {
        try await fixture.freeze(
          plan(
            CampaignFields(
              localTime: WallTime("2036-06-01T12:00"), endAt: try endAt.map { try timestamp($0) }, onMissed: .nextDay),
            scheduledAt: try timestamp(scheduledAt).date))
      }
      // In Kiritimati it is 12:30 of the next day, in Auckland 10:30, and in Pago Pago 11:30 of the day itself.
      let (late, frozen) = try await freeze("2036-06-01T22:30:00Z")
      #expect(
        try await fixture.moments(late) == [2: "2036-06-02 00:00", 3: "2036-06-02 10:00", 4: "2036-06-01 23:00"])
      #expect(try await fixture.outcomes(late)[1] == "skipped missed" && frozen.leftOut == [.missed: 1])
      // At the moment itself it is not over.
      let (inTime, _) = try await freeze("2036-06-01T22:00:00Z")
      #expect(try await fixture.moments(inTime)[1] == "2036-06-01 22:00")
      let (ended, _) = try await freeze("2036-06-01T22:30:00Z", endAt: "2036-06-02T00:00:00Z")
      #expect(
        try await fixture.outcomes(ended)
          == [1: "skipped missed", 2: "skipped expired", 3: "skipped expired", 4: "queued"])
    }
  }

  @Test func `A contact's zone is its own, else its newest device's, its country's, or the customer's`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Asia/Tokyo", country: "FI", deviceZones: ["Asia/Kolkata"])
      try await fixture.add(2, zone: "", country: "FI", deviceZones: ["Asia/Kolkata", "Asia/Dubai", nil])
      try await fixture.add(3, country: "fi")
      try await fixture.add(4, country: "US")
      try await fixture.add(5)
      // As from psql.
      try await fixture.add(6, zone: "Mars/Base")
      try await fixture.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 1 WHERE contact_id = 2 AND time_zone = 'Asia/Dubai'"
      )
      try await fixture.database.query("UPDATE device SET country = 'FI' WHERE contact_id = 5")
      let (key, _) = try await fixture.freeze(plan(CampaignFields(localTime: WallTime("2036-01-15T18:30"))))
      let rows = try await fixture.database.query(
        """
        SELECT push.contact_id, zone.source || ' ' || zone.zone FROM push
          JOIN sendout_zone AS zone USING (customer_id, sendout_id, zone_no)
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint GROUP BY 1, 2
        """, key.customer.rawValue, key.sendout.rawValue)
      #expect(
        Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(Int64.self, String.self) }) == [
          1: "contact Asia/Tokyo", 2: "device Asia/Kolkata", 3: "country Europe/Helsinki",
          4: "customer Europe/Stockholm", 5: "country Europe/Helsinki", 6: "contact Europe/Stockholm",
        ])
    }
  }

  @Test func `What quiet hours hold goes when they end, within 15 minutes`() async throws {
    try await withFixture { fixture in
      for contact: Int64 in 1...60 { try await fixture.add(contact, zone: "Asia/Tokyo") }
      try await fixture.add(61, zone: "Europe/Stockholm")
      let startAt = try timestamp("2036-01-15T12:00:00Z")
      let (key, frozen) = try await fixture.freeze(
        plan(CampaignFields(startAt: startAt), quiet: QuietHours("21:00-08:00")))
      #expect(frozen.held == 60)
      #expect(frozen.people == 61)
      let moments = try await fixture.moments(key)
      #expect(moments[61] == "2036-01-15 12:00")
      for contact: Int64 in 1...60 {
        let hold = try await fixture.database.query(
          "SELECT share_of($1::bigint, $2::bigint, 4) % 15", contact, key.sendout.rawValue)[0].decode(Int32.self)
        #expect(moments[contact] == "2036-01-15 23:\(hold < 10 ? "0" : "")\(hold)")
      }
      // In Tokyo they begin again at noon UTC of the next day, in Stockholm at 20:00.
      let wrong = try await fixture.number(
        """
        SELECT count(*) FROM push_batch
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
           AND quiet_at IS DISTINCT FROM CASE WHEN planned_at < '2036-01-15 20:00Z' THEN timestamptz '2036-01-15 20:00Z'
                                              ELSE timestamptz '2036-01-16 12:00Z' END
        """, key)
      #expect(wrong == 0)
    }
  }

  @Test(arguments: [(3600, nil), (nil, "2036-01-15T23:00:00Z")] as [(Int?, String?)])
  func `What would be over when quiet hours end is left out`(ttl: Int?, end: String?) async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Asia/Tokyo")
      let campaign = CampaignFields(
        startAt: try timestamp("2036-01-15T12:00:00Z"), endAt: try end.map { try timestamp($0) })
      let (key, _) = try await fixture.freeze(plan(campaign, quiet: QuietHours("21:00-08:00"), ttl: ttl))
      #expect(try await fixture.outcomes(key) == [1: "skipped quiet"])
    }
  }

  @Test func `Those held beyond the end are not counted as left`() async throws {
    try await withFixture { fixture in
      for contact: Int64 in 1...60 { try await fixture.add(contact, zone: "Asia/Tokyo") }
      // Quiet hours end at 23:00, and whoever has waited is spread over 15 minutes.
      let campaign = CampaignFields(
        startAt: try timestamp("2036-01-15T12:00:00Z"), endAt: try timestamp("2036-01-15T23:05:00Z"))
      let (key, frozen) = try await fixture.freeze(plan(campaign, quiet: QuietHours("21:00-08:00")))
      var states: [String: Int] = [:]
      for (contact, state) in try await fixture.outcomes(key) {
        let hold = try await fixture.database.query(
          "SELECT share_of($1::bigint, $2::bigint, 4) % 15", contact, key.sendout.rawValue)[0].decode(Int32.self)
        #expect(state == (hold < 5 ? "queued" : "skipped expired"))
        states[state, default: 0] += 1
      }
      #expect(states.count == 2)
      #expect(frozen.people == states["queued"] && frozen.held == states["queued"])
      #expect(frozen.leftOut == [.missed: states["skipped expired"] ?? 0])
      #expect(frozen.lastAt.map { $0 < campaign.endAt?.date ?? .distantPast } == true)
    }
  }

  @Test func `Pushes are spread over whole minutes, and those after the end have expired`() async throws {
    try await withFixture { fixture in
      try await fixture.add(count: 500)
      let startAt = try timestamp("2036-01-15T12:00:00Z")
      let campaign = CampaignFields(
        startAt: startAt, endAt: try timestamp("2036-01-15T12:05:00Z"), spreadMinutes: 10)
      let (key, frozen) = try await fixture.freeze(plan(campaign))
      let slot = "share_of(contact_id, sendout_id, 3) * 10 / 10000"
      let wrong = try await fixture.number(
        """
        SELECT count(*) FROM push JOIN push_batch AS batch USING (customer_id, sendout_id, batch_no)
         WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
           AND CASE WHEN \(slot) < 5 THEN push.state <> 'queued' OR batch.not_before <> '2036-01-15 12:00Z'::timestamptz + \(slot) * interval '1 minute'
                    ELSE push.state <> 'skipped' OR push.reason <> 'expired' END
        """, key)
      #expect(wrong == 0)
      #expect(frozen.lastAt == startAt.date.addingTimeInterval(240))
      let expired = try #require(frozen.leftOut[.missed])
      #expect(expired > 100)
      // The step is that of all whose moment does not come in time; the reason is the one that pushes have.
      #expect(
        try await fixture.number(
          "SELECT contacts::bigint FROM sendout_left_out WHERE customer_id = $1 AND sendout_id = $2 AND reason = 'expired'",
          key) == expired)
    }
  }

  @Test func `A sendout without a moment is due at once, and is never late`() async throws {
    try await withFixture { fixture in
      try await fixture.add(count: 30)
      let (key, frozen) = try await fixture.freeze(plan(caps: [Cap("1/24h")].compactMap(\.self)), batchSize: 10)
      #expect(frozen.devices == 33)
      #expect(frozen.people == 30)
      #expect(
        try await fixture.number(
          """
          SELECT count(*) FROM push_batch
           WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND planned_at IS NULL AND not_before <= now()
          """, key) == 4)
      #expect(
        try await fixture.number(
          "SELECT count(*) FROM push WHERE customer_id = $1 AND sendout_id = $2 AND zone_no IS NULL", key) == 33)
      #expect(
        try await fixture.number("SELECT count(*) FROM sendout_pace WHERE customer_id = $1 AND sendout_id = $2", key)
          == 1)
    }
  }

  @Test func `With a rate a batch is a second's worth`() async throws {
    try await withFixture { fixture in
      try await fixture.add(count: 30)
      let (key, _) = try await fixture.freeze(plan(CampaignFields(ratePerSecond: 5)))
      #expect(
        try await fixture.number(
          "SELECT max(last_push - first_push + 1)::bigint FROM push_batch WHERE customer_id = $1 AND sendout_id = $2",
          key
        ) == 5)
    }
  }

  @Test func `Nobody at all is frozen, too`() async throws {
    try await withFixture { fixture in
      let (_, frozen) = try await fixture.freeze(
        plan(CampaignFields(localTime: WallTime("2036-01-15T18:30")), quiet: QuietHours("21:00-08:00")))
      #expect(frozen == FrozenAudience(devices: 0, everyone: 0, people: 0))
    }
  }

  @Test func `Every form of an audience is frozen`() async throws {
    try await withFixture { fixture in
      for contact: Int64 in 1...4 { try await fixture.add(contact) }
      let list = try await fixture.database.query(
        "INSERT INTO list (customer_id, name) VALUES ($1::bigint, 'l') RETURNING list_id", fixture.customer.rawValue)[0]
        .decode(Int64.self)
      try await fixture.database.query(
        "INSERT INTO list_member (customer_id, list_id, contact_id) SELECT $1::bigint, $2::bigint, n FROM generate_series(1, 2) AS n",
        fixture.customer.rawValue, list)
      let filter = FilterSQL(
        template: "(contact.original_id = ANY ({literals}))", literals: ["user1", "user2", "user3"])
      let excluded = FilterSQL(template: "(contact.original_id = ({literals})[1])", literals: ["user1"])
      for (audience, contacts) in [
        (.all, [2, 3, 4]), (.list(ListID(list)), [2]), (.originalIds(["user1", "user2", "user2", "none"]), [2]),
        (.meeting(filter), [2, 3]), (.originalIdsMeeting(["user3", "user4"], filter), [3]),
      ] as [(SelectedAudience, [Int64])] {
        let key = try await fixture.sendout()
        let frozen = try await fixture.database.pool.transaction { transaction in
          try await Ledger(transaction).freeze(
            key, apps: [fixture.app], audience: audience, excluded: excluded,
            plan: plan(CampaignFields(localTime: WallTime("2036-01-15T18:30"))))
        }
        #expect(frozen.people == contacts.count)
        #expect(try await fixture.outcomes(key).keys.sorted() == contacts)
      }
    }
  }

  @Test func `Devices that would get a push are counted by app and environment before`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Asia/Tokyo", deviceZones: [nil, nil])
      try await fixture.add(2)
      try await fixture.database.query("UPDATE device SET sandbox = true WHERE contact_id = 2")
      let counts = try await Ledger(fixture.database.pool).preflight(
        fixture.customer, sendout: nil, apps: [fixture.app], audience: .all, excluded: nil,
        plan: plan(CampaignFields(localTime: WallTime("2036-01-15T18:30"))))
      #expect(
        counts.devices == [
          Lane(app: fixture.app, isSandbox: false): 2, Lane(app: fixture.app, isSandbox: true): 1,
        ])
      #expect(
        counts.zones == [
          PreflightReply.Zone(
            zone: "Asia/Tokyo", source: .contact, plannedAt: try timestamp("2036-01-15T09:30:00Z"), contacts: 1),
          PreflightReply.Zone(
            zone: "Europe/Stockholm", source: .customer, plannedAt: try timestamp("2036-01-15T17:30:00Z"), contacts: 1),
        ])
    }
  }

  @Test func `A zone is due once its clocks show the local time`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Europe/Stockholm")
      for (offset, isDue) in [("-1 hour", true), ("1 hour", false)] {
        let local = try await fixture.database.query(
          """
          SELECT to_char(now() AT TIME ZONE 'Europe/Stockholm' + $1::text::interval, 'YYYY-MM-DD"T"HH24:MI')
          """, offset)[0].decode(String.self)
        let plan = plan(
          CampaignFields(localTime: WallTime(local)), scheduledAt: Date(timeIntervalSinceNow: -86_400))
        #expect(
          try await Ledger(fixture.database.pool).hasDueZone(fixture.customer, audience: .all, plan: plan) == isDue)
      }
    }
  }

  @Test func `The look for a zone may take as long as it needs`() async throws {
    try await withFixture { fixture in
      try await fixture.add(1, zone: "Europe/Stockholm")
      // The statement asks this about each zone.
      try await fixture.database.query(
        """
        CREATE OR REPLACE FUNCTION zone_or(zone text, otherwise text) RETURNS text LANGUAGE plpgsql STABLE STRICT AS $$
        BEGIN
          IF current_setting('statement_timeout') <> '0' THEN RAISE 'limited'; END IF;
          RETURN zone;
        END
        $$
        """)
      let plan = plan(
        CampaignFields(localTime: WallTime("2036-01-15T18:30")), scheduledAt: Date(timeIntervalSinceNow: -86_400))
      #expect(
        try await !Ledger(fixture.database.pool).hasDueZone(fixture.customer, audience: .all, plan: plan))
    }
  }

  @Test func `Countries with one zone alone are read from zone.tab`() {
    #expect(Self.countries.countries == ["FI"])
    #expect(Self.countries.zones == ["Europe/Helsinki"])
    let machine = CountryZones.ofMachine
    #expect(machine.countries.firstIndex(of: "SE").map { machine.zones[$0] } == "Europe/Stockholm")
    #expect(!machine.countries.contains("US"))
  }

  @Test(arguments: [(0, 1, 1), (1, 1, 1), (120, 120, 1), (121, 61, 2), (1440, 120, 12)])
  func `A spread has at most 120 steps of whole minutes`(spread: Int, count: Int, minutes: Int) {
    let steps = plan(CampaignFields(spreadMinutes: spread)).steps
    #expect(steps.count == count)
    #expect(steps.minutes == minutes)
  }
}
