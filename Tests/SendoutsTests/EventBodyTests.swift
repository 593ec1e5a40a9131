import Content
import Delivery
import Foundation
import Locking
import Outbox
import Postgres
import Providers
import Registry
import Sendouts
import Support
import Testing
import Wire

/// What sendouts and messages tell webhooks.
@Suite struct EventBodyTests {
  /// The bodies that a webhook of the bench gets. All of them are as the API describes them.
  private final class Told: Sendable {
    private let bench: SendingBench
    private let bodies = Mutex<[JSONValue]>([])
    private let document: JSONValue

    init(_ bench: SendingBench, _ events: [WebhookEvent], form: EventWebhookForm = .standard) async throws {
      self.bench = bench
      document = try await APIContract().document
      _ = try await bench.pool.transaction { transaction in
        try await EventWebhooks(transaction).add(
          bench.customer, EventWebhookRequest(url: "https://hooks.example.com/", events: events, form: form),
          vault: bench.vault, rule: .webhook)
      }
    }

    /// Posts what is due, and gives all bodies so far.
    func all() async throws -> [JSONValue] {
      let runner = WebhookRunner(
        bench.pool, vault: bench.vault, bodies: EventBodies(bench.pool), logger: TestServer.logger
      ) { post, _ in
        self.bodies.withLock { $0.append((try? JSONValue(json: post.body)) ?? .null) }
        return .accepted
      }
      _ = try await runner.postDue()
      let bodies = bodies.withLock(\.self)
      for body in bodies { #expect(problems(of: body) == []) }
      return bodies
    }

    /// How a body differs from what is described of its event.
    private func problems(of body: JSONValue) -> [String] {
      var name = body.string("type")
      if case .array(let items) = body {
        name =
          WebhookEvent.allCases.first { $0.carmaName != nil && $0.carmaName == items.first?.string("event") }?.rawValue
      }
      let post = name.flatMap { document["webhooks"]?[$0]?["post"] }
      guard let schema = post?["requestBody"]?["content"]?["application/json"]?["schema"] else {
        return ["\(body) is of no event that is described"]
      }
      return SchemaCheck(document: document).problems(of: body, against: schema)
    }

    /// The items of a kind.
    func items(_ event: WebhookEvent) async throws -> [JSONValue] {
      try await all().filter { $0["type"] == .string(event.rawValue) }.flatMap { body in
        guard case .array(let items)? = body["data"] else { return [body["data"] ?? .null] }
        return items
      }
    }
  }

