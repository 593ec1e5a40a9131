import Content
import Delivery
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Sendouts

/// Reports that count contacts: held against the ledger and against what the API says of the same sendout.
@Suite struct CampaignReportTests {
  private static let variants = ["A", "B"].map {
    MessageVariant(name: $0, share: 50, message: MessageBody(alert: "\($0) said"))
  }
  /// Those that are about one sendout.
  private static let reports: [Report] = [.campaigns, .variants, .localTimes, .leftOut]

  private func rows(_ report: Report, _ bench: SendingBench, _ key: SendoutKey) async throws -> [JSONValue] {
    try await Reports(bench.pool).read(report, key.customer, sendout: key.sendout).rows.map(JSONValue.object)
  }

  private func all(_ bench: SendingBench, _ keys: SendoutKey...) async throws -> [[JSONValue]] {
    var all: [[JSONValue]] = []
    for key in keys {
      for report in Self.reports { all.append(try await rows(report, bench, key)) }
    }
    return all
  }

  private func number(_ row: JSONValue, _ name: String) -> Double? {
    if case .number(let number)? = row[name] { number.double } else { nil }
  }

  /// The contacts of each reason.
  private func leftOut(_ bench: SendingBench, _ key: SendoutKey) async throws -> [String: Int64] {
    let rows = try await rows(.leftOut, bench, key)
    return Dictionary(uniqueKeysWithValues: rows.map { ($0.string("reason") ?? "", $0.integer("contacts") ?? -1) })
  }

  private func suppress(_ bench: SendingBench, contact number: Int) async throws {
    let target = Suppressed.contact(originalID: "user\(number)@example.com")
    _ = try await Suppressions(bench.pool, key: .ofTests).add(bench.customer, target, .marketing)
  }

  /// A second device of the first contacts.
  private func addSecondDevices(_ count: Int, _ bench: SendingBench) async throws {
    try await bench.database.query(
      """
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key, model)
      SELECT customer_id, push_app_id, contact_id, made.token, decode(made.token, 'hex'), 'iPhone'
        FROM device
       CROSS JOIN LATERAL (SELECT 'bb' || lpad(to_hex(device_id), 62, '0') AS token) AS made
       ORDER BY device_id LIMIT $1::int4
      """, Int32(count))
  }

  /// A finished sendout by local time with two variants. Contacts are in several zones, and some of them are excluded, suppressed, without a
  /// device, held out or refused by the push service, or have two devices. Every fifth with an accepted push has opened it.
  private func sent(_ bench: SendingBench) async throws -> SendoutKey {
    try await bench.addDevices(80)
    bench.simulator.apns.rule(.prefix("dead"), .refuse(status: 400, reason: "BadDeviceToken"))
    try await bench.addDevices(3, from: 101, prefix: "dead")
    try await addSecondDevices(10, bench)
    for statement in [
      "INSERT INTO contact (customer_id, original_id) SELECT \(bench.customer), 'bare' || n FROM generate_series(1, 2) AS n",
      """
      UPDATE contact SET time_zone = CASE WHEN contact_id % 3 = 0 THEN 'Asia/Tokyo' ELSE 'Europe/Stockholm' END
       WHERE contact_id % 4 <> 0
      """,
      "UPDATE contact SET country = 'SE' WHERE original_id IN ('user5@example.com', 'user6@example.com', 'user7@example.com')",
    ] { try await bench.database.query(statement) }
    for number in [8, 9] { try await suppress(bench, contact: number) }
    var request = bench.campaign(
      CampaignFields(
        localTime: .fromNow(-3600), onMissed: .now, variants: Self.variants, holdoutPercent: 20))
    request.audience = .excluding(.all, try Filter(text: "country = 'SE'"))
    let key = try await bench.withHubs { [request] in
      let key = SendoutKey(bench.customer, try await bench.sendouts.create(bench.customer, request).sendoutId)
      try await bench.until(key, .finished)
      return key
    }
    let opened = try await bench.pushes(key).filter { $0.state == .accepted && $0.contactId.rawValue % 5 == 0 }
    let opens = opened.map { push in
      let link = PushLink(customer: bench.customer, sendout: key.sendout, push: push.pushNo, device: push.deviceId)
      return Open(link, via: .page, by: .person)
    }
    #expect(opens.count > 5)
    _ = try await OpenLog(bench.pool).record(opens, of: bench.customer)
    return key
  }

