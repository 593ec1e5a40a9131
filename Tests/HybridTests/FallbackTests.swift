import Delivery
import Foundation
import Hybrid
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

@Suite struct FallbackTests {
  private static let refusal = SimulatedAPNs.Reply.refuse(status: 400, reason: "BadMessageId")

  @Test func `A default message whose push is accepted sends no SMS`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      #expect(try await hybrid.send(hybrid.message(1)) == [.accepted(parts: 1)])
      let rows = try await hybrid.until { $0[0].status == "Accepted" }
      #expect(rows == [.init(status: "Accepted", pushes: ["accepted"], sms: "cancelled push_accepted")])
      let states = try await hybrid.bench.database.query("SELECT DISTINCT state FROM push_batch")
      #expect(try states.map { try $0.decode(String.self) } == ["settled"])
    }
  }

  @Test func `A default message goes by SMS once every push has failed`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1, phones: 2)
      hybrid.simulator.apns.rule(.prefix("aa"), Self.refusal)
      try await hybrid.bench.withHubs {
        try await hybrid.send(hybrid.message(1))
        let rows = try await hybrid.until { $0[0].status == "Accepted" }
        #expect(rows[0].pushes == ["failed BadMessageId", "failed BadMessageId"] && rows[0].sms == "accepted")
      }
      #expect(hybrid.requests("cc").count == 1)
    }
  }

  @Test func `Of two phones that fail at the same time, one is the last, and the SMS goes once`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(100, phones: 2)
      hybrid.simulator.apns.rule(.prefix("aa"), Self.refusal)
      try await hybrid.bench.withHubs(2) {
        let answers = try await hybrid.messages.accept(
          hybrid.bench.customer, (1...100).map { hybrid.message($0) }, allOrNothing: false)
        #expect(answers.allSatisfy { $0 == .accepted(parts: 1) })
        _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      }
      #expect(Set(hybrid.requests("cc").map(\.token)).count == 100 && hybrid.requests("cc").count == 100)
    }
  }

  @Test func `Of a number that is suppressed neither push nor SMS leaves, and the message fails`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      let suppressions = Suppressions(hybrid.bench.pool, key: .ofTests)
      _ = try await suppressions.add(hybrid.bench.customer, .number(HybridBench.number(1)), .all)
      _ = try await suppressions.add(hybrid.bench.customer, .number(HybridBench.number(2)), .marketing)
      try await hybrid.bench.withHubs {
        #expect(
          try await hybrid.send(hybrid.message(1), hybrid.message(2)) == [.accepted(parts: 1), .accepted(parts: 1)])
        let rows = try await hybrid.until { $0[0].status == "Failed" && $0[1].status == "Accepted" }
        #expect(rows[0] == .init(status: "Failed", pushes: ["skipped suppressed"], sms: "skipped suppressed"))
        #expect(rows[1].pushes == ["accepted"])
      }
      #expect(hybrid.requests("cc").isEmpty && hybrid.requests("aa").count == 1)
    }
  }

  @Test func `Without a phone or an app key a message goes by SMS at once, and by push only it fails`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1, phones: 0)
      try await hybrid.send(
        hybrid.message(1), hybrid.message(1, kind: .critical), hybrid.message(1, hasKey: false),
        hybrid.message(1, channels: [.sms]), hybrid.message(1, kind: .otp), hybrid.message(1, channels: [.push]))
      _ = try await hybrid.until {
        $0.count { $0.status == "Accepted" } == 4 && $0.count { $0.status == "Failed" } == 2
      }
      let reasons = try await hybrid.bench.database.query(
        "SELECT fallback_reason FROM tracked_message WHERE fallback_no IS NOT NULL ORDER BY 1"
      ).map { try $0.decode(String.self) }
      #expect(reasons == ["alone", "alone", "no_device", "no_device"])
      #expect(hybrid.requests("cc").count == 4)
    }
  }

  @Test func `A critical message goes by SMS after its time unless a device has confirmed it`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      try await hybrid.send(hybrid.message(1, kind: .critical), hybrid.message(2, kind: .critical))
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let ids = try await hybrid.updateIDs()
      #expect(try await hybrid.confirm(1, ids + ["7"]) == [ids[1], "7"])
      #expect(try await hybrid.confirm(1, [ids[0]], readAt: Date()) == [])
      #expect(try await hybrid.confirm(1, [ids[0]]) == [])
      try await hybrid.passConfirmationTime()
      try await hybrid.bench.withHubs { _ = try await hybrid.until { $0[1].sms == "accepted" } }
      let rows = try await hybrid.rows()
      #expect(rows[0] == .init(status: "Delivered", pushes: ["accepted"], sms: "cancelled confirmed_in_time"))
      #expect(rows[1] == .init(status: "Accepted", pushes: ["accepted"], sms: "accepted"))
      #expect(hybrid.requests("cc").count == 1)
    }
  }

  @Test func `A message that a phone confirms is told to webhooks, once`() async throws {
    try await withHybridBench { hybrid in
      let (database, customer) = (hybrid.bench.database, hybrid.bench.customer)
      try await database.addWebhook(customer, [.messageDelivered])
      try await hybrid.addNumbers(2, phones: 2)
      try await hybrid.send(hybrid.message(1, kind: .critical), hybrid.message(2, kind: .critical))
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let ids = try await hybrid.updateIDs()
      // The recipient of the other message confirms nothing of this one.
      #expect(try await hybrid.confirm(2, [ids[0]]) == [ids[0]])
      #expect(try await database.noted(customer) == [])
      // Both phones of the recipient say so in one request, and one of them again.
      let second = try await database.query(
        """
        SELECT (p.sendout_id * 10000000000 + p.push_no)::text FROM push p JOIN tracked_message h USING (customer_id, sendout_id, message_no)
         WHERE p.push_no IS DISTINCT FROM h.fallback_no ORDER BY p.sendout_id, p.message_no, p.push_no OFFSET 1 LIMIT 1
        """)[0].decode(String.self)
      #expect(try await hybrid.confirm(1, [second, ids[0]]) == [])
      #expect(try await hybrid.confirm(1, [ids[0]], readAt: Date()) == [])
      #expect(try await database.noted(customer) == ["message.delivered 1"])
      let told = try await database.query("SELECT (sendout_id * 10000000000 + push_nos[1])::text FROM webhook_event")
      #expect(try told[0].decode(String.self) == ids[0])
    }
  }

  @Test func `A fallback that a hub has claimed and given back is cancelled, unless it may have left`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(3)
      for number in 1...3 { try await hybrid.send(hybrid.message(number, kind: .critical)) }
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let batches = """
        WITH again AS (
          UPDATE push SET state = 'queued', not_before = NULL,
                 reason = CASE WHEN push_no = (SELECT max(push_no) FROM push WHERE state = 'waiting') THEN 'hub_stopped' END
           WHERE state = 'waiting' RETURNING sendout_id, batch_no)
        UPDATE push_batch AS b SET state = 'queued', queued = queued + waiting, waiting = 0, not_before = '-infinity'
          FROM again WHERE b.sendout_id = again.sendout_id AND b.batch_no = again.batch_no
        """
      let ids = try await hybrid.updateIDs()
      try await hybrid.bench.database.query(batches)
      for number in [1, 3] { #expect(try await hybrid.confirm(number, [ids[number - 1]]) == []) }
      let rows = try await hybrid.rows().map(\.sms)
      #expect(rows == ["cancelled confirmed_in_time", "queued", "queued hub_stopped"])
      try await hybrid.bench.database.query("UPDATE push_batch SET state = 'claimed' WHERE queued > 0")
      #expect(try await hybrid.confirm(2, [ids[1]]) == [])
      #expect(try await hybrid.rows().map(\.sms) == rows, "it may be on its way")
      let counts = try await hybrid.bench.database.query("SELECT sum(queued), sum(cancelled) FROM push_batch")[0]
      #expect(try counts.decode(Int.self, Int.self) == (2, 1))
    }
  }

  @Test func `A critical message whose push fails does not wait for its time`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      hybrid.simulator.apns.rule(.prefix("aa"), Self.refusal)
      try await hybrid.bench.withHubs {
        try await hybrid.send(hybrid.message(1, kind: .critical))
        let rows = try await hybrid.until { $0[0].sms == "accepted" }
        #expect(rows[0].status == "Accepted" && rows[0].pushes == ["failed BadMessageId"])
      }
    }
  }

  @Test func `Confirmations race the SMS, and each message has exactly one of them`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(200)
      _ = try await hybrid.messages.accept(
        hybrid.bench.customer, (1...200).map { hybrid.message($0, kind: .critical) }, allOrNothing: false)
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let ids = try await hybrid.updateIDs()
      try await hybrid.bench.withHubs(2) {
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 1...200 {
            group.addTask {
              let refused = try await hybrid.confirm(number, [ids[number - 1]])
              #expect(refused == [])
            }
            if number == 60 { group.addTask { try await hybrid.passConfirmationTime() } }
          }
          try await group.waitForAll()
        }
        _ = try await hybrid.until { $0.allSatisfy { $0.sms == "accepted" || $0.sms == "cancelled confirmed_in_time" } }
      }
      let rows = try await hybrid.rows()
      #expect(rows.allSatisfy { $0.status == "Delivered" })
      #expect(hybrid.requests("cc").count == rows.count { $0.sms == "accepted" })
    }
  }

  @Test func `A one-time password is withdrawn by a later SMS, and expires by itself`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      hybrid.simulator.apns.rule(.prefix("aa"), .refuse(status: 503, reason: "ServiceUnavailable"))
      try await hybrid.send(
        hybrid.message(1, "Code 1", kind: .otp, reference: "a"), hybrid.message(2, "Code 2", kind: .otp))
      _ = try await hybrid.until { $0.allSatisfy { $0.pushes == ["waiting ServiceUnavailable"] && $0.sms == nil } }
      // APNs is asked again after 15 minutes, and a password lives for 30 seconds.
      let isDueInTime = try await hybrid.bench.database.query(
        """
        SELECT bool_and(p.not_before < m.expires_at + interval '5 minutes')
          FROM push p JOIN message m USING (customer_id, sendout_id, message_no)
        """)[0].decode(Bool.self)
      #expect(isDueInTime)
      try await hybrid.send(hybrid.message(1, "Your code: 1", channels: [.sms], reference: "a"))
      #expect(try await hybrid.rows().map(\.status).prefix(2) == ["Cancelled", "Sent"])
      try await hybrid.send(hybrid.message(1, "Code 3", kind: .otp, channels: [.sms]))
      _ = try await hybrid.until { $0.count { $0.sms == "accepted" && $0.status == "Accepted" } == 2 }
      try await hybrid.bench.database.query("UPDATE message SET expires_at = now() WHERE message_no = 2")
      try await hybrid.makeDue()
      hybrid.simulator.apns.removeRules()
      let before = hybrid.requests("aa").count
      try await hybrid.bench.withHubs {
        let rows = try await hybrid.until { rows in
          rows.allSatisfy { $0.pushes.allSatisfy { !$0.hasPrefix("waiting") && !$0.hasPrefix("queued") } }
        }
        #expect(rows[0].pushes == ["failed withdrawn"] && rows[0].status == "Cancelled")
        #expect(rows[1].pushes == ["failed expired"] && rows[1].status == "Failed")
      }
      #expect(hybrid.requests("aa").count == before)
    }
  }

  @Test func `A later SMS withdraws passwords to its number with its reference or its text, and nothing else`()
    async throws
  {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      try await hybrid.send(
        hybrid.message(1, "A", kind: .otp, reference: "a"), hybrid.message(1, "B", kind: .otp, reference: "b"),
        hybrid.message(1, "C", kind: .otp), hybrid.message(1, "D", kind: .otp),
        hybrid.message(2, "C", kind: .otp, reference: "a"))
      try await hybrid.send(hybrid.message(1, "C", reference: "a"))
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      try await hybrid.send(hybrid.message(1, "Hello", channels: [.sms]))
      #expect(try await hybrid.rows().prefix(6).allSatisfy { $0.status == "Accepted" })
      try await hybrid.send(hybrid.message(1, "C", channels: [.sms], reference: "a"))
      let statuses = try await hybrid.rows().prefix(6).map(\.status)
      #expect(statuses == ["Cancelled", "Accepted", "Cancelled", "Accepted", "Accepted", "Accepted"])
      // One that was on its way already may be confirmed.
      #expect(try await hybrid.confirm(1, [try await hybrid.updateIDs()[0]]) == [])
      #expect(try await hybrid.rows()[0].status == "Delivered")
    }
  }

  @Test func `A push that is refused together with its app's credentials goes by SMS at once`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(300)
      hybrid.simulator.apns.rule(.prefix("aa"), .refuse(status: 403, reason: "InvalidProviderToken"))
      try await hybrid.bench.withHubs {
        let kinds: [HybridMessage.Kind] = [.standard, .critical]
        _ = try await hybrid.messages.accept(
          hybrid.bench.customer, (1...300).map { hybrid.message($0, kind: kinds[$0 % 2]) }, allOrNothing: false)
        let rows = try await hybrid.until { $0.allSatisfy { $0.sms == "accepted" } }
        #expect(rows.allSatisfy { $0.status == "Accepted" && $0.pushes == ["failed InvalidProviderToken"] })
        #expect(try await hybrid.bench.currentApp()?.alarm?.reason == "InvalidProviderToken")
        // Without SMS it waits until somebody corrects the app.
        try await hybrid.send(hybrid.message(1, channels: [.push]))
        #expect(try await hybrid.rows().last?.pushes == ["queued"])
        hybrid.simulator.apns.removeRules()
        _ = try await hybrid.until { $0.last?.pushes == ["accepted"] }
      }
      #expect(hybrid.requests("cc").count == 300)
    }
  }

  @Test func `A number that has opted out is refused, and one refusal can refuse all`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      try await hybrid.bench.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = -1 WHERE token = 'cc' || lpad(to_hex(16), 62, '0')"
      )
      let messages = [hybrid.message(1), hybrid.message(2), hybrid.message(1, channels: [.push])]
      let both = try await hybrid.messages.accept(hybrid.bench.customer, messages, allOrNothing: true)
      #expect(both == Array(repeating: .refused(.suppressed), count: 3))
      #expect(try await hybrid.rows().isEmpty)
      let each = try await hybrid.messages.accept(hybrid.bench.customer, messages, allOrNothing: false)
      #expect(each == [.refused(.suppressed), .accepted(parts: 1), .accepted(parts: 1)])
      var unknown = hybrid.message(1)
      unknown.appKey = UUID()
      #expect(try await hybrid.send(unknown) == [.refused(.appKeyUnknown)])
    }
  }

  @Test func `An unknown number becomes a contact that gets SMS`() async throws {
    try await withHybridBench { hybrid in
      #expect(
        try await hybrid.send(hybrid.message(5), hybrid.message(5)) == [.accepted(parts: 1), .accepted(parts: 1)])
      let rows = try await hybrid.bench.database.query(
        "SELECT original_id, token, push_app_id FROM contact JOIN device USING (customer_id, contact_id)")
      let (id, token, app) = try #require(rows.first).decode(String.self, String.self, Int64.self)
      #expect(rows.count == 1 && id == "0031610000005" && token == "+31610000005" && app == hybrid.sms.id.rawValue)
    }
  }

  @Test func `Phones get the text, and the id that confirms it, in the form of their app`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(1)
      try await hybrid.send(hybrid.message(1, "Hi"))
      try await hybrid.send(hybrid.message(1, "Wake", kind: .critical))
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let ids = try await hybrid.updateIDs()
      let requests = hybrid.requests("aa")
      #expect(try JSONValue(parsing: requests[0].payload) == ["aps": ["alert": "Hi"], "ref": .string(ids[0])])
      #expect(
        try JSONValue(parsing: requests[1].payload) == [
          "aps": ["content-available": 1], "alert": "Wake", "ref": .string(ids[1]),
        ])
    }
  }

  @Test func `An SMS that was never answered is uncertain, and of a critical message it is sent again`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2, phones: 0)
      hybrid.simulator.apns.rule(.prefix("cc"), .ignore)
      // The hub that accepts them is killed while it waits for the provider.
      let (dispatcher, messages) = HybridBench.hub(hybrid.bench, confirmationTime: .seconds(30))
      for message in [hybrid.message(1), hybrid.message(2, kind: .critical)] {
        _ = try await messages.accept(hybrid.bench.customer, [message], allOrNothing: false)
      }
      // A new connection takes one request until it is answered. Both have their write-ahead marks.
      _ = await hybrid.simulator.apns.received(count: 1)
      let end = Task { await dispatcher.end() }
      end.cancel()
      await end.value
      try await hybrid.bench.endLeases()
      hybrid.simulator.apns.removeRules()
      hybrid.simulator.apns.cut()
      try await hybrid.bench.withHubs {
        let rows = try await hybrid.until { $0.allSatisfy { $0.sms != "queued" && $0.sms != "queued hub_stopped" } }
        #expect(rows.map(\.sms) == ["uncertain hub_stopped", "accepted"])
        #expect(rows.map(\.status) == ["Sent", "Accepted"])
      }
      #expect(hybrid.requests("cc").count == 2)
    }
  }

  @Test func `After hubs were killed, each critical message is confirmed or went by SMS, once`() async throws {
    try await withHybridBench(confirmationTime: .seconds(2)) { hybrid in
      try await hybrid.addNumbers(120)
      let answered = (1...120).map { hybrid.message($0, kind: .critical) }
      let (dispatcher, messages) = HybridBench.hub(hybrid.bench, confirmationTime: .seconds(2))
      _ = try await messages.accept(hybrid.bench.customer, answered, allOrNothing: false)
      _ = await hybrid.simulator.apns.received(count: 30)
      let end = Task { await dispatcher.end() }
      end.cancel()
      await end.value
      try await hybrid.bench.endLeases()
      let ids = try await hybrid.updateIDs()
      for kill in 0..<3 {
        try await hybrid.bench.withHubs {
          for number in kill * 20 + 1...(kill + 1) * 20 { _ = try await hybrid.confirm(number, [ids[number - 1]]) }
        }
      }
      try await hybrid.bench.withHubs(2) {
        _ = try await hybrid.until { rows in
          rows.allSatisfy {
            $0.pushes == ["accepted"] && ($0.sms == "accepted" || $0.sms == "cancelled confirmed_in_time")
          }
        }
      }
      let rows = try await hybrid.rows()
      let resent = try await hybrid.bench.database.query(
        "SELECT count(*) FROM push p JOIN tracked_message h USING (customer_id, sendout_id, message_no) WHERE push_no = fallback_no AND attempts > 1"
      )[0].decode(Int.self)
      let sms = rows.count { $0.sms == "accepted" }
      #expect(Set(hybrid.requests("cc").map(\.token)).count == sms && hybrid.requests("cc").count <= sms + resent)
      #expect(rows.count { $0.status == "Delivered" } == 60)
    }
  }

  @Test func `A withdrawn password is reported as cancelled, and a moment of reading alone cancels the SMS`()
    async throws
  {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(2)
      try await hybrid.send(hybrid.message(1, kind: .otp, reference: "a"))
      try await hybrid.send(hybrid.message(2, kind: .critical))
      _ = try await hybrid.until { $0.allSatisfy { $0.status == "Accepted" } }
      let ids = try await hybrid.updateIDs()
      let refused = try await hybrid.messages.confirm(
        hybrid.bench.customer, appID: SendingBench.appID, number: HybridBench.number(2), updateIDs: [ids[1]],
        status: .sent,
        readAt: Date())
      #expect(refused == [])
      try await hybrid.send(hybrid.message(1, channels: [.sms], reference: "a", hasKey: false))
      let rows = try await hybrid.rows()
      #expect(rows[0].status == "Cancelled")
      #expect(rows[1] == .init(status: "Delivered", pushes: ["accepted"], sms: "cancelled confirmed_in_time"))
      // Those of the SMS come when it is sent.
      let reports = try await hybrid.bench.database.query(
        """
        SELECT o.event
          FROM outbox o
          JOIN tracked_message h ON h.customer_id = o.customer_id AND h.sendout_id = o.sendout_id AND h.message_no = o.item_no
         WHERE h.app_id IS NOT NULL ORDER BY o.event
        """)
      #expect(
        try reports.map { try $0.decode(String.self) } == ["Accepted", "Accepted", "Cancelled", "Delivered", "Read"])
    }
  }

  @Test func `A delivery report that comes before the outcome of its SMS stays, and a push outdoes it`() async throws {
    try await withHybridBench { hybrid in
      try await hybrid.addNumbers(2)
      hybrid.simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"))
      try await hybrid.send(hybrid.message(1, channels: [.sms]), hybrid.message(2, channels: [.push]))
      _ = try await hybrid.until { rows in
        rows.allSatisfy { ($0.sms ?? $0.pushes[0]) == "waiting ServiceUnavailable" }
      }
      let streams = try await hybrid.bench.database.query(
        "SELECT h.sendout_id, h.push_nos[1]::int8 FROM tracked_message h ORDER BY h.sendout_id")
      for row in streams {
        let (sendout, push) = try row.decode(Int64.self, Int64.self)
        let id = UpdateID(SendoutID(sendout), PushNumber(push))
        #expect(
          try await TrackedMessages(hybrid.bench.pool).report(hybrid.bench.customer, [id], areDelivered: false) == [])
        try await hybrid.bench.makeDue(SendoutKey(hybrid.bench.customer, SendoutID(sendout)))
      }
      hybrid.simulator.apns.removeRules()
      try await hybrid.bench.withHubs {
        let rows = try await hybrid.until { rows in rows.allSatisfy { ($0.sms ?? $0.pushes[0]) == "accepted" } }
        #expect(
          rows.map { ($0.sms == nil ? "push " : "SMS ") + $0.status }.sorted() == ["SMS Failed", "push Accepted"])
      }
    }
  }

  @Test func `Each status of a message whose app has an address is kept for its customer, once`() async throws {
    try await withHybridBench(statusURL: "https://example.com/status") { hybrid in
      try await hybrid.addNumbers(2)
      hybrid.simulator.apns.rule(.prefix("aa" + String(repeating: "0", count: 60) + "2"), Self.refusal)
      try await hybrid.send(hybrid.message(1), hybrid.message(2, channels: [.push]))
      _ = try await hybrid.until { $0.map(\.status).sorted() == ["Accepted", "Failed"] }
      let ids = try await hybrid.updateIDs()
      for id in ids { for _ in 1...2 { _ = try await hybrid.confirm(1, [id], readAt: Date()) } }
      let reports = try await hybrid.bench.database.query(
        "SELECT event FROM outbox WHERE customer_id > 0 ORDER BY event")
      #expect(try reports.map { try $0.decode(String.self) } == ["Accepted", "Delivered", "Failed", "Read"])
    }
  }
}