  @Test func `A sendout tells its start, what became of its pushes, and its end`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, WebhookEvent.allCases)
      try await bench.addDevices(3)
      let dead = try await bench.addDevices(1, from: 4, prefix: "fade0410")[0]
      let key = try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      let started = try await told.items(.sendoutStarted)
      #expect(started.map { $0["sendoutId"] } == [.integer(key.sendout.rawValue)])
      let finished = try #require(try await told.items(.sendoutFinished).first)
      #expect(finished["name"] == "Offer" && finished["reason"] == "finished" && finished["state"] == "finished")
      #expect(finished["counts"]?["accepted"] == 3 && finished["counts"]?["failed"] == 1)
      let accepted = try await told.items(.pushAccepted)
      #expect(
        Set(accepted.compactMap { $0.string("originalId") })
          == ["user1@example.com", "user2@example.com", "user3@example.com"])
      #expect(accepted.count == 3 && accepted.allSatisfy { $0["reason"] == nil && $0["appId"] == "com.acme.app" })
      let failed = try await told.items(.pushFailed)
      #expect(failed.count == 1 && failed[0]["reason"] == "Unregistered" && failed[0]["appType"] == 1)
      #expect(failed[0]["deviceId"] == .integer(dead.rawValue) && failed[0]["at"] != nil)
      let push = try #require(try await bench.pushes(key).first { $0.deviceId == dead })
      #expect(failed[0]["pushNo"] == .integer(push.pushNo.rawValue))
      let invalidated = try await told.items(.deviceInvalidated)
      #expect(invalidated.count == 1 && invalidated[0]["deviceId"] == .integer(dead.rawValue))
      #expect(invalidated[0]["originalId"] == "user4@example.com" && invalidated[0]["appId"] == "com.acme.app")
    }
  }

  @Test func `Whatever can be told is as the API describes it, in either form`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, WebhookEvent.allCases)
      let ofCarma = WebhookEvent.allCases.filter { $0.carmaName != nil }
      _ = try await Told(bench, ofCarma, form: .carma)
      let devices = try await bench.addDevices(2)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      try await bench.database.query("DELETE FROM webhook_event")
      for event in WebhookEvent.allCases {
        let (subject, reason): (Int64, String?) =
          switch event {
          case .sendoutStarted: (1, nil)
          case .deviceInvalidated: (devices[0].rawValue, "Unregistered")
          case .appRefused: (bench.app.id.rawValue, "InvalidProviderToken")
          case .certificateExpiring: (bench.app.id.rawValue, "2026-12-01T00:00:00.000Z 7")
          case .contactSuppressed: (1, "marketing")
          default: (1, "finished")
          }
        try await bench.database.query(
          """
          INSERT INTO webhook_event (customer_id, webhook_id, event, sendout_id, push_nos, contact_id, subject_id, reason)
          SELECT $1::bigint, webhook_id, $2::text, $3::bigint, '{1,2}',
                 CASE WHEN $2::text ~ '^(contact|device)' THEN (SELECT min(contact_id) FROM contact) END, $4::bigint, $5::text
            FROM webhook WHERE customer_id = $1::bigint AND $2::text = ANY (events)
          """, bench.customer.rawValue, event.rawValue, key.sendout.rawValue, subject, reason)
      }
      let bodies = try await told.all()
      // No message of a trigger is among these; another test has one.
      #expect(
        Set(bodies.compactMap { $0.string("type") })
          == Set(WebhookEvent.allCases.filter { $0 != .triggerFailed }.map(\.rawValue)))
      let carma = bodies.compactMap { body -> String? in
        if case .array(let items) = body { items.first?.string("event") } else { nil }
      }
      #expect(Set(carma) == Set(ofCarma.filter { $0 != .triggerFailed }.compactMap(\.carmaName)))
    }
  }

  @Test func `Pushes of a test name the sendout that is tested, and others name none`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, [.pushAccepted])
      try await bench.addDevices(1)
      let draft = try await bench.sendouts.create(bench.customer, bench.request())
      let sent = try await bench.withHubs {
        let reply = try await bench.messageService().test(
          bench.customer, draft.sendoutId, SendoutTestRequest(originalIds: ["user1@example.com"]),
          suppressions: .ofTests)
        let key = try await bench.send()
        let accepted = "SELECT FROM push WHERE state = 'accepted'"
        try await waitUntil { try await bench.database.query(accepted).count == 2 }
        return (message: try #require(reply.messageIds.first), sendout: key.sendout)
      }
      let accepted = try await told.items(.pushAccepted)
      let test = try #require(accepted.first { $0.string("messageId") == sent.message.description })
      #expect(test["testOf"] == .integer(draft.sendoutId.rawValue))
      let other = try #require(accepted.first { $0["sendoutId"] == .integer(sent.sendout.rawValue) })
      #expect(other["testOf"] == nil && accepted.count == 2)
    }
  }

  @Test func `A pause is told, and the end of what was never started is not`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, [.sendoutStarted, .sendoutPaused, .sendoutFinished])
      try await bench.addDevices(1)
      let key = try await bench.send()
      for _ in 0..<2 { try await bench.sendouts.pause(bench.customer, key.sendout) }
      try await bench.sendouts.cancel(bench.customer, key.sendout)
      let all = try await told.all()
      #expect(all.map { $0["type"] } == ["sendout.paused"] && all[0]["data"]?["reason"] == nil)
      let frozen = try await bench.withHubs { () async throws -> SendoutKey in
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      #expect(Set(try await told.all().dropFirst().map { $0["type"] }) == ["sendout.finished", "sendout.started"])
      #expect(try await told.items(.sendoutStarted)[0]["sendoutId"] == .integer(frozen.sendout.rawValue))
    }
  }

  @Test func `The first open by a person is told, in Carma's form by Carma's names`() async throws {
    try await withSendingBench { bench in
      let standard = try await Told(bench, [.pushOpened])
      let list = try await ContactLists(bench.pool).add(bench.customer, name: "news").listId
      let devices = try await bench.addDevices(2, list: list)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      let carma = try await Told(bench, [.pushOpened], form: .carma)
      let opens = Opens(bench.pool)
      let link = PushLink(
        customer: bench.customer, sendout: key.sendout,
        push: try #require(try await bench.pushes(key).first { $0.deviceId == devices[0] }).pushNo, device: devices[0])
      for reader in [Open.Reader.machine, .person, .person] {
        _ = try await withCheckedThrowingContinuation { continuation in
          opens.record(Open(link, via: .page, by: reader)) { continuation.resume(with: $0) }
        }
      }
      let contact = try await bench.database.query(
        "SELECT contact_id FROM contact WHERE original_id = 'user1@example.com'")[0].decode(Int64.self)
      // Each call posts to both webhooks, so one of them has the bodies.
      let bodies = try await standard.all() + carma.all()
      #expect(bodies.count == 2)
      let plain = try #require(bodies.first { $0["type"] != nil }?["data"])
      guard case .array(let items) = plain, let item = items.first else {
        Issue.record("\(plain)")
        return
      }
      #expect(items.count == 1 && item["originalId"] == "user1@example.com" && item["contactId"] == .integer(contact))
      guard case .array(let events)? = bodies.first(where: { $0["type"] == nil }), let event = events.first else {
        Issue.record("\(bodies)")
        return
      }
      #expect(events.count == 1 && event["event"] == "Mail opened" && event["contactId"] == "user1@example.com")
      #expect(event["carmaContactId"] == .integer(contact) && event["campaignId"] == .integer(key.sendout.rawValue))
      #expect(event["listId"] == .integer(list.rawValue))
      let times = [event["timestamp"], event["sentTimestamp"]].map { value -> Int64? in
        if case .number(let number)? = value { Int64(number.text) } else { nil }
      }
      #expect(times.allSatisfy { ($0 ?? 0) > 1_700_000_000_000 })
    }
  }

  @Test func `A message that its provider delivered is told, and one that it did not is not`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, [.messageDelivered])
      try await bench.addDevices(2)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      let reports = DeliveryReports(bench.pool)
      for (push, isDelivered) in [(1, false), (2, true), (2, true)] {
        _ = try await reports.record(
          bench.customer,
          [
            DeliveryReport(
              sendout: key.sendout, push: PushNumber(Int64(push)), app: bench.app.id, isDelivered: isDelivered)
          ])
      }
      #expect(try await told.items(.messageDelivered).map { $0["pushNo"] } == [2])
    }
  }

  @Test func `A trigger's message has failed once none of its pushes can be accepted any more`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, [.triggerFailed])
      try await bench.addDevices(1)
      // Two messages of a trigger and one of none, with two pushes each.
      try await bench.database.query(
        """
        INSERT INTO sendout (customer_id, sendout_id, kind, stream, push_app_ids, name, state, audience, message, started_at, frozen_at)
        SELECT $1::bigint, n, 'stream', '2026-11-27 ' || CASE n WHEN 8 THEN 'trigger/5' ELSE 'app' END, ARRAY[$2::bigint], 'x', 'running',
               '{"all":true}', '{}', now(), now()
          FROM generate_series(8, 9) AS n
        """, bench.customer.rawValue, bench.app.id.rawValue)
      try await bench.database.query("SELECT require_sendout_range(9)")
      try await bench.database.query(
        """
        INSERT INTO push_batch (customer_id, sendout_id, batch_no, push_app_id, sandbox, first_push, last_push, queued)
        SELECT $1::bigint, n, 1, $2::bigint, false, 1, 4, 4 FROM generate_series(8, 9) AS n
        """, bench.customer.rawValue, bench.app.id.rawValue)
      try await bench.database.query(
        """
        INSERT INTO push (customer_id, sendout_id, push_no, batch_no, device_id, contact_id, message_no, state)
        SELECT $1::bigint, n, p, 1, p, 1, (p + 1) / 2, 'queued' FROM generate_series(8, 9) AS n, generate_series(1, 4) AS p
        """, bench.customer.rawValue)
      try await bench.database.query(
        """
        INSERT INTO message (customer_id, sendout_id, message_no, contact_id, push_nos, body)
        SELECT $1::bigint, n, m, 1, ARRAY[2 * m - 1, 2 * m], '{}' FROM generate_series(8, 9) AS n, generate_series(1, 2) AS m
        """, bench.customer.rawValue)
      func settle(_ pushes: [(Int, String)], of sendout: Int64) async throws {
        for (push, state) in pushes {
          try await bench.database.query(
            """
            WITH settled AS (
              UPDATE push SET state = $3::text, reason = 'Unregistered', settled_at = now()
               WHERE customer_id = $1::bigint AND sendout_id = $2::bigint AND push_no = $4::int8
              RETURNING push_no, message_no, state),
            told AS (\(EventSQL.noteOutcomes(of: "settled")))
            SELECT 1
            """, bench.customer.rawValue, sendout, state, Int64(push))
        }
      }
      try await settle([(1, "failed"), (3, "failed")], of: 8)
      #expect(try await told.items(.triggerFailed) == [])
      try await settle([(2, "failed"), (4, "accepted")], of: 8)
      try await settle([(1, "failed"), (2, "failed")], of: 9)
      let failed = try await told.items(.triggerFailed)
      #expect(failed.map { $0["messageId"] } == ["8-1"] && failed[0]["triggerId"] == 5)
      #expect(failed[0]["reason"] == "Unregistered")
      // Leaves the ledger as the bench expects it.
      try await bench.database.query("DELETE FROM push WHERE sendout_id IN (8, 9)")
      try await bench.database.query("DELETE FROM push_batch WHERE sendout_id IN (8, 9)")
    }
  }

  @Test func `Somebody who was erased is told of by number alone, and a push that is gone is not told`() async throws {
    try await withSendingBench { bench in
      let told = try await Told(bench, [.pushAccepted])
      try await bench.addDevices(2)
      let key = try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key, .finished)
        return key
      }
      try await bench.database.query("DELETE FROM device")
      try await bench.database.query("DELETE FROM contact WHERE original_id = 'user1@example.com'")
      try await bench.database.query(
        """
        DELETE FROM push WHERE sendout_id = $1::bigint AND contact_id = (
          SELECT contact_id FROM contact WHERE original_id = 'user2@example.com')
        """, key.sendout.rawValue)
      let items = try await told.items(.pushAccepted)
      #expect(items.count == 1 && items[0]["originalId"] == nil && items[0]["contactId"] != nil)
      try await bench.database.query("DELETE FROM push WHERE sendout_id = $1::bigint", key.sendout.rawValue)
      try await bench.database.query("DELETE FROM push_batch WHERE sendout_id = $1::bigint", key.sendout.rawValue)
    }
  }
}