  @Test func `Reports of a sendout count its contacts as the ledger and the API do`() async throws {
    try await withSendingBench { bench in
      let other = try await bench.database.customer("Other")
      let key = try await sent(bench)
      let reply = try await bench.show(key)
      let contacts = Dictionary(grouping: try await bench.pushes(key), by: \.contactId)
      let (people, counts) = (try #require(reply.people), try #require(reply.counts))

      let campaign = try #require(try await rows(.campaigns, bench, key).first)
      #expect(campaign.string("name") == reply.name && campaign.string("kind") == reply.kind.rawValue)
      #expect(campaign.string("state") == "finished" && campaign["seriesId"] == .null)
      #expect(campaign.string("finishedAt") == reply.finishedAt?.description)
      #expect(reply.everyone == 85 && campaign.integer("everyone") == 85)
      #expect(campaign.integer("left") == Int64(people) && campaign.integer("leftOut") == Int64(85 - people))
      #expect(campaign.integer("accepted") == Int64(counts.accepted))
      #expect(campaign.integer("failed") == Int64(counts.failed) && counts.failed > 0)
      #expect(campaign.integer("opened") == Int64(counts.opened) && counts.opened > 0)
      let openRate = Double(counts.opened) / Double(counts.accepted)
      #expect(number(campaign, "openRate").map { abs($0 - openRate) < 0.0001 } == true)

      let skipped = contacts.values.filter { $0.allSatisfy { $0.state == .skipped } }
      var expected = Dictionary(grouping: skipped) { $0[0].reason ?? "" }.mapValues { Int64($0.count) }
      (expected["excluded"], expected["no_device"]) = (3, 2)
      let leftOut = try await leftOut(bench, key)
      #expect(leftOut == expected && leftOut["suppressed"] == 2 && leftOut["held_out"] ?? 0 > 0)
      #expect(leftOut.values.reduce(0, +) + Int64(contacts.count - skipped.count) == 85)

      let outcomes = try await Ledger(bench.pool).outcomes(key, ofVariants: 2)
      let variants = try await rows(.variants, bench, key)
      #expect(variants.map { $0.string("variant") } == ["A", "B"] && variants.map { $0.integer("share") } == [50, 50])
      #expect(variants.compactMap { $0.integer("contacts") }.reduce(0, +) == Int64(people))
      for (row, outcome) in zip(variants, outcomes) {
        let (opened, interval) = (Significance.Opened(outcome), Significance.interval(.init(outcome)))
        #expect(row.integer("accepted") == Int64(outcome.accepted) && row.integer("opened") == Int64(outcome.opened))
        #expect(number(row, "rate").map { abs($0 - opened.rate) < 0.0001 } == true)
        #expect(number(row, "low").map { abs($0 - interval.lowerBound) < 0.0001 } == true)
        #expect(number(row, "high").map { abs($0 - interval.upperBound) < 0.0001 } == true)
        #expect(row["fitsShare"] == .bool(true) && row["decision"] == .null && row["acceptedAtDecision"] == .null)
      }

      let zones = try await rows(.localTimes, bench, key)
      let told = try await bench.database.query(
        """
        SELECT zone, source, count(DISTINCT contact_id) FILTER (WHERE state = 'accepted'), count(DISTINCT contact_id) FILTER (WHERE opened_at IS NOT NULL)
          FROM sendout_zone AS z JOIN push AS p USING (customer_id, sendout_id, zone_no) GROUP BY zone, source
        """
      ).map { row in
        let (zone, source, accepted, opened) = try row.decode(String.self, String.self, Int64.self, Int64.self)
        return "\(zone) \(source) \(accepted) \(opened)"
      }
      // Whoever is excluded is in a zone, too, in which others need not be.
      let listed = zones.filter { $0.integer("accepted") ?? 0 > 0 }.map { row in
        "\(row.string("zone") ?? "") \(row.string("source") ?? "") \(row.integer("accepted") ?? -1) \(row.integer("opened") ?? -1)"
      }
      #expect(Set(listed) == Set(told) && told.count == 3, "\(listed)")
      #expect(zones.compactMap { $0.integer("contacts") }.reduce(0, +) == 85)
      #expect(zones.allSatisfy { $0.string("plannedAt") != nil })
      let figures = try await SendoutStore(bench.pool).campaignFigures(bench.customer, key.sendout)
      func line(_ values: [String?]) -> String { values.map { $0 ?? "–" }.joined(separator: " ") }
      #expect(
        figures.zones.map { zone in
          line([
            zone.zone, zone.source.rawValue, zone.plannedAt?.description, "\(zone.contacts)",
            zone.accepted.map { "\($0)" }, zone.opened.map { "\($0)" },
          ])
        }.sorted()
          == zones.map { row in
            line(
              [row.string("zone"), row.string("source"), row.string("plannedAt")]
                + ["contacts", "accepted", "opened"].map { row.integer($0).map { "\($0)" } })
          }.sorted())

      // Other sendouts, and other customers, have none of it.
      let draft = try await bench.make(CampaignFields())
      for report in Self.reports where report != .campaigns { #expect(try await rows(report, bench, draft).isEmpty) }
      for report in Self.reports {
        let reply = try await Reports(bench.pool).read(report, other, sendout: key.sendout)
        #expect(reply.rows.isEmpty, "\(report)")
        #expect(try await Reports(bench.pool).read(report, other).rows.isEmpty, "\(report)")
        let all = try await Reports(bench.pool).read(report, bench.customer).rows.map(JSONValue.object)
        let own = all.filter { $0.integer("sendoutId") == key.sendout.rawValue }
        #expect(own == (try await rows(report, bench, key)), "\(report)")
      }
    }
  }

  @Test func `What the reports count of contacts stays when retention deletes the pushes`() async throws {
    try await withSendingBench { bench in
      let planned = try await sent(bench)
      // Of a sendout without times and limits, claims leave out whoever is suppressed. Some devices that the first one met are retired now.
      let bare = try await bench.database.query(
        """
        SELECT count(*) FROM contact
         WHERE NOT EXISTS (SELECT FROM device WHERE device.contact_id = contact.contact_id AND invalidated_at IS NULL)
        """)[0].decode(Int64.self)
      #expect((2...5).contains(bare))
      let plain = try await bench.send()
      try await bench.withHubs { try await bench.until(plain, .finished) }
      #expect(try await leftOut(bench, plain) == ["suppressed": 2, "no_device": bare])
      let campaign = try #require(try await rows(.campaigns, bench, plain).first)
      #expect(campaign.integer("everyone") == 85 && campaign.integer("left") == 85 - bare)
      try await bench.database.query("UPDATE sendout SET finished_at = now() - interval '31 days'")
      let before = try await all(bench, planned, plain)
      _ = try await Customers(bench.pool).update(bench.customer, CustomerUpdate(retentionDays: 30))
      let retention = Retention(bench.pool, days: nil, logger: TestServer.logger)
      #expect(try await retention.run(isTrial: true).customers.map(\.sendouts) == [2])
      #expect(try await bench.database.query("SELECT FROM sendout WHERE folded_at IS NOT NULL").isEmpty)
      #expect(try await retention.run().customers.map(\.sendouts) == [2])
      #expect(try await bench.database.query("SELECT FROM push").isEmpty)
      #expect(try await all(bench, planned, plain) == before)
      #expect(try await bench.database.query("SELECT FROM sendout WHERE folded_at IS NOT NULL").count == 2)
      try await retention.run()
      #expect(try await all(bench, planned, plain) == before)
    }
  }

  @Test func `A partition waits until the figures of its contacts are written`() async throws {
    try await withSendingBench { bench in
      let key = try await sent(bench)
      try await bench.database.query("UPDATE sendout SET finished_at = now() - interval '31 days'")
      let before = try await all(bench, key)
      try await bench.database.query("SELECT setval('sendout_sendout_id_seq', 100)")
      let retention = Retention(bench.pool, days: 30, logger: TestServer.logger)
      try await retention.makePartitions()
      try await bench.database.query(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'refused'; END $$")
      try await bench.database.query(
        "CREATE TRIGGER refuse BEFORE UPDATE OF folded_at ON sendout FOR EACH ROW EXECUTE FUNCTION refuse()")
      let kept = try await retention.run()
      #expect(kept.partitions.isEmpty && kept.failures == 1)
      #expect(try await all(bench, key) == before)
      try await bench.database.query("DROP TRIGGER refuse ON sendout")
      let gone = try await retention.run()
      #expect(gone.partitions.map(\.name) == ["push_1", "open_event_1"] && gone.failures == 0)
      #expect(try await bench.database.query("SELECT FROM push").isEmpty)
      #expect(try await all(bench, key) == before)
    }
  }

  @Test func `Whoever a claim leaves out after the freeze is in one reason, however many devices it has`()
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      try await addSecondDevices(2, bench)
      try await suppress(bench, contact: 5)
      let key = try await bench.make(CampaignFields(endAt: .fromNow(3600)), start: true)
      try await bench.step(key)
      #expect(try await leftOut(bench, key) == ["suppressed": 1])
      // One of a contact's two devices was left out by the freeze.
      try await bench.database.query(
        """
        UPDATE push SET state = 'skipped', reason = 'suppressed', settled_at = sendout.frozen_at
          FROM sendout WHERE push_no = (SELECT max(push_no) FROM push WHERE state = 'queued')
        """)
      try await bench.database.recountBatches()
      #expect(try await leftOut(bench, key) == ["suppressed": 1])
      try await bench.pass("2 hours", for: key)
      try await bench.withHubs { try await bench.until(key, .finished) }
      #expect(try await leftOut(bench, key) == ["suppressed": 1, "expired": 4])
      let campaign = try #require(try await rows(.campaigns, bench, key).first)
      #expect(campaign.integer("everyone") == 5 && campaign.integer("left") == 4 && campaign.integer("leftOut") == 1)
    }
  }

