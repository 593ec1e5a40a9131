import Content
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@testable import Delivery
@testable import Sendouts

/// What a preflight warns of, one by one. Each warning is missing where its cause is.
@Suite struct PreflightWarningTests {
  private typealias Code = PreflightReply.WarningCode

  private func warnings(
    _ code: Code, _ bench: SendingBench, _ request: SendoutRequest? = nil, seesPersonal: Bool = true
  ) async throws -> [String] {
    try await bench.preflight(request ?? bench.request(), seesPersonal: seesPersonal).warnings
      .filter { $0.code == code }.map(\.text)
  }

  @Test func `Variables are counted that contacts do not have, with one of them for whoever may see it`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.database.query("UPDATE contact SET first_name = NULL WHERE original_id = 'user2@example.com'")
      try await bench.database.query(
        "UPDATE contact SET properties = '{\"food\":\"meat\"}' WHERE original_id <> 'user1@example.com'")
      // Nobody can be sent to who has no device.
      try await bench.database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::bigint, 'bare')", bench.customer.rawValue)
      let request = bench.request(
        MessageBody(
          alert: "Hi {{firstName}}, {{food}}", info: "{{#city}}{{city}}{{/city}}",
          translations: ["sv": MessageTranslation(alert: "Hej {{firstName}}, {{title}}")]))
      #expect(
        try await warnings(.emptyVariable, bench, request) == [
          "firstName is empty for 1 contact, such as user2@example.com.",
          "properties.food is empty for 1 contact, such as user1@example.com.",
          "title is empty for 3 contacts, such as user1@example.com.",
        ])
      #expect(
        try await warnings(.emptyVariable, bench, request, seesPersonal: false) == [
          "firstName is empty for 1 contact.", "properties.food is empty for 1 contact.",
          "title is empty for 3 contacts.",
        ])
      var others = request
      others.audience = .originalIds(["user3@example.com"])
      others.message.translations = nil
      #expect(try await warnings(.emptyVariable, bench, others) == [])
    }
  }

  @Test func `Variables are counted for those alone who are left, whatever leaves the others out`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(6)
      var request = bench.request(MessageBody(alert: "Hi {{title}}"))
      #expect(
        try await warnings(.emptyVariable, bench, request) == [
          "title is empty for 6 contacts, such as user1@example.com."
        ])
      let suppressions = Suppressions(bench.pool, key: .ofTests)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "user1@example.com"), .marketing)
      request.audience = .excluding(.all, try Filter(text: "originalId = 'user2@example.com'"))
      try await bench.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 1 WHERE device_id = $1::bigint",
        devices[2].rawValue)
      #expect(
        try await warnings(.emptyVariable, bench, request) == [
          "title is empty for 3 contacts, such as user4@example.com."
        ])
      request.audience = .originalIds(["user1@example.com", "user5@example.com", "user5@example.com"])
      #expect(
        try await warnings(.emptyVariable, bench, request) == [
          "title is empty for 1 contact, such as user5@example.com."
        ]
      )
      request.audience = .all
      request.campaign.holdoutPercent = 50
      let told = try await bench.preflight(request)
      let left = try #require(told.steps.first { $0.name == .left }).contacts
      let counted = told.warnings.first { $0.code == .emptyVariable }?.text
      #expect(
        left == 0
          ? counted == nil
          : counted?.hasPrefix("title is empty for \(left) contact") == true, "\(left): \(counted ?? "none")")
    }
  }

  @Test func `It tells the longest rendering, and what would be cut and by how much`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(4)
      #expect(try await warnings(.cut, bench) == [])
      let longest = try await warnings(.longest, bench)
      #expect(longest.count == 1 && longest[0].hasPrefix("The longest of 4 sampled pushes by APNs has "), "\(longest)")
      #expect(longest[0].hasSuffix(" of at most 4096 bytes."), "\(longest)")
      let long = bench.request(
        MessageBody(alert: String(repeating: "ab ", count: 100), info: String(repeating: "cd ", count: 1000)))
      let cut = try await warnings(.cut, bench, long)
      #expect(cut.count == 1 && cut[0].hasPrefix("For 4 sampled contacts the message is too large for APNs by up to "))
      #expect(cut[0].hasSuffix(" bytes: info dropped."), "\(cut)")
    }
  }

  @Test func `It tells which app has no credentials, or refused ones`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let draft = try await bench.sendouts.create(bench.customer, bench.request())
      func found(_ code: Code) async throws -> [String] {
        try await bench.preflight(draft.sendoutId).warnings.filter { $0.code == code }.map(\.text)
      }
      #expect(try await found(.credentialsMissing) == [])
      #expect(try await found(.credentialsRefused) == [])
      try await bench.database.query(
        "UPDATE push_app SET alarm = 'InvalidProviderToken', alarm_at = now(), sandbox_alarm = 'x', sandbox_alarm_at = now()"
      )
      // There is no device of the sandbox.
      #expect(try await found(.credentialsRefused) == ["com.acme.app for iOS: InvalidProviderToken"])
      try await bench.database.query("DELETE FROM push_credential")
      #expect(
        try await found(.credentialsMissing) == [
          "com.acme.app for iOS has no signingKey yet, so nothing can be sent to it."
        ])
    }
  }

  @Test func `It tells which certificate ends soon, and which devices none of them reaches`() async throws {
    try await withSendingBench { bench in
      try await bench.database.query("DELETE FROM push_credential")
      try await bench.database.query("UPDATE push_app SET team_id = NULL, key_id = NULL")
      let file = try bench.simulator.issuePushCertificate(topics: [SendingBench.appID], environments: [.production])
      _ = try await PushApps(bench.pool, vault: bench.vault).update(
        bench.customer, bench.app.id,
        PushAppUpdate(
          service: PushServiceFields([
            .productionCertificate: Secret(bytes: file), .certificatePassword: Secret("secret"),
          ])))
      try await bench.addDevices(2)
      try await bench.database.query("UPDATE push_credential SET not_after = now() + interval '20 days'")
      #expect(try await warnings(.credentialsExpiring, bench) == [])
      #expect(try await warnings(.wrongEnvironment, bench) == [])
      try await bench.addDevices(1, from: 3, sandbox: true)
      #expect(
        try await warnings(.wrongEnvironment, bench) == [
          "com.acme.app for iOS: 1 device is of the sandbox, which the app's certificates do not reach."
        ])
      try await bench.database.query("UPDATE push_credential SET not_after = now() + interval '10 days'")
      let expiring = try await warnings(.credentialsExpiring, bench)
      #expect(
        expiring.count == 1
          && expiring[0].hasPrefix("com.acme.app for iOS: The productionCertificate expires on "), "\(expiring)")
      #expect(try await warnings(.credentialsRefused, bench) == [])
    }
  }

  @Test func `It tells which fields a page names that the message does not have`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      _ = try await Templates(bench.pool).put(
        bench.customer, name: "offer", format: .text,
        body: """
          {{firstName}} {{sendout.name}} {{sendout.fields.table.no}} {{#sendout.fields.list}}{{.}}{{/sendout.fields.list}}
          """)
      #expect(
        try await warnings(.templateVariable, bench, bench.request(template: "offer")) == [
          "The template offer names sendout.fields.list, which the message does not have.",
          "The template offer names sendout.fields.table.no, which the message does not have.",
        ])
      let whole = bench.request(
        MessageBody(alert: "x", fields: ["table": ["no": 7], "list": ["a"]]), template: "offer")
      #expect(try await warnings(.templateVariable, bench, whole) == [])
    }
  }

  @Test func `It tells how many contacts another sendout is still to reach`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let other = try await bench.send(audience: .originalIds((1...4).map { "user\($0)@example.com" }))
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(
          other, apps: [bench.app.id], audience: .originalIds((1...4).map { "user\($0)@example.com" }))
      }
      try await bench.database.query("UPDATE sendout SET state = 'paused', frozen_at = now()")
      try await bench.database.query("UPDATE push SET state = 'skipped', settled_at = now() WHERE push_no = 1")
      try await bench.database.recountBatches()
      #expect(
        try await warnings(.overlap, bench) == [
          "3 contacts of the audience are still to get sendout \(other.sendout), Offer."
        ])
      let some = bench.request(audience: .originalIds(["user4@example.com", "user5@example.com"]))
      #expect(
        try await warnings(.overlap, bench, some) == [
          "1 contact of the audience is still to get sendout \(other.sendout), Offer."
        ])
      try await bench.sendouts.cancel(bench.customer, other.sendout)
      #expect(try await warnings(.overlap, bench) == [])
    }
  }

  @Test func `It tells that a rate takes longer than there is time`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(5)
      let start = Date(timeIntervalSinceNow: 3600)
      func found(seconds: Double) async throws -> [String] {
        try await warnings(
          .endsTooEarly, bench,
          bench.request(
            campaign: CampaignFields(
              startAt: Wire.Timestamp(start), endAt: Wire.Timestamp(start + seconds), ratePerSecond: 1)))
      }
      #expect(try await found(seconds: 3600) == [])
      let late = try await found(seconds: 2)
      #expect(late.count == 1 && late[0].hasPrefix("At 1 push a second, the last of 5 devices would be due at "))
    }
  }

  @Test func `It tells the least difference that a test can show`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(40)
      func found(shares: [Int]) async throws -> [String] {
        let variants = shares.enumerated().map {
          MessageVariant(name: "V\($0)", share: $1, message: MessageBody(alert: "\($0)"))
        }
        return try await warnings(
          .smallestDifference, bench, bench.request(campaign: CampaignFields(variants: variants)))
      }
      #expect(try await warnings(.smallestDifference, bench) == [])
      let difference = try #require(Significance.smallestDifference(from: 0.1, contacts: 20))
      let tenths = Int((difference * 1000).rounded())
      let points = tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
      #expect(
        try await found(shares: [50, 50]) == [
          """
          With 20 contacts in the smallest group and an open rate of 10 %, a test shows a difference of \(points) percentage points or \
          more in four of five cases.
          """
        ])
      #expect(
        try await found(shares: [99, 1]) == [
          """
          With 0 contacts in the smallest group and an open rate of 10 %, a test shows no difference at all: let more contacts take part.
          """
        ])
    }
  }

  @Test func `It takes the open rate of all sendouts of the last 90 days`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(4)
      let variants = ["A", "B"].map { MessageVariant(name: $0, share: 50, message: MessageBody(alert: $0)) }
      func rate() async throws -> String? {
        try await warnings(
          .smallestDifference, bench, bench.request(campaign: CampaignFields(variants: variants))
        ).first?.components(separatedBy: "an open rate of ").last?.components(separatedBy: " %").first
      }
      /// A sendout with four accepted pushes, of which some were opened.
      func addSendout(daysAgo days: Int, opened: Int) async throws {
        let id = try await bench.sendouts.create(bench.customer, bench.request()).sendoutId
        try await bench.database.query("SELECT require_sendout_range($1::bigint)", id.rawValue)
        try await bench.database.query(
          """
          INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, state, sent_at, opened_at)
          SELECT $1::bigint, $2::bigint, row_number() OVER (ORDER BY device_id), 0, device_id, contact_id, 'accepted', now(),
                 CASE WHEN row_number() OVER (ORDER BY device_id) <= $3::int4 THEN now() END
            FROM device WHERE customer_id = $1::bigint
          """, bench.customer.rawValue, id.rawValue, Int32(opened))
        try await start(id, daysAgo: days)
      }
      func start(_ id: SendoutID, daysAgo days: Int) async throws {
        try await bench.database.query(
          """
          UPDATE sendout SET state = 'finished', started_at = now() - make_interval(days => $3::int4)
           WHERE customer_id = $1::bigint AND sendout_id = $2::bigint
          """, bench.customer.rawValue, id.rawValue, Int32(days))
      }
      #expect(try await rate() == "10")
      // Nobody has opened anything yet, and then it is too long ago.
      try await addSendout(daysAgo: 80, opened: 0)
      try await addSendout(daysAgo: 91, opened: 4)
      try await bench.database.recountBatches()
      #expect(try await rate() == "10")
      try await addSendout(daysAgo: 89, opened: 2)
      try await bench.database.recountBatches()
      #expect(try await rate() == "25")
      // However many there were since then.
      for _ in 1...100 {
        try await start(try await bench.sendouts.create(bench.customer, bench.request()).sendoutId, daysAgo: 1)
      }
      #expect(try await rate() == "25")
    }
  }

  @Test func `The page of a variant's own template is in what is sent`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      _ = try await Templates(bench.pool).put(bench.customer, name: "offer", format: .text, body: "x")
      func longest(_ page: String?, ofVariant own: String?) async throws -> [String] {
        let variants = [
          MessageVariant(name: "A", share: 50, message: MessageBody(), template: own),
          MessageVariant(name: "B", share: 50, message: MessageBody()),
        ]
        return try await warnings(
          .longest, bench, bench.request(template: page, campaign: CampaignFields(variants: variants)))
      }
      let withPage = try await longest("offer", ofVariant: nil)
      #expect(withPage.count == 1)
      #expect(try await longest(nil, ofVariant: "offer") == withPage)
      #expect(try await longest(nil, ofVariant: nil) != withPage)
    }
  }
}
