import Content
import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Tests of a sendout: real pushes that nothing counts.
@Suite struct TestPushTests {
  private let message = MessageBody(
    alert: "Hello {{firstName}}", info: "{{sendout.name}}",
    translations: ["sv": MessageTranslation(alert: "Hej {{firstName}}"), "pt-BR": MessageTranslation(alert: "Oi")])

  private var campaign: CampaignFields {
    CampaignFields(
      localTime: WallTime("2090-01-01T12:00"),
      variants: [
        MessageVariant(name: "A", share: 50, message: MessageBody()),
        MessageVariant(name: "B", share: 50, message: MessageBody(alert: "Hi {{firstName}}")),
      ])
  }

  private func test(
    _ bench: SendingBench, _ sendout: SendoutID, _ ids: [String], variant: String? = nil, language: String? = nil
  ) async throws -> SendoutTestReply {
    try await bench.messageService().test(
      bench.customer, sendout, SendoutTestRequest(originalIds: ids, variant: variant, language: language),
      suppressions: .ofTests)
  }

  /// What phones show, in the order of arrival.
  private func alerts(_ bench: SendingBench) throws -> [String] {
    try bench.simulator.apns.requests.map { request in
      let alert = try JSONValue(parsing: request.payload)["aps"]?["alert"]
      return alert?.text ?? "\(alert?.string("title") ?? "") / \(alert?.string("body") ?? "")"
    }
  }