  @Test(arguments: [UndecidedPolicy.best, .hold, .stop])
  func `The report of variants has the decision as the API has it`(policy: UndecidedPolicy) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(60)
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 20, message: MessageBody(alert: "\($0) said")) }
      let key = try await bench.withHubs {
        let key = try await bench.make(
          CampaignFields(variants: variants, winner: WinnerRule(afterMinutes: 60, undecided: policy)), start: true)
        try await bench.until(key) { $0.frozenAt != nil }
        let open = "SELECT FROM push WHERE variant > 0 AND state <> 'accepted'"
        try await waitUntil { try await bench.database.query(open).isEmpty }
        #expect(try await bench.show(key).decision?.state == .waiting)
        let waiting = try await rows(.variants, bench, key)
        #expect(waiting.map { $0.string("variant") } == ["A", "B", nil])
        #expect(waiting.map { $0.string("decision") } == [nil, nil, "waiting"])
        try await bench.database.query("UPDATE sendout SET next_at = now()")
        try await bench.until(key) { $0.decision?.state != .waiting }
        if policy != .hold { try await bench.until(key) { $0.state == .finished } }
        return key
      }
      let decision = try #require(try await bench.show(key).decision)
      let told = try await rows(.variants, bench, key)
      let rest = try #require(told.last?.integer("contacts"))
      #expect(rest > 0 && told.compactMap { $0.integer("contacts") }.reduce(0, +) == 60)
      #expect(told[0].integer("acceptedAtDecision") == told[0].integer("accepted"))
      #expect(told[0].integer("openedAtDecision") == 0 && told[2]["acceptedAtDecision"] == .null)
      // Nobody has opened, so both are the same, and A is the first.
      #expect(told[0]["pAdjusted"] == .null && number(told[1], "pAdjusted") == 1)
      let decisions = told.map { $0.string("decision") }
      switch policy {
      case .best:
        #expect(decision.variant == "A" && decision.by == .best && decisions == ["best", nil, "best"])
        #expect(told[2].integer("accepted") == rest)
        #expect(try await leftOut(bench, key) == [:])
      case .hold:
        #expect(decision.state == .waitingForPerson && decisions == [nil, nil, "waiting_for_person"])
        #expect(try await leftOut(bench, key) == [:])
      case .stop:
        #expect(decision.by == .stop && decisions == [nil, nil, "stop"])
        #expect(try await leftOut(bench, key) == ["no_winner": rest])
      }
    }
  }

  @Test func `No report has a test of a sendout, and a list is as long as without`() async throws {
    try await withSendingBench { bench in
      let draft = try await bench.make(CampaignFields())
      let number = try await bench.database.query(
        """
        INSERT INTO sendout (customer_id, kind, stream, push_app_ids, name, state, audience, message, test_of, all_counted)
        VALUES ($1, 'stream', 'test', ARRAY[$2::bigint], 'Test', 'running', '{"all":true}', '{}', $3::bigint, true)
        RETURNING sendout_id
        """, bench.customer.rawValue, bench.app.id.rawValue, draft.sendout.rawValue)[0].decode(Int64.self)
      let test = SendoutKey(bench.customer, SendoutID(number))
      try await bench.database.query("SELECT require_sendout_range($1::bigint)", number)
      try await bench.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state, attempts, reason)
        VALUES ($1, $2, 1, 0, 1, 1, 1, 'failed', 1, 'BadDeviceToken')
        """, bench.customer.rawValue, number)
      try await bench.database.recountBatches()
      for report in [Report.sendouts, .funnel, .failures, .opens] + Self.reports {
        #expect(try await rows(report, bench, test).isEmpty, "\(report)")
      }
      for report in [Report.sendouts, .campaigns] {
        let newest = try await Reports(bench.pool).read(report, bench.customer, limit: 1).rows.map(JSONValue.object)
        #expect(newest.map { $0.integer("sendoutId") } == [draft.sendout.rawValue], "\(report)")
      }
      try await bench.database.query("UPDATE sendout SET test_of = NULL WHERE sendout_id = $1::bigint", number)
      #expect(try await rows(.failures, bench, test).count == 1)
      #expect(try await rows(.sendouts, bench, test).count == 1)
    }
  }

  @Test func `Intervals in SQL are Wilson's`() async throws {
    try await withDatabase { database in
      for (opened, contacts) in [(0, 0), (0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (17, 100), (99_999, 1_000_000)] {
        let (low, high) = try await database.query(
          "SELECT report.rate_low($1::bigint, $2::bigint), report.rate_high($1::bigint, $2::bigint)", Int64(opened),
          Int64(contacts))[0].decode(Double.self, Double.self)
        let interval = Significance.interval(.init(contacts: contacts, opened: opened))
        #expect(abs(low - interval.lowerBound) < 1e-12 && abs(high - interval.upperBound) < 1e-12)
      }
    }
  }

  /// Of two groups of 1,000 contacts, 104 between them are 10.8 by chi-squared, and 106 are 11.2; the limit is 10.83.
  @Test(arguments: [
    ([0, 0], [50, 50]), ([1, 1], [50, 50]), ([552, 448], [50, 50]), ([553, 447], [50, 50]), ([447, 553], [50, 50]),
    ([100, 100, 800], [10, 10, 80]), ([140, 60, 800], [10, 10, 80]), ([1000, 1000, 1000, 1000], [25, 25, 25, 25]),
    ([1100, 900, 1000, 1000], [25, 25, 25, 25]), ([200, 210, 190, 205, 195, 0], [20, 20, 20, 20, 19, 1]),
    ([200, 210, 190, 205, 185, 10], [20, 20, 20, 20, 19, 1]),
  ])
  func `Sizes that do not fit their shares are told by the same test as in the hub`(
    sizes: [Int], shares: [Int]
  ) async throws {
    try await withSendingBench { bench in
      let key = try await bench.make(CampaignFields())
      try await bench.database.query(
        """
        INSERT INTO sendout_variant (customer_id, sendout_id, variant_no, name, share, contacts)
        SELECT $1::bigint, $2::bigint, no, no::text, share, contacts
          FROM unnest($3::int4[], $4::int4[]) WITH ORDINALITY AS one (contacts, share, no)
        """, key.customer.rawValue, key.sendout.rawValue, sizes.map { Int32($0) }, shares.map { Int32($0) })
      let fits = try await bench.database.query(
        "SELECT DISTINCT fits_share FROM report.variants WHERE customer_id = $1::bigint AND sendout_id = $2::bigint",
        key.customer.rawValue, key.sendout.rawValue
      ).map { try $0.decode(Bool.self) }
      #expect(fits == [Significance.sizes(sizes, shares: shares) >= Significance.sizeLevel])
    }
  }
}
