import Content
import Delivery
import Foundation
import Postgres
import Registry
@testable import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct MessageTests {
  @Test func `A short message fits every push service, whatever it says`() throws {
    let shapes: [(String) -> MessageBody] = [
      { MessageBody(verbatim: true, alert: $0) }, { MessageBody(verbatim: true, alert: "x", info: $0) },
      { MessageBody(verbatim: true, alert: "x", sound: $0, category: $0) },
      { MessageBody(verbatim: true, silent: true, fields: ["a": .string($0)]) },
      { MessageBody(verbatim: true, silent: true, fields: ["a": [["b": .string($0)]]]) },
    ]
    let texts = (1...0x7f).map { String(Unicode.Scalar($0 as UInt8)) } + ["é", "\u{2028}", "😀"]
    for shape in shapes {
      for text in texts {
        let (one, two) = (shape(text).json.utf8.count, shape(text + text).json.utf8.count)
        let count = 1 + (MessageService.CompiledMessage.fitsEverywhere - one) / (two - one)
        let message = shape(String(repeating: text, count: count))
        #expect(message.json.utf8.count <= MessageService.CompiledMessage.fitsEverywhere)
        try MessageTemplate(message).checkForm(for: AppType.allCases)
      }
    }
  }

  @Test func `A message of very many items is not remembered`() throws {
    func memory(items count: Int) throws -> Int {
      let items = [JSONValue](repeating: 0, count: count)
      return try MessageService.CompiledMessage(MessageBody(silent: true, fields: ["a": .array(items)])).memory
    }
    #expect(try memory(items: 10) < MessageService.templateMemory / 1000)
    #expect(try memory(items: 70_000) > MessageService.templateMemory)
  }

  @Test func `A push names its recipient and links to its own page`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(2)
      try await bench.database.query(
        #"UPDATE contact SET properties = '{"food":"pizza & \"pasta\""}' WHERE first_name = 'N2'"#)
      _ = try await Templates(bench.pool).put(
        bench.customer, name: "offer", format: .html, body: "<h1>{{firstName}}</h1>")
      let key = try await bench.withHubs {
        let key = try await bench.send(
          "Hi {{firstName}}, {{food}}?", template: "offer", fields: ["campaign": "c{{sendout.id}}", "n": 3],
          info: "{{device.model}}")
        try await bench.until(key, .finished)
        return key
      }
      let received = try #require(bench.simulator.apns.requests.first { $0.token == bench.token(2) })
      let payload = try JSONValue(parsing: received.payload)
      #expect(payload["aps"]?["alert"] == ["title": "Hi N2, pizza & \"pasta\"?", "body": "iPhone"])
      #expect(payload["campaign"] == .string("c\(key.sendout)"))
      #expect(payload["n"] == 3)
      let link = PushLink(
        customer: bench.customer, sendout: key.sendout, push: PushNumber(2), device: devices[1])
      #expect(payload.string("url") == bench.links.page(link))
      #expect(payload.string("pushreadurl") == bench.links.read(link))
      #expect(received.header("apns-push-type") == "alert")
      #expect(received.header("apns-priority") == "10")
    }
  }

  @Test func `A payload that is too large for one recipient is cut down for that one, or fails unsent`() async throws {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      try await bench.database.query(
        "UPDATE contact SET first_name = repeat('x', 200), last_name = repeat('y', 200) WHERE first_name = 'N2'")
      let alert = String(repeating: "{{firstName}}{{lastName}}", count: 12)
      let key = try await bench.withHubs {
        let cut = try await bench.send(alert)
        try await bench.until(cut, .finished)
        let push = try #require(try await bench.pushes(cut).first { $0.deviceId == devices[1] })
        #expect(push.state == .accepted && push.reason == "alert shortened")
        let key = try await bench.send("x", fields: ["long": .string(alert)])
        try await bench.until(key, .finished)
        return key
      }
      let failed = try #require(try await bench.pushes(key).first { $0.deviceId == devices[1] })
      #expect(failed.state == .failed)
      #expect(failed.reason == "PayloadTooLarge")
      #expect(failed.attempts == 0)
      #expect(try await bench.show(key).counts == SendoutCounts(audience: 3, sent: 2, accepted: 2, failed: 1))
    }
  }

  @Test func `Devices that were reassigned or invalidated after the freeze are skipped`()
    async throws
  {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now()")
      try await bench.database.query(
        "UPDATE device SET contact_id = (SELECT contact_id FROM device WHERE device_id = $1::bigint) WHERE device_id = $2",
        devices[2].rawValue, devices[0].rawValue)
      try await bench.database.query(
        "UPDATE device SET invalidated_at = now(), invalidation_type = 1 WHERE device_id = $1::bigint",
        devices[1].rawValue)
      try await bench.withHubs { try await bench.until(key, .finished) }
      let pushes = try await bench.pushes(key)
      #expect(pushes.map(\.state) == [.skipped, .skipped, .accepted])
      #expect(pushes.map(\.reason) == ["device_reassigned", "device_invalidated", nil])
      #expect(bench.simulator.apns.requests.map(\.token) == [bench.token(3)])
    }
  }

  @Test func `Pushes to people who were erased after the freeze are skipped as erased`()
    async throws
  {
    try await withSendingBench { bench in
      let devices = try await bench.addDevices(3)
      let key = try await bench.send()
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      try await bench.database.query("UPDATE sendout SET state = 'running', frozen_at = now()")
      try await bench.database.query(
        "DELETE FROM contact WHERE contact_id = (SELECT contact_id FROM device WHERE device_id = $1::bigint)",
        devices[0].rawValue)
      try await bench.database.query(
        "DELETE FROM device WHERE device_id = ANY ($1::bigint[])", devices[..<2].map(\.rawValue))
      try await bench.withHubs { try await bench.until(key, .finished) }
      let pushes = try await bench.pushes(key)
      #expect(pushes.map(\.state) == [.skipped, .skipped, .accepted])
      #expect(pushes.map(\.reason) == ["erased", "device_gone", nil])
    }
  }

  @Test(arguments: [7200.0, -7200.0])
  func `A hub whose clock is wrong by hours sends what is valid, and nothing that has expired`(lead: Double)
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      func send() async throws -> SendoutKey {
        let reply = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            name: "Offer", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "x", ttl: 3600)))
        let key = SendoutKey(bench.customer, reply.sendoutId)
        try await bench.pool.transaction { transaction in
          _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
        }
        return key
      }
      let (valid, expired) = try await (send(), send())
      try await bench.database.query(
        """
        UPDATE sendout SET state = 'running', frozen_at = now(),
               started_at = CASE WHEN sendout_id = $1::bigint THEN now() ELSE now() - interval '90 minutes' END
        """, valid.sendout.rawValue)
      try await bench.withHubs(1, { $0.now = { Date(timeIntervalSinceNow: lead) } }) {
        for key in [valid, expired] { try await bench.until(key, .finished) }
      }
      #expect(try await bench.show(valid).counts?.accepted == 2)
      let late = try await bench.pushes(expired)
      #expect(late.count == 2 && late.allSatisfy { $0.state == .failed && $0.reason?.contains("expired") == true })
      let expiry = try #require(bench.simulator.apns.requests.first?.header("apns-expiration").flatMap(Double.init))
      #expect(abs(expiry - Date().timeIntervalSince1970 - 3600) < 1800)
    }
  }

  @Test func `A sendout keeps the template version it was created with`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      let templates = Templates(bench.pool)
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: "one")
      let key = try await bench.send(template: "offer")
      _ = try await templates.put(bench.customer, name: "offer", format: .html, body: "two")
      let shown = try await bench.show(key)
      #expect(shown.template == "offer")
      #expect(shown.templateVersion == 1)
    }
  }
}