  @Test func `A test says what the sendout would say, in the variant and the language that are asked for`() async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let draft = try await bench.sendouts.create(bench.customer, bench.request(message, campaign: campaign))
      try await bench.withHubs {
        for (count, (variant, language)) in [(nil, nil), ("B", nil), (nil, "SV_fi"), ("B", "pt-BR")].enumerated() {
          let reply = try await test(
            bench, draft.sendoutId, ["user1@example.com", "user1@example.com"], variant: variant, language: language)
          #expect(reply.messageIds.count == 1)
          _ = await bench.simulator.apns.received(count: count + 1)
        }
      }
      let shown = try alerts(bench)
      #expect(shown == ["Hello N1 / Offer", "Hi N1 / Offer", "Hej N1 / Offer", "Oi / Offer"])
      let unknown = SendoutError.invalid(
        field: "variant", problem: "names no variant of this sendout, which has A and B")
      await #expect(throws: unknown) {
        _ = try await test(bench, draft.sendoutId, ["user1@example.com"], variant: "b")
      }
      await #expect(throws: SendoutError.self) {
        _ = try await test(bench, draft.sendoutId, ["user1@example.com"], language: "de")
      }
      await #expect(throws: RegistryError.numberUnknown("sendout")) {
        _ = try await test(bench, SendoutID(999), ["user1@example.com"])
      }
      // The sendout is what it was.
      #expect(try await bench.sendouts.find(bench.customer, draft.sendoutId).digest == draft.digest)
    }
  }

  @Test func `It tells whom it does not know, who is suppressed and who has no device`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(3)
      try await bench.database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1::bigint, 'bare')", bench.customer.rawValue)
      let suppressions = Suppressions(bench.pool, key: .ofTests)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "user2@example.com"), .marketing)
      _ = try await suppressions.add(bench.customer, .contact(originalID: "user3@example.com"), .all)
      let draft = try await bench.sendouts.create(bench.customer, bench.request(message))
      let ids = ["nobody", "bare", "user3@example.com", "user2@example.com", "user1@example.com"]
      let reply = try await test(bench, draft.sendoutId, ids)
      #expect(reply.unknownOriginalIds == ["nobody"] && reply.withoutDevice == ["bare"])
      #expect(reply.suppressedOriginalIds == ["user3@example.com", "user2@example.com"])
      #expect(reply.messageIds.count == 1)
      // Suppressions of marketing do not concern what is none.
      var receipt = bench.request(message)
      receipt.purpose = .transactional
      let other = try await bench.sendouts.create(bench.customer, receipt)
      let second = try await test(bench, other.sendoutId, ids)
      #expect(second.suppressedOriginalIds == ["user3@example.com"] && second.messageIds.count == 2)
    }
  }

  @Test(arguments: [SendoutVerb.pause, .cancel])
  func `Whoever pauses or cancels the messages of tests keeps nobody from another test`(verb: SendoutVerb) async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let draft = try await bench.sendouts.create(bench.customer, bench.request(message))
      var streams: [SendoutID] = []
      for _ in 1...3 {
        let reply = try await test(bench, draft.sendoutId, ["user1@example.com"])
        let stream = try #require(reply.messageIds.first).sendout
        #expect(!streams.contains(stream))
        streams.append(stream)
        _ = try await bench.sendouts.apply(verb, to: stream, of: bench.customer)
      }
      // Hubs that know none of these streams find the last one that goes on.
      let last = try await test(bench, draft.sendoutId, ["user1@example.com"]).messageIds.first?.sendout
      #expect(try await test(bench, draft.sendoutId, ["user1@example.com"]).messageIds.first?.sendout == last)
      let tested = try await bench.database.query(
        "SELECT count(*) FROM sendout WHERE test_of = $1::bigint AND all_counted", draft.sendoutId.rawValue)
      #expect(try tested[0].decode(Int.self) == 4)
    }
  }

  @Test func `A test goes to no other app than the sendout's`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let android = try await PushApps(bench.pool, vault: bench.vault).add(
        bench.customer, NewPushApp(appID: SendingBench.appID, type: .android, name: "Acme"))
      try await bench.database.query(
        """
        INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
        SELECT customer_id, $2::bigint, contact_id, 'x', 'x' FROM contact WHERE customer_id = $1::bigint
        """, bench.customer.rawValue, android.id.rawValue)
      var request = bench.request(message)
      request.appType = .ios
      let draft = try await bench.sendouts.create(bench.customer, request)
      let reply = try await test(bench, draft.sendoutId, ["user1@example.com"])
      let apps = try await bench.database.query("SELECT push_app_ids FROM sendout WHERE test_of IS NOT NULL")
      #expect(reply.messageIds.count == 1 && apps.count == 1)
      #expect(try apps[0].decode([Int64].self) == [bench.app.id.rawValue])
    }
  }

  @Test func `Neither caps, quiet hours, opens, days nor filters count a test, and why tells of it`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(1)
      // All of the day but a minute is quiet.
      _ = try await Customers(bench.pool).update(
        bench.customer,
        CustomerUpdate(
          quietHours: .set(try #require(QuietHours("00:00-23:59/skip"))),
          caps: [Cap(count: 1, per: try #require(CapPeriod("24h")))]))
      let draft = try await bench.sendouts.create(bench.customer, bench.request(message))
      try await bench.withHubs {
        for count in 1...2 {
          let reply = try await test(bench, draft.sendoutId, ["user1@example.com"])
          #expect(reply.messageIds.count == 1)
          _ = await bench.simulator.apns.received(count: count)
          let message = try #require(reply.messageIds.first)
          #expect(try await bench.messageService().find(bench.customer, message).testOf == draft.sendoutId)
          let why = try await MessageHistories(bench.pool).why(bench.customer, message)
          #expect(why.lines.first?.text == "The hub accepted the message, a test of sendout \(draft.sendoutId).")
        }
        try await waitUntil {
          try await bench.database.query("SELECT FROM push WHERE state = 'accepted'").count == 2
        }
      }
      #expect(try await bench.database.query("SELECT FROM reach").isEmpty)
      let bodies = try bench.simulator.apns.requests.map { try JSONValue(parsing: $0.payload) }
      #expect(bodies.allSatisfy { $0["pushreadurl"] == nil })
      let stream = try await bench.database.query("SELECT sendout_id FROM sendout WHERE test_of IS NOT NULL")
      #expect(stream.count == 1)
      let key = SendoutKey(bench.customer, SendoutID(try stream[0].decode(Int64.self)))
      let listed = try await bench.sendouts.list(bench.customer).items
      #expect(listed.first { $0.sendoutId == key.sendout }?.testOf == draft.sendoutId)
      #expect(listed.first { $0.sendoutId == draft.sendoutId }?.testOf == nil)
      let messages = try await MessageHistories(bench.pool).list(bench.customer, PageRequest(limit: 10)).items
      #expect(messages.map(\.testOf) == [draft.sendoutId, draft.sendoutId])
      let link = PushLink(customer: bench.customer, sendout: key.sendout, push: PushNumber(1), device: devices[0])
      let opened = try await OpenLog(bench.pool).record([Open(link, via: .page, by: .person)], of: bench.customer)
      // The page shows, and nothing is recorded.
      #expect(opened.count == 1 && opened[0] != nil)
      #expect(try await bench.database.query("SELECT FROM open_event").isEmpty)
      #expect(try await bench.database.query("SELECT FROM push WHERE opened_at IS NOT NULL").isEmpty)
      let days = DayCounts(bench.pool)
      try await days.count(bench.customer)
      #expect(try await days.last(1, of: bench.customer).allSatisfy { $0.sent == 0 })

      func found(_ filter: String) async throws -> Int? {
        let request = bench.request(message, audience: .filter(try Filter(text: filter)))
        return try await bench.preflight(request).steps.first?.contacts
      }
      // By the ledger first, and then by what a hub has counted anew. Who names the tests means them.
      let activity = ContactActivity(bench.pool)
      for _ in 1...2 {
        #expect(try await found("received") == 0)
        #expect(try await found("opened < 1 of last 5") == 1)
        #expect(try await found("received = 0 within 30 days") == 1)
        #expect(try await found("received sendout \(key.sendout) = 2") == 1)
        while try await activity.step(bench.customer) {}
      }
      #expect(try await bench.database.query("SELECT FROM contact_activity").isEmpty)

      let why = try await bench.sendouts.why(bench.customer, draft.sendoutId, originalID: "user1@example.com")
      #expect(
        why.lines.map(\.text) == [
          "The sendout is a draft. It has not been started.", "In a test: Sent.",
          "In a test: Accepted by the push service.", "In a test: Sent.", "In a test: Accepted by the push service.",
        ])
      #expect(why.lines.dropFirst().allSatisfy { $0.deviceId == devices[0] && $0.pushNo == nil && $0.at != nil })
    }
  }
}
