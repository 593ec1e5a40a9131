import FoundationEssentials
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Sendouts

/// What the API tells of a campaign, beside what its page shows (`CampaignPagesTests`).
@Suite struct CampaignFiguresTests {
  private func figures(
    _ bench: SendingBench, _ id: SendoutID, isExact: Bool = false
  ) async throws -> CampaignFigures {
    try await SendoutStore(bench.pool).campaignFigures(bench.customer, id, isExact: isExact)
  }

  private func request(_ campaign: CampaignFields, audience: Audience = .all) -> SendoutRequest {
    SendoutRequest(
      name: "Test", appId: SendingBench.appID, audience: audience, message: MessageBody(alert: "Hi"), draft: true,
      campaign: campaign)
  }

  @Test func `Of a large sendout a part is counted, and all of it if that is asked for`() async throws {
    try await withSendingBench { bench in
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 40, message: MessageBody(alert: $0)) }
      let id = try await bench.sendouts.create(
        bench.customer, request(CampaignFields(variants: variants, winner: WinnerRule(afterMinutes: 60)))
      ).sendoutId
      let (customer, sendout) = (bench.customer.rawValue, id.rawValue)
      try await bench.database.query("SELECT require_sendout_range($1::bigint)", sendout)
      // 40,000 contacts in batches of 1,000: A and B by turns in the first 30, of whom a tenth and a fifth have opened; those who wait in the rest.
      try await bench.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, variant, state, sent_at, opened_at)
        SELECT $1::bigint, $2::bigint, n, (n - 1) / 1000, n, n, CASE WHEN n > 30000 THEN 0 ELSE n % 2 + 1 END, 'accepted', now(),
               CASE WHEN n % 20 = 0 OR n % 10 = 1 THEN now() END
          FROM generate_series(1, 40000) AS n
        """, customer, sendout)
      try await bench.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, state, queued, accepted)
        SELECT $1::bigint, $2::bigint, n, $3::bigint, false, n * 1000 + 1, n * 1000 + 1000, 'settled', 0, 1000
          FROM generate_series(0, 39) AS n
        """, customer, sendout, bench.app.id.rawValue)
      try await bench.database.recountBatches()
      try await bench.database.query(
        """
        INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts)
        VALUES ($1, $2, 0, '', 20, 10000), ($1, $2, 1, 'A', 40, 15000), ($1, $2, 2, 'B', 40, 15000)
        """, customer, sendout)
      try await bench.database.query(
        """
        INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, contacts)
        VALUES ($1, $2, 1, 'Asia/Tokyo', 'contact', 40000)
        """, customer, sendout)
      try await bench.database.query("UPDATE push SET zone_no = 1")
      try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now()")

      let part = try await figures(bench, id)
      #expect(part.isEstimate && part.sizesFit == false && part.waiting == 10_000)
      // 20 of the 30 batches that have variants.
      #expect(part.variants.map { $0.counts?.accepted } == [10_000, 10_000])
      #expect(part.variants.map { $0.counts?.rate } == [0.1, 0.2])
      #expect(part.variants.map(\.expected) == [16_000, 16_000])
      #expect(part.zones == [CampaignFigures.Zone(zone: "Asia/Tokyo", source: .contact, contacts: 40_000)])
      let all = try await figures(bench, id, isExact: true)
      #expect(!all.isEstimate && all.variants.map { $0.counts?.accepted } == [15_000, 15_000])
      #expect(all.variants.map { $0.counts?.opened } == [1500, 3000])
      #expect(all.zones.map(\.accepted) == [40_000] && all.zones.map(\.opened) == [6000])
      let interval = Significance.interval(.init(contacts: 15_000, opened: 1500))
      #expect(all.variants[0].counts?.low == interval.lowerBound && all.variants[0].counts?.high == interval.upperBound)
      #expect(all.variants.allSatisfy { $0.atDecision == nil })
      for name in ["campaign.zones", "variant.outcomes"] {
        let slow = SlowDatabase(database: bench.pool, slow: name)
        let found = try await SendoutStore(bench.pool, reading: slow).campaignFigures(bench.customer, id, isExact: true)
        #expect(found.isEstimate && found.variants == part.variants && found.zones == part.zones, "\(name)")
      }
    }
  }

  /// A database on which one statement takes longer than it may.
  private struct SlowDatabase: Querying {
    let database: any Querying
    let slow: String

    func run(
      _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
    ) async throws -> Rows {
      if statement.name == slow { throw PostgresError.timedOut(statement: slow) }
      return try await database.run(statement, parameters, deadline: deadline)
    }
  }

  @Test func `A draft has neither variants nor zones, and a plain sendout nothing to tell`() async throws {
    try await withSendingBench { bench in
      let id = try await bench.sendouts.create(bench.customer, request(CampaignFields(holdoutPercent: 5))).sendoutId
      let found = try await figures(bench, id)
      #expect(found.variants.isEmpty && found.zones.isEmpty && found.leftOut.isEmpty && found.sizesFit == nil)
      #expect(found.series == nil && found.tests.isEmpty && !found.isEstimate)
      await #expect(throws: RegistryError.numberUnknown("sendout")) { try await figures(bench, SendoutID(99)) }
      let other = try await Customers(bench.pool).add(name: "Other").id
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        try await SendoutStore(bench.pool).campaignFigures(other, id)
      }
    }
  }

  @Test func `Those without a device and those excluded are found by what is true now`() async throws {
    try await withSendingBench { bench in
      let apps = try await PushApps(bench.pool).list(bench.customer)
      let swedes = try Filter(text: "country = 'SE'")
      func filter(_ reason: String, _ audience: Audience, isKept: Bool = true) -> String? {
        Filter(findingLeftOut: reason, of: SendoutID(7), audience, apps: apps, isKept: isKept)?.text
      }
      let device = "not device(app = 'com.acme.app' and platform = 'ios')"
      #expect(filter("no_device", .all) == device)
      #expect(filter("no_device", .list(ListID(3))) == "in list 3 and \(device)")
      #expect(filter("no_device", .lists([ListID(3), ListID(4)])) == "(in list 3 or in list 4) and \(device)")
      #expect(filter("no_device", .excluding(.segment(SegmentID(2)), swedes)) == "in segment 2 and \(device)")
      #expect(filter("no_device", .originalIds(["a"])) == nil)
      #expect(filter("excluded", .excluding(.all, swedes)) == "country = 'SE'")
      #expect(filter("excluded", .excluding(.segment(SegmentID(2)), swedes)) == "in segment 2 and country = 'SE'")
      #expect(filter("excluded", .all) == nil)
      for (reason, word) in [
        ("suppressed", "suppressed"), ("held_out", "heldOut"), ("capped", "capped"), ("quiet", "quiet"),
        ("missed", "missed"), ("expired", "expired"), ("no_winner", "noWinner"), ("device_gone", "skipped"),
      ] {
        #expect(filter(reason, .all) == "outcome of sendout 7 = '\(word)'")
        // Retention has deleted the pushes.
        #expect(filter(reason, .all, isKept: false) == nil)
      }
    }
  }

  @Test func `What retention has deleted stays told by what it kept`() async throws {
    try await withSendingBench { bench in
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 50, message: MessageBody(alert: $0)) }
      let id = try await bench.sendouts.create(bench.customer, request(CampaignFields(variants: variants))).sendoutId
      try await bench.database.query(
        """
        INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts, final_accepted, final_opened)
        VALUES ($1, $2, 1, 'A', 50, 100, 90, 9), ($1, $2, 2, 'B', 50, 100, 95, 19)
        """, bench.customer.rawValue, id.rawValue)
      try await bench.database.query(
        "INSERT INTO sendout_left_out (customer_id, sendout_id, reason, contacts) VALUES ($1, $2, 'capped', 4)",
        bench.customer.rawValue, id.rawValue)
      try await bench.database.query(
        "UPDATE sendout SET state = 'finished', frozen_at = now(), finished_at = now(), expired_at = now()"
      )
      try await bench.database.query(
        """
        INSERT INTO sendout_zone (customer_id, sendout_id, zone_no, zone, source, contacts, accepted, opened)
        VALUES ($1, $2, 1, 'Asia/Tokyo', 'contact', 200, 185, 28)
        """, bench.customer.rawValue, id.rawValue)
      let found = try await figures(bench, id)
      #expect(found.zones.map(\.accepted) == [185] && found.zones.map(\.opened) == [28])
      #expect(found.variants.map { $0.counts?.opened } == [9, 19] && !found.isEstimate)
      #expect(found.leftOut == [CampaignFigures.LeftOut(reason: "capped", contacts: 4)])
    }
  }

  @Test func `A calendar is asked for some time, which has an order and a length`() async throws {
    try await withSendingBench { bench in
      let store = SendoutStore(bench.pool)
      let start = try #require(Timestamp("2099-12-01T00:00:00Z"))
      let usual = try await store.calendar(bench.customer, from: start, to: nil)
      #expect(usual.to.date.timeIntervalSince(usual.from.date) == 31 * 86_400 && usual.from == start)
      // Without its beginning it is a month that ends there, if that is over.
      let past = try await store.calendar(bench.customer, from: nil, to: Timestamp("2001-02-01T00:00:00Z"))
      #expect(past.from.description == "2001-01-01T00:00:00.000Z")
      await #expect(throws: SendoutError.invalid(field: "to", problem: "must be later than from")) {
        try await store.calendar(bench.customer, from: start, to: start)
      }
      await #expect(throws: SendoutError.self) {
        try await store.calendar(bench.customer, from: start, to: Timestamp("2101-12-01T00:00:00Z"))
      }
    }
  }

  @Test func `A calendar has a local time where the customer's zone has it, and a series' next days by its wall clock`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.database.query("UPDATE customer SET time_zone = 'Europe/Stockholm'")
      let made = try await bench.sendouts.create(
        bench.customer,
        SendoutRequest(
          name: "Daily", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "Hi"),
          campaign: CampaignFields(
            localTime: WallTime("2099-03-27T08:00"), repeat: Repetition(every: .day, until: CalendarDay("2099-03-29"))))
      )
      let calendar = try await SendoutStore(bench.pool).calendar(
        bench.customer, from: Timestamp("2099-03-01T00:00:00Z"), to: Timestamp("2099-04-01T00:00:00Z"))
      // Clocks go forward on the 29th.
      #expect(
        calendar.entries.map { String($0.at.description.prefix(16)) } == [
          "2099-03-27T07:00", "2099-03-28T07:00", "2099-03-29T06:00",
        ])
      #expect(calendar.entries.map(\.isExpected) == [false, true, true])
      #expect(
        calendar.entries.allSatisfy { $0.sendoutId == made.sendoutId && $0.event == .start && $0.localTime != nil })
      let series = try #require(try await figures(bench, made.sendoutId).series)
      #expect(series.times.map(\.sendoutId) == [made.sendoutId] && series.expected.count == 0)
    }
  }
}
