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

/// Single messages, from the request to the phone.
@Suite struct MessageTests {
  /// A hub's server and sender over a bench, with a key of scope send.
  private struct MessageServer: Sendable {
    let bench: SendingBench
    let server: TestWebServer
    let key: String

    func send(_ json: String, headers: [(String, String)] = []) async throws -> TestReply {
      try await server.send("POST", "/api/v1/messages", key: key, headers: headers, json: json)
    }

    func show(_ id: String) async throws -> JSONValue {
      try await server.send("GET", "/api/v1/messages/\(id)", key: key).json
    }

    /// A message to `user<n>`.
    func message(to number: Int, _ more: String = "", says also: String = "") -> String {
      """
      {"appId":"com.acme.app","to":{"originalId":"user\(number)@example.com"},\
      "message":{"alert":"Hi {{firstName}}"\(also)}\(more)}
      """
    }
  }

  private func withServer(
    _ body: @escaping @Sendable (MessageServer) async throws -> Void
  ) async throws {
    try await withSendingBench { bench in
      let key = try await AccessKeys(bench.pool).make(bench.customer, name: "sender", scope: .send).token
      try await bench.withWholeServer { server in
        try await body(MessageServer(bench: bench, server: server, key: key))
      }
    }
  }

  @Test func `A message goes to all devices of its contact, and with wait the reply has the verdicts`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(3)
      // The second is answered from caches.
      for count in 1...2 {
        let reply = try await server.send(server.message(to: 2, #","wait":30,"reference":"parcel-42""#))
        #expect(reply.status == 201)
        let json = try reply.json
        #expect(json.string("state") == "accepted" && json.string("reference") == "parcel-42")
        let pushes = try #require(json.array("pushes"))
        #expect(pushes.map { $0.string("state") } == ["accepted"] && pushes[0].integer("appType") == 1)
        let received = server.bench.simulator.apns.requests
        #expect(received.map(\.token) == Array(repeating: server.bench.token(2), count: count))
        #expect(String(decoding: received[0].payload, as: UTF8.self).contains(#""alert":"Hi N2""#))
        let shown = try await server.show(try #require(json.string("messageId")))
        #expect(shown == json)
      }
    }
  }

  @Test func `Without wait the reply comes once the message is committed, and it is sent nevertheless`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let reply = try await server.send(server.message(to: 1))
      #expect(reply.status == 201)
      let id = try #require(try reply.json.string("messageId"))
      _ = await server.bench.simulator.apns.received(count: 1)
      try await waitUntil { try await server.show(id).string("state") == "accepted" }
    }
  }

  @Test func `Nobody to send to is a 404, and a contact without devices is told`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      #expect(try await server.send(server.message(to: 9)).status == 404)
      try await server.bench.database.query("UPDATE device SET invalidated_at = now(), invalidation_type = 1")
      let reply = try await server.send(server.message(to: 1))
      #expect(reply.status == 201)
      #expect(try reply.json.string("state") == "noDevice" && reply.json.array("pushes") == [])
      let unknown = #"{"appId":"com.acme.app","to":{"deviceToken":"abcd"},"message":{"alert":"x"}}"#
      #expect(try await server.send(unknown).status == 404)
      #expect(try await server.bench.database.query("SELECT count(*) FROM message")[0].decode(Int.self) == 1)
    }
  }

  @Test func `A device token that is not registered becomes a device of the contact that is named`() async throws {
    try await withServer { server in
      let token = String(repeating: "cd", count: 32)
      let reply = try await server.send(
        """
        {"appId":"com.acme.app","to":{"originalId":"new@example.com","deviceToken":"\(token)"},"message":{"alert":"x"},"wait":30}
        """)
      #expect(try reply.json.string("state") == "accepted")
      #expect(server.bench.simulator.apns.requests.map(\.token) == [token])
      let contact = try await Contacts(server.bench.pool).find(
        server.bench.customer, originalID: "new@example.com", apps: [server.bench.app.id])
      #expect(contact?.devices.map(\.token) == [token])
    }
  }

  @Test func `A list is answered in its order, and bad messages are refused one by one`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(200)
      var messages = (1...200).map { server.message(to: $0, #","wait":30"#) }
      messages[7] = server.message(to: 999)
      messages[8] = #"{"appId":"com.acme.app","to":{},"message":{"alert":"x"}}"#
      messages[9] = #"{"appId":"com.none","to":{"originalId":"user1@example.com"},"message":{"alert":"x"}}"#
      messages[10] = #"{"nonsense":1}"#
      let reply = try await server.send("[" + messages.joined(separator: ",") + "]")
      #expect(reply.status == 201)
      guard case .array(let results) = try reply.json else { throw CancellationError() }
      #expect(results.count == 200)
      for (index, result) in results.enumerated() {
        switch index {
        case 7, 9: #expect(result.integer("status") == 404)
        case 8: #expect(result.string("error") == "to names nobody: give originalId or deviceToken.")
        case 10: #expect(result.integer("status") == 400)
        default: #expect(result.string("state") == "accepted", "\(index): \(result)")
        }
      }
      #expect(server.bench.simulator.apns.count == 196)
      #expect(Set(server.bench.simulator.apns.requests.map(\.token)).count == 196)
    }
  }

  @Test func `A list of no messages, of too many, or that breaks off is refused whole`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let message = server.message(to: 1)
      for (list, error) in [
        ("[]", "The list holds 0 messages, and 1 to 1000 are allowed."),
        ("[\(Array(repeating: message, count: 1001).joined(separator: ","))]", "The list holds 1001 messages"),
        ("[\(message),\(message)", "not well-formed JSON"), ("[\(message),,\(message)]", "not well-formed JSON"),
        ("[\(message)]]", "not well-formed JSON"),
      ] {
        let reply = try await server.send(list)
        #expect(reply.status == 400 && reply.error?.contains(error) == true, "\(reply.text.prefix(200))")
      }
      #expect(try await server.bench.database.query("SELECT FROM message").isEmpty)
    }
  }

  @Test func `The same Idempotency-Key, many times at once, makes one message`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(20)
      try await withThrowingTaskGroup(of: (Int, String?).self) { group in
        for number in 1...20 {
          for _ in 1...10 {
            group.addTask {
              let reply = try await server.send(
                server.message(to: number), headers: [("Idempotency-Key", "k\(number)")])
              #expect(reply.status == 201)
              return (number, try reply.json.string("messageId"))
            }
          }
        }
        var ids: [Int: Set<String?>] = [:]
        for try await (number, id) in group { ids[number, default: []].insert(id) }
        #expect(ids.count == 20 && ids.values.allSatisfy { $0.count == 1 })
      }
      #expect(try await server.bench.database.query("SELECT count(*) FROM message")[0].decode(Int.self) == 20)
      #expect(try await server.bench.database.query("SELECT count(*) FROM push")[0].decode(Int.self) == 20)
      let other = try await server.send(server.message(to: 5), headers: [("Idempotency-Key", "k4")])
      #expect(other.status == 422 || other.status == 409)
    }
  }

  @Test(arguments: [false, true])
  func `What the push service cannot take now waits in the ledger, and a hub sends it later`(isCached: Bool)
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(1)
      if isCached { _ = try await server.send(server.message(to: 1, #","wait":30,"properties":{"x":1}"#)) }
      server.bench.simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"), times: 1)
      let reply = try await server.send(server.message(to: 1, #","properties":{"x":1}"#))
      let id = try #require(try reply.json.string("messageId"))
      try await waitUntil { try await server.show(id).string("state") == "waiting" }
      let stream = try #require(MessageID(id)?.sendout)
      try await server.bench.withHubs {
        try await waitUntil {
          try await server.bench.makeDue(SendoutKey(server.bench.customer, stream))
          return try await server.show(id).string("state") == "accepted"
        }
      }
      #expect(server.bench.simulator.apns.count == (isCached ? 3 : 2))
    }
  }

  @Test func `A hub that dies between commit and reply leaves its messages to others, and the ledger says why`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(2)
      // The first request of a connection goes alone.
      _ = try await server.send(server.message(to: 2, #","wait":30"#))
      server.bench.simulator.apns.rule(.any, .ignore, times: 1)
      let id = try #require(try await server.send(server.message(to: 1)).json.string("messageId"))
      _ = await server.bench.simulator.apns.received(count: 2)
      // As if the hub were gone: nobody extends the lease.
      try await server.bench.database.query(
        "UPDATE push_batch SET hub_id = gen_random_uuid(), lease_until = now() WHERE state = 'claimed'")
      try await server.bench.withHubs {
        try await waitUntil { try await server.show(id).string("state") == "accepted" }
      }
      let pushes = try await server.bench.pushes(
        SendoutKey(server.bench.customer, try #require(MessageID(id)?.sendout)))
      #expect(pushes.map(\.resentBecause) == [nil, "hub_stopped"] && pushes.map(\.attempts) == [1, 2])
      server.bench.simulator.apns.answerIgnored()
    }
  }

  @Test func `A message that has expired is not sent, and its page shows its own texts`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let late = try await server.send(server.message(to: 1, #","deliverAt":"\#(due)""#, says: #","ttl":60"#)).json
      let id = try #require(late.string("messageId"))
      try await server.bench.database.query("UPDATE message SET expires_at = now() - interval '1 s'")
      try await server.bench.database.query("UPDATE push_batch SET not_before = now()")
      try await server.bench.withHubs {
        try await waitUntil { try await server.show(id).string("state") == "failed" }
      }
      let push = try #require(try await server.show(id).array("pushes")?.first)
      #expect(push.string("state") == "failed" && push.string("reason") == "expired")
      #expect(server.bench.simulator.apns.count == 0)

      _ = try await Templates(server.bench.pool).put(
        server.bench.customer, name: "parcel", format: .html, body: "<p>{{sendout.alert}} {{parcel}}</p>")
      _ = try await server.send(
        server.message(to: 1, #","wait":30,"template":"parcel","properties":{"parcel":"A&B"}"#))
      let payload = try JSONValue(
        parsing: try #require(server.bench.simulator.apns.requests.first).payload)
      let url = try #require(payload.string("url").flatMap { URL(string: $0) })
      let page = try await server.server.send("GET", url.path)
      #expect(page.status == 200 && page.text == "<p>Hi N1 A&amp;B</p>")
    }
  }

  @Test func `A time to live of 0 lets a push leave once, for a phone that is there`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(2)
      let sent = try await server.send(server.message(to: 1, #","wait":30"#, says: #","ttl":0"#)).json
      #expect(sent.string("state") == "accepted")
      #expect(server.bench.simulator.apns.requests.first?.header("apns-expiration") == "0")

      server.bench.simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"))
      let late = try await server.send(server.message(to: 2, says: #","ttl":0"#)).json
      let id = try #require(late.string("messageId"))
      try await server.bench.withHubs {
        try await waitUntil {
          try await server.bench.database.query("UPDATE push_batch SET not_before = now() WHERE state = 'queued'")
          try await server.bench.database.query("UPDATE push SET not_before = now() WHERE state = 'waiting'")
          return try await server.show(id).string("state") == "failed"
        }
      }
      let push = try #require(try await server.show(id).array("pushes")?.first)
      #expect(push.string("reason") == "ServiceUnavailable" && server.bench.simulator.apns.count == 2)
    }
  }

  @Test func `A message that is too large for a recipient is cut down, and its push says what is missing`() async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let long = String(repeating: "👨‍👩‍👧 é\\\"", count: 300)
      let says = #","info":"{{long}}","fields":{"note":"{{long}}","keep":"7"},"optionalFields":["note"]"#
      let reply = try await server.send(
        server.message(to: 1, #","wait":30,"properties":{"long":"\#(long)"}"#, says: says)
      ).json
      let push = try #require(reply.array("pushes")?.first)
      #expect(push.string("state") == "accepted")
      #expect(push.string("reason") == "info dropped, optional fields dropped")
      let payload = try JSONValue(parsing: try #require(server.bench.simulator.apns.requests.first).payload)
      #expect(payload.string("alert") == "Hi N1" && payload.string("keep") == "7")
      #expect(payload["info"] == nil && payload["note"] == nil && payload["pushreadurl"] != nil)
      let id = try #require(reply.string("messageId"))
      #expect(try await server.show(id).array("pushes")?.first?.string("reason") == push.string("reason"))
    }
  }

  @Test func `A preview shows the request that is then sent, without what signs in, and stores nothing`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let says = #","ttl":0,"fields":{"note":"\#(String(repeating: "n", count: 5000))"},"optionalFields":["note"]"#
      let message = server.message(to: 1, says: says)
      let preview = try await server.server.send("POST", "/api/v1/messages/preview", key: server.key, json: message)
      #expect(preview.status == 403)
      let key = try await AccessKeys(server.bench.pool).make(server.bench.customer, name: "back end", scope: .backend)
        .token
      let json = try await server.server.send("POST", "/api/v1/messages/preview", key: key, json: message).json
      let request = try #require(json.array("requests")?.first)
      #expect(json.array("requests")?.count == 1 && request.string("service") == "APNs")
      #expect(request.string("dropped") == "optional fields dropped" && request.integer("limit") == 4096)
      #expect(server.bench.simulator.apns.count == 0)
      #expect(try await server.bench.database.query("SELECT 1 FROM message").isEmpty)

      _ = try await server.send(server.message(to: 1, #","wait":30"#, says: says))
      let sent = try #require(server.bench.simulator.apns.requests.first)
      #expect(request["headers"]?.string("authorization") == "bearer …")
      for name in ["apns-topic", "apns-push-type", "apns-priority", "apns-expiration", "content-type"] {
        #expect(request["headers"]?.string(name) == sent.header(name), "\(name)")
      }
      #expect(request.string("url")?.hasSuffix("/3/device/\(sent.token)") == true)
      var shown = try #require(request["body"])
      var received = try JSONValue(parsing: sent.payload)
      #expect(shown.string("pushreadurl") != received.string("pushreadurl"))
      (shown, received) = (shown.merging(["pushreadurl": nil]), received.merging(["pushreadurl": nil]))
      #expect(shown == received && shown.string("alert") == "Hi N1")
      #expect(request.integer("bytes").map { abs($0 - Int64(sent.payload.count)) < 20 } == true)
    }
  }

  @Test func `A message's body is previewed as it is, and then sent`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let key = try await AccessKeys(server.bench.pool).make(server.bench.customer, name: "back end", scope: .backend)
        .token
      let message = server.message(
        to: 1, #","appType":1,"properties":{},"deliverAt":"2026-11-20T09:00:00Z","reference":"parcel-42","wait":30"#)
      let preview = try await server.server.send("POST", "/api/v1/messages/preview", key: key, json: message)
      #expect(preview.status == 200, "\(preview.text)")
      #expect(try preview.json.array("requests")?.first?["body"]?.string("alert") == "Hi N1")
      #expect(try await server.bench.database.query("SELECT 1 FROM message").isEmpty)
      #expect(try await server.send(message).json.string("state") == "accepted")
      let wrong = try await server.server.send(
        "POST", "/api/v1/messages/preview", key: key, json: server.message(to: 1, #","wait":31"#))
      #expect(wrong.status == 400 && wrong.error?.hasPrefix("wait must be") == true, "\(wrong.text)")
    }
  }

  @Test func `A preview to nobody has the properties alone, for every app, and says what cannot be sent`() async throws
  {
    try await withServer { server in
      let key = try await AccessKeys(server.bench.pool).make(server.bench.customer, name: "back end", scope: .backend)
        .token
      func preview(_ json: String) async throws -> TestReply {
        try await server.server.send("POST", "/api/v1/messages/preview", key: key, json: json)
      }
      let own = try await preview(#"{"message":{"alert":"Hi {{firstName}} {{order}}"},"properties":{"order":"A-17"}}"#)
      let requests = try #require(try own.json.array("requests"))
      #expect(requests.first?["body"]?.string("alert") == "Hi  A-17" && requests.first?["problem"] == nil)
      let large = String(repeating: "n", count: 5000)
      let refused = try await preview(#"{"message":{"alert":"x","fields":{"note":"\#(large)"}}}"#).json
      #expect(
        refused.array("requests")?.first?.string("problem") == "The push is refused: PayloadTooLarge.")
      let override = try await preview(#"{"message":{"alert":"x","overrides":{"fcm":{"token":"t"}}}}"#)
      #expect(override.status == 400 && override.error?.hasPrefix("message.overrides.fcm.token ") == true)
      let unknown = try await preview(#"{"message":{"alert":"x","overrides":{"adm":{}}}}"#)
      #expect(unknown.status == 400 && unknown.error?.contains("adm") == true)
      #expect(try await preview(#"{"to":{"originalId":"nobody"},"message":{"alert":"x"}}"#).status == 404)
      #expect(
        try await preview(#"{"to":{"deviceToken":"abab"},"message":{"alert":"x"},"appId":"com.acme.app"}"#).status
          == 404)
      #expect(try await preview(#"{"appId":"com.nothing","message":{"alert":"x"}}"#).status == 404)
    }
  }

  @Test func `A preview to nobody shows requests to an allowed host, where devices have addresses of their own`()
    async throws
  {
    try await withServer { server in
      let bench = server.bench
      let apps = PushApps(bench.pool, vault: bench.vault)
      let windows = PushServiceFields([.clientSecret: Secret("s"), .packageSID: Secret("ms-app://s-1-15-2-7")])
      for (id, type, service, url) in [
        ("shop.windows", AppType.windows, windows, "\(bench.simulator.wnsURL)/?token=example"),
        ("shop.web", .web, PushServiceFields(), "\(bench.simulator.webPushURL)/wpush/v2/example"),
      ] {
        _ = try await apps.add(bench.customer, NewPushApp(appID: id, type: type, name: "Acme", service: service))
        let key = try await AccessKeys(bench.pool).make(bench.customer, name: "back end", scope: .backend).token
        let preview = try await server.server.send(
          "POST", "/api/v1/messages/preview", key: key, json: #"{"appId":"\#(id)","message":{"alert":"Hi"}}"#)
        let request = try preview.json.array("requests")?.first
        #expect(request?.string("url") == url && request?["problem"] == nil, "\(preview.text)")
      }
    }
  }

  @Test func `A link of its own beside a template is refused, and alone it is the message's url`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      _ = try await Templates(server.bench.pool).put(
        server.bench.customer, name: "parcel", format: .html, body: "<p>x</p>")
      let link = #","url":"https://shop.example.com/{{firstName}}""#
      let both = try await server.send(server.message(to: 1, #","template":"parcel""#, says: link))
      #expect(both.status == 400 && both.error?.hasPrefix("message.url ") == true)
      _ = try await server.send(server.message(to: 1, #","wait":30"#, says: link))
      let payload = try JSONValue(parsing: try #require(server.bench.simulator.apns.requests.first).payload)
      #expect(payload.string("url") == "https://shop.example.com/N1")
    }
  }

  @Test func `Without trackOpens no pushreadurl goes out`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      _ = try await server.send(server.message(to: 1, #","wait":30"#, says: #","trackOpens":false"#))
      let payload = try JSONValue(parsing: try #require(server.bench.simulator.apns.requests.first).payload)
      #expect(payload["pushreadurl"] == nil && payload.string("alert") == "Hi N1")
    }
  }

  @Test func `Priority, time to live and collapse key travel in the push service's own headers`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      _ = try await server.send(
        server.message(to: 1, #","wait":30"#, says: #","ttl":3600,"priority":"normal","collapseKey":"parcel""#))
      let request = try #require(server.bench.simulator.apns.requests.first)
      #expect(request.header("apns-priority") == "5" && request.header("apns-collapse-id") == "parcel")
      let expiration = try #require(request.header("apns-expiration").flatMap { Int($0) })
      #expect(abs(expiration - Int(Date().timeIntervalSince1970) - 3600) < 600)
    }
  }

  @Test func `A message that is due later is sent then and not before, though the hub that took it is gone`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let reply = try await server.send(server.message(to: 1, #","deliverAt":"\#(due)","wait":30"#))
      #expect(reply.status == 201)
      let json = try reply.json
      #expect(json.string("state") == "queued" && json.string("deliverAt") == due.description)
      let id = try #require(json.string("messageId"))
      #expect(try await server.show(id) == json)
      // The hub that took it holds nothing of it: it might as well be gone.
      let batch = try await server.bench.database.query("SELECT state, hub_id, not_before FROM push_batch")[0]
      let (state, hub, notBefore) = try batch.decode(String.self, UUID?.self, Date.self)
      #expect(state == "queued" && hub == nil && Timestamp(notBefore).description == due.description)

      let near = try await server.bench.database.query(
        "UPDATE push_batch SET not_before = clock_timestamp() + interval '1 second' RETURNING not_before")[0].decode(
          Date.self)
      let received = try await server.bench.withHubs {
        let received = await server.bench.simulator.apns.received(count: 1)
        try await waitUntil { try await server.show(id).string("state") == "accepted" }
        return received
      }
      #expect(received[0].at >= near)
      #expect(try await server.show(id).string("deliverAt") == due.description)
      #expect(server.bench.simulator.apns.count == 1)
    }
  }

  @Test func `A message that is due in an hour waits while others go, and its time to live counts from then`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(2)
      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let id = try #require(
        try await server.send(server.message(to: 1, #","deliverAt":"\#(due)""#, says: #","ttl":60"#)).json.string(
          "messageId"))
      let soon = Timestamp(Date(timeIntervalSinceNow: 1))
      _ = try await server.send(server.message(to: 2, #","deliverAt":"\#(soon)""#))
      try await server.bench.withHubs {
        let received = await server.bench.simulator.apns.received(count: 1)
        #expect(received.map(\.token) == [server.bench.token(2)])
        #expect(try await server.show(id).string("state") == "queued")
        try await server.bench.database.query("UPDATE push_batch SET not_before = now() WHERE not_before > now()")
        let late = try #require(await server.bench.simulator.apns.received(count: 2).last)
        let expiration = try #require(late.header("apns-expiration").flatMap { Int($0) })
        #expect(expiration == Int(due.date.timeIntervalSince1970) + 60)
      }
    }
  }

  @Test func `A deliverAt that is past is now, and one that is nonsense or too far away is a 400`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let past = try await server.send(server.message(to: 1, #","deliverAt":"2016-02-09T10:00:00Z","wait":30"#)).json
      #expect(past.string("state") == "accepted" && past["deliverAt"] == nil)
      let far = Timestamp(Date(timeIntervalSinceNow: 60 * 86_400 + 60))
      let near = Timestamp(Date(timeIntervalSinceNow: 60 * 86_400 - 60))
      for bad in [#""tomorrow""#, #""2026-13-01T00:00:00Z""#, #""infinity""#, #""""#, "0", "[]", #""\#(far)""#] {
        let reply = try await server.send(server.message(to: 1, #","deliverAt":\#(bad)"#))
        #expect(reply.status == 400 && reply.error?.hasPrefix("deliverAt ") == true, "\(bad): \(reply.text)")
      }
      #expect(try await server.send(server.message(to: 1, #","deliverAt":"\#(near)""#)).status == 201)
    }
  }

  @Test func `Messages that are due later stop with their stream, and go on with it`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let due = Timestamp(Date(timeIntervalSinceNow: 3600))
      let id = try #require(
        try await server.send(server.message(to: 1, #","deliverAt":"\#(due)""#)).json.string("messageId"))
      let stream = try #require(MessageID(id)?.sendout)
      _ = try await server.bench.sendouts.pause(server.bench.customer, stream)
      _ = try await server.bench.sendouts.resume(server.bench.customer, stream)
      let batch = try await server.bench.database.query("SELECT state, not_before FROM push_batch")[0]
      let (state, notBefore) = try batch.decode(String.self, Date.self)
      #expect(state == "queued" && Timestamp(notBefore).description == due.description)
      _ = try await server.bench.sendouts.cancel(server.bench.customer, stream)
      #expect(try await server.show(id).array("pushes")?.first?.string("state") == "cancelled")
    }
  }

  @Test func `A key of scope device cannot send, and a bound key sends to its app alone`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let keys = AccessKeys(server.bench.pool)
      let device = try await keys.make(server.bench.customer, name: "app", scope: .device).token
      #expect(
        try await server.server.send("POST", "/api/v1/messages", key: device, json: server.message(to: 1)).status == 403
      )
      _ = try await PushApps(server.bench.pool, vault: server.bench.vault).add(
        server.bench.customer, NewPushApp(appID: "com.acme.other", type: .ios, name: "Other"))
      let bound = try await keys.make(
        server.bench.customer, name: "other", scope: .send, appID: "com.acme.other"
      ).token
      #expect(
        try await server.server.send("POST", "/api/v1/messages", key: bound, json: server.message(to: 1)).status == 404)
    }
  }
}
