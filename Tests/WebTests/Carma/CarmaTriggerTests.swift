import Content
import Delivery
import Foundation
import Postgres
import Registry
import Simulator
import Support
import Testing
import Wire

/// Carma's triggers, from the request to the phone.
@Suite struct CarmaTriggerTests {
  /// A hub's server and sender over a bench, with keys and trigger 1, "Order shipped".
  private struct TriggerServer: Sendable {
    let bench: SendingBench
    let server: TestWebServer
    let contract: APIContract
    let key: String
    let admin: String

    func send(
      _ json: String, trigger: String = "1", key: String? = nil, headers: [(String, String)] = [],
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestReply {
      let path = "/rest/\(bench.customer)/triggers/\(trigger)/messages"
      return try await carma("POST", path, key: key, headers: headers, json: json, sourceLocation: sourceLocation)
    }

    func carma(
      _ method: String, _ path: String, key: String? = nil, headers: [(String, String)] = [], json: String? = nil,
      sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> TestReply {
      let reply = try await server.send(
        method, path, headers: [("X-Carma-Authentication-Token", key ?? self.key)] + headers, json: json)
      #expect(contract.problems(method, path, reply) == [], sourceLocation: sourceLocation)
      return reply
    }

    func manage(_ method: String, _ path: String, _ json: String? = nil) async throws -> TestReply {
      let reply = try await server.send(method, path, key: admin, json: json)
      #expect(contract.problems(method, path, reply) == [])
      return reply
    }

    func count(_ table: String) async throws -> Int {
      try await bench.database.query("SELECT count(*) FROM \(table)")[0].decode(Int.self)
    }

    func properties(of originalID: String) async throws -> JSONValue? {
      let contact = try await Contacts(bench.pool).find(bench.customer, originalID: originalID, apps: [])
      return try contact.map { try JSONValue(parsing: $0.properties.utf8) }
    }

    /// The alert that the phones got last.
    func alert() throws -> String? {
      let payload = try #require(bench.simulator.apns.requests.last).payload
      return try JSONValue(parsing: payload)["aps"]?.string("alert")
    }
  }

  private func withServer(_ body: @escaping @Sendable (TriggerServer) async throws -> Void) async throws {
    try await withSendingBench { bench in
      let keys = AccessKeys(bench.pool)
      let key = try await keys.make(bench.customer, name: "back end", scope: .send).token
      let admin = try await keys.make(bench.customer, name: "people", scope: .admin).token
      try await bench.withWholeServer { server in
        let contract = try await APIContract()
        let triggers = TriggerServer(bench: bench, server: server, contract: contract, key: key, admin: admin)
        let added = try await triggers.manage(
          "POST", "/api/v1/triggers",
          #"{"name":"Order shipped","appId":"com.acme.app","message":{"alert":"{{firstName}}: {{orderNo}}, {{food}}"}}"#
        )
        #expect(added.status == 201, "\(added.text)")
        try await body(triggers)
      }
    }
  }

  private static let good = #"{"originalId":"user1@example.com"}"#

  @Test func `The phone gets the trigger's text with the caller's properties, which come before the contact's own`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(2)
      try await server.bench.database.query(#"UPDATE contact SET properties = '{"food":"pizza","orderNo":"old"}'"#)
      _ = try await server.manage("PUT", "/api/v1/templates/order", #"{"body":"<p>{{sendout.alert}}</p>"}"#)
      _ = try await server.manage("PATCH", "/api/v1/triggers/1", #"{"template":"order"}"#)
      let reply = try await server.send(
        #"{"originalId":"user1@example.com","customerId":1,"properties":{"orderNo":"A&17"}}"#)
      #expect(reply.status == 200)
      #expect(try reply.json == ["message": "Message 1-1 is accepted."])
      let received = await server.bench.simulator.apns.received(count: 1)
      #expect(received.map(\.token) == [server.bench.token(1)])
      #expect(try server.alert() == "N1: A&17, pizza")
      #expect(try await server.properties(of: "user1@example.com")?.string("orderNo") == "old")

      let url = try #require(try JSONValue(parsing: received[0].payload).string("url").flatMap { URL(string: $0) })
      #expect(try await server.server.send("GET", url.path).text == "<p>N1: A&amp;17, pizza</p>")
      try await waitUntil { try await server.manage("GET", "/api/v1/messages/1-1").json.string("state") == "accepted" }
      let stream = try await server.bench.database.query("SELECT stream, name FROM sendout")[0].decode(
        String.self, String.self)
      #expect(stream.0.hasSuffix(" order/1 trigger/1") && stream.1.hasPrefix("Order shipped of "))
      let why = try await server.manage("GET", "/api/v1/sendouts/1/why?originalId=user1@example.com")
      #expect(why.text.contains("Accepted by the push service."))
    }
  }

  @Test func `A trigger's figures count its messages and their pushes by day, and those of no other`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(2)
      _ = try await server.manage("PUT", "/api/v1/templates/order", #"{"body":"<p>x</p>"}"#)
      _ = try await server.manage("PATCH", "/api/v1/triggers/1", #"{"template":"order"}"#)
      _ = try await server.manage(
        "POST", "/api/v1/triggers", #"{"name":"Second","appIds":["com.acme.app"],"message":{"alert":"x"}}"#)
      for trigger in ["1", "1", "2"] { #expect(try await server.send(Self.good, trigger: trigger).status == 200) }
      let received = await server.bench.simulator.apns.received(count: 3)
      try await waitUntil {
        try await server.manage("GET", "/api/v1/triggers/1/figures").json.array("days")?.last?.integer("accepted") == 2
      }
      let url = try #require(
        received.compactMap { try? JSONValue(parsing: $0.payload).string("url") }.first.flatMap { URL(string: $0) })
      _ = try await server.server.send("GET", url.path, headers: [("User-Agent", "Mozilla/5.0 (iPhone)")])
      let figures = try await server.manage("GET", "/api/v1/triggers/1/figures?days=2").json
      let days = try #require(figures.array("days"))
      #expect(figures.string("name") == "Order shipped" && days.count == 2)
      let today = days[1]
      #expect(today.integer("messages") == 2 && today.integer("pushes") == 2 && today.integer("accepted") == 2)
      #expect(today.integer("failed") == 0 && today.integer("opened") == 1)
      #expect(days[0].integer("messages") == 0 && days[0].integer("pushes") == 0)
      let second = try await server.manage("GET", "/api/v1/triggers/2/figures").json.array("days")
      #expect(second?.count == 30 && second?.last?.integer("messages") == 1 && second?.last?.integer("opened") == 0)

      // Retention deletes messages and keeps counts.
      try await server.bench.database.query("UPDATE sendout SET expired_at = now()")
      let expired = try await server.manage("GET", "/api/v1/triggers/1/figures?days=1").json.array("days")
      #expect(expired?.first?["messages"] == nil && expired?.first?.integer("pushes") == 2)
      #expect(try await server.manage("GET", "/api/v1/triggers/3/figures").status == 404)
    }
  }

  @Test func `Each message of a trigger is in its own stream, apart from other messages`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      _ = try await server.manage(
        "POST", "/api/v1/triggers", #"{"name":"Second","appIds":["com.acme.app"],"message":{"alert":"x"}}"#)
      for trigger in ["1", "2", "1"] { #expect(try await server.send(Self.good, trigger: trigger).status == 200) }
      let plain = #"{"appId":"com.acme.app","to":{"originalId":"user1@example.com"},"message":{"alert":"x"}}"#
      #expect(try await server.manage("POST", "/api/v1/messages", plain).status == 201)
      #expect(try await server.count("sendout") == 3)
      _ = await server.bench.simulator.apns.received(count: 4)
    }
  }

  @Test func `Keys of scope send and above open the routes, and a bound key those of its own app`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let (keys, customer) = (AccessKeys(server.bench.pool), server.bench.customer)
      let paths = [("GET", "/rest/1/triggers"), ("GET", "/rest/1/triggers/1"), ("POST", "/rest/1/triggers/1/messages")]
      for scope in AccessScope.allCases {
        let app = scope == .datasync ? "com.acme.app" : nil
        let key = try await keys.make(customer, name: "k", scope: scope, appID: app).token
        for (method, path) in paths {
          let reply = try await server.carma(method, path, key: key, json: method == "POST" ? Self.good : nil)
          let isRefused = [.device, .gateway, .datasync].contains(scope)
          #expect(reply.status == (isRefused ? 403 : 200), "\(scope) \(path): \(reply.text)")
        }
      }
      let other = try await Customers(server.bench.pool).add(name: "Other").id
      let foreign = try await keys.make(other, name: "k", scope: .admin).token
      for (method, path) in paths {
        #expect(try await server.carma(method, path, key: foreign, json: Self.good).status == 401)
        #expect(try await server.carma(method, path, key: "nonsense", json: Self.good).status == 401)
      }
      _ = try await PushApps(server.bench.pool, vault: server.bench.vault).add(
        customer, NewPushApp(appID: "com.acme.other", type: .ios, name: "Other"))
      let elsewhere = try await keys.make(customer, name: "k", scope: .send, appID: "com.acme.other").token
      #expect(try await server.carma("GET", "/rest/1/triggers", key: elsewhere).json == [])
      #expect(try await server.carma("GET", "/rest/1/triggers/1", key: elsewhere).status == 403)
      #expect(try await server.send(Self.good, key: elsewhere).status == 403)
      let own = try await keys.make(customer, name: "k", scope: .send, appID: "com.acme.app").token
      #expect(try await server.send(Self.good, key: own).status == 200)
    }
  }

  @Test func `What is wrong is refused with its field's name, and leaves nothing behind`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let late = Int64(Date(timeIntervalSinceNow: 61 * 86_400).timeIntervalSince1970 * 1000)
      let refusals: [(more: String, status: Int, begins: String)] = [
        (#""originalId":"nobody""#, 404, "There is no such contact"),
        (#""customerId":1"#, 400, "originalId is missing"),
        (#""originalId":"""#, 400, "originalId is empty"), (#""originalId":[]"#, 400, "originalId must be"),
        (#""originalId":"\#(String(repeating: "x", count: 256))""#, 400, "originalId is longer"),
        (#""originalId":"user1@example.com","customerId":2"#, 400, "customerId differs"),
        (#""originalId":"user1@example.com","customerId":"two""#, 400, "customerId must be"),
        (#""originalId":"user1@example.com","properties":{"a":{"b":1}}"#, 400, "properties.a must be"),
        (#""originalId":"user1@example.com","properties":[]"#, 400, "properties must be"),
        (#""originalId":"user1@example.com","deliveryTime":"tomorrow""#, 400, "deliveryTime must be a date"),
        (#""originalId":"user1@example.com","deliveryTime":"2016-02-30T11:00:00+0100""#, 400, "deliveryTime must be"),
        (#""originalId":"user1@example.com","deliveryTime":{}"#, 400, "deliveryTime must be"),
        (#""originalId":"user1@example.com","deliveryTime":\#(late)"#, 400, "deliveryTime is more than 60 days ahead"),
        (#""originalId":"user1@example.com","saveProps":"maybe""#, 400, "saveProps must be"),
        (#""originalId":"user1@example.com","optOut":true"#, 400, "optOut is true"),
      ]
      for (more, status, begins) in refusals {
        let reply = try await server.send("{\(more)}")
        #expect(reply.status == status && reply.error?.hasPrefix(begins) == true, "\(more.prefix(90)): \(reply.text)")
      }
      #expect(try await server.send("[]").status == 400)
      #expect(try await server.send(Self.good, trigger: "2").status == 404)
      #expect(try await server.send(Self.good, trigger: "one").error?.hasPrefix("triggerId") == true)
      #expect(try await server.carma("POST", "/rest/1/triggers/1/messages").status == 415)
      _ = try await server.manage("PATCH", "/api/v1/triggers/1", #"{"active":false}"#)
      let inactive = try await server.send(Self.good)
      #expect(inactive.status == 409 && inactive.error?.hasPrefix("The trigger is inactive") == true)
      _ = try await server.manage("POST", "/api/v1/apps", #"{"name":"Bare","appId":"com.acme.bare","appType":1}"#)
      _ = try await server.manage(
        "POST", "/api/v1/triggers", #"{"name":"Second","appId":"com.acme.bare","message":{"alert":"x"}}"#)
      #expect(try await server.send(Self.good, trigger: "2").error?.contains("has no signingKey") == true)
      #expect(try await server.count("message") == 0)
    }
  }

  @Test func `Numbers and flags come as strings, texts as numbers, and further fields of Carma are ignored`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(1)
      try await server.bench.database.query("UPDATE contact SET original_id = '4711'")
      for body in [
        #"{"originalid":4711,"customerId":"1","saveProps":"FALSE","optOut":0,"deliveryTime":"2016-02-09T11:00:00+0100"}"#,
        #"{"originalId":"4711","customerId":0,"campaignId":99,"forceCreateMissingProperties":true,"deliveryTime":"","x":[1]}"#,
        #"{"originalId":"4711","customerId":null,"properties":null,"deliveryTime":null,"saveProps":1,"optOut":""}"#,
      ] {
        let reply = try await server.send(body)
        #expect(reply.status == 200, "\(reply.text)")
      }
      _ = await server.bench.simulator.apns.received(count: 3)
      let later = try await server.bench.database.query("SELECT count(deliver_at) FROM message")[0].decode(Int.self)
      #expect(later == 0)
    }
  }

  @Test func `saveProps stores the properties with the contact as a registration does`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      try await server.bench.database.query(#"UPDATE contact SET properties = '{"food":"pizza","old":1}'"#)
      let reply = try await server.send(
        #"{"originalId":"user1@example.com","properties":{"orderNo":"A-17","price":1.50,"old":null},"saveProps":true}"#)
      #expect(reply.status == 200)
      let stored = try await server.bench.database.query("SELECT properties::text FROM contact")[0].decode(String.self)
      #expect(stored == #"{"food":"pizza","orderNo":"A-17","price":1.50}"#)
      _ = await server.bench.simulator.apns.received(count: 1)
      #expect(try server.alert() == "N1: A-17, pizza")

      let unknown = try await server.send(#"{"originalId":"nobody","properties":{"a":"b"},"saveProps":true}"#)
      #expect(unknown.status == 404)
      #expect(try await server.count("contact") == 1)
      try await server.bench.database.query(
        "UPDATE contact SET properties = jsonb_build_object('x', (SELECT string_agg(md5(n::text), '') FROM generate_series(1, 2040) n))"
      )
      let full = try await server.send(
        #"{"originalId":"user1@example.com","properties":{"y":"\#(String(repeating: "0aZ9", count: 1000))"},"saveProps":true}"#
      )
      #expect(full.status == 400 && full.error?.hasPrefix("properties would grow beyond") == true, "\(full.text)")
      #expect(try await server.count("message") == 1)
    }
  }

  @Test func `A repeated request makes no second message, and stores nothing again`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      _ = try await server.manage(
        "POST", "/api/v1/triggers", #"{"name":"Second","appId":"com.acme.app","message":{"alert":"x"}}"#)
      let header = [("Idempotency-Key", "order-17")]
      let body = #"{"originalId":"user1@example.com","properties":{"orderNo":"A-17"},"saveProps":true}"#
      let first = try await server.send(body, headers: header)
      #expect(first.status == 200 && first.header("Idempotent-Replayed") == nil)
      try await server.bench.database.query(#"UPDATE contact SET properties = '{"orderNo":"newer"}'"#)
      let second = try await server.send(body, headers: header)
      #expect(second.status == 200 && second.header("Idempotent-Replayed") == "true" && second.body == first.body)
      #expect(try await server.properties(of: "user1@example.com")?.string("orderNo") == "newer")
      #expect(try await server.send(body + " ", headers: header).status == 422)
      #expect(try await server.send(body, trigger: "2", headers: header).status == 422)
      #expect(try await server.send(body, headers: [("Idempotency-Key", "")]).status == 400)
      #expect(try await server.count("message") == 1)
      let later = #"{"originalId":"user1@example.com","deliveryTime":\#(Int64.inAnHour)}"#
      let replies = [
        try await server.send(later, headers: [("Idempotency-Key", "later")]),
        try await server.send(later, headers: [("Idempotency-Key", "later")]),
      ]
      #expect(replies[0].body == replies[1].body && replies[0].text.contains(" is accepted and due at "))
      _ = try await server.manage("PATCH", "/api/v1/triggers/1", #"{"active":false}"#)
      #expect(try await server.send(body, headers: header).body == first.body)
      #expect(try await server.send(Self.good).status == 409)
      #expect(try await server.count("message") == 2)
      _ = await server.bench.simulator.apns.received(count: 1)
    }
  }

  @Test func `deliveryTime is read in all of Carma's notations`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      // A whole hour, so that one notation can leave its fraction away.
      let hours = Int64.inAnHour / 3_600_000 + 24
      let moment = Date(timeIntervalSince1970: Double(hours) * 3600)
      let text = String(Timestamp(moment).description.prefix(19))
      let inSweden = String(Timestamp(moment.addingTimeInterval(3600)).description.prefix(19))
      let notations = [
        #""\#(inSweden)+0100""#, #""\#(inSweden)+01:00""#, #""\#(text)Z""#, #""\#(text).000Z""#, "\(hours * 3_600_000)",
        #""\#(hours * 3_600_000)""#,
      ]
      for notation in notations {
        let reply = try await server.send(#"{"originalId":"user1@example.com","deliveryTime":\#(notation)}"#)
        #expect(try reply.json.string("message")?.hasSuffix("is accepted and due at \(Timestamp(moment)).") == true)
      }
      let due = try await server.bench.database.query(
        "SELECT array_agg(DISTINCT deliver_at), count(*) FROM message")[0].decode([Date].self, Int.self)
      #expect(due.0 == [moment] && due.1 == notations.count)
      #expect(try await server.manage("GET", "/api/v1/messages/1-1").json.string("state") == "queued")
    }
  }

  @Test func `A message with deliveryTime is sent then by whichever hub, as its trigger was at the request`()
    async throws
  {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let due = Int64(Date(timeIntervalSinceNow: 2).timeIntervalSince1970 * 1000)
      let reply = try await server.send(
        #"{"originalId":"user1@example.com","properties":{"orderNo":"A-17"},"deliveryTime":\#(due)}"#)
      #expect(reply.status == 200)
      _ = try await server.manage("PATCH", "/api/v1/triggers/1", #"{"active":false,"message":{"alert":"other"}}"#)
      let received = try await server.bench.withHubs { await server.bench.simulator.apns.received(count: 1) }
      #expect(Int64(received[0].at.timeIntervalSince1970 * 1000) >= due)
      #expect(try server.alert() == "N1: A-17, ")
    }
  }

  @Test func `Triggers are shown in Carma's form`() async throws {
    try await withServer { server in
      _ = try await server.manage(
        "PATCH", "/api/v1/triggers/1", #"{"description":"Sent by the shop","active":false}"#)
      let shown = try await server.carma("GET", "/rest/1/triggers/1").json
      #expect(shown.integer("id") == 1 && shown.string("name") == "Order shipped")
      #expect(shown.string("description") == "Sent by the shop" && shown["active"] == false)
      #expect(shown.integer("channelTypeId") == 3 && shown.integer("activeCampaign") == 1)
      let version = try #require(shown.array("campaignVersions")?.first)
      #expect(version.integer("campaignTypeId") == 20 && version.integer("campaignId") == 1)
      #expect(try await server.carma("GET", "/rest/1/triggers").json == [shown])
      #expect(try await server.carma("GET", "/rest/1/triggers/2").status == 404)
      #expect(try await server.carma("GET", "/rest/1/triggers/x").status == 400)
    }
  }

  @Test func `Corrupted bodies get a 200 or a 4xx`() async throws {
    try await withServer { server in
      try await server.bench.addDevices(1)
      let good = Array(
        #"{"originalId":"user1@example.com","customerId":1,"properties":{"a":"b","c":1.5,"d":null},"deliveryTime":"2016-02-09T11:00:00+0100","optOut":false,"saveProps":true}"#
          .utf8)
      let raw = try RawHTTP(server.server.url)
      var random = SeededGenerator(seed: 12)
      for _ in 0..<300 {
        let body = random.tamper(good)
        let head = """
          POST /rest/1/triggers/1/messages HTTP/1.1\r\nHost: x\r\nX-Carma-Authentication-Token: \(server.key)\r
          Content-Type: application/json\r\nContent-Length: \(body.count)\r\nConnection: close\r\n\r\n
          """
        let status = try await raw.send(Array(head.utf8) + body)?.status ?? 0
        #expect(status == 200 || (400..<500).contains(status), "\(status): \(String(decoding: body, as: UTF8.self))")
      }
      #expect(try await server.send(Self.good).status == 200)
    }
  }
}

extension Int64 {
  /// Milliseconds since 1970.
  fileprivate static var inAnHour: Int64 { Int64(Date(timeIntervalSinceNow: 3600).timeIntervalSince1970 * 1000) }
}
