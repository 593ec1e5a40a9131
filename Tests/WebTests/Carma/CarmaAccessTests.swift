import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Web

@Suite struct CarmaAccessTests {
  @Test func `A key of scope device registers and invalidates, and never reads`() async throws {
    try await withCarmaServer { carma in
      let key = carma.acme.device
      #expect(try await carma.put("a", token: "t", key: key).status == 200)
      let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
      #expect(try await carma.invalidate(json, key: key).status == 200)
      let read = try await carma.get("a", key: key)
      #expect(read.status == 403)
      #expect(read.error == "This needs an access key of scope backend.")
    }
  }

  @Test func `A key of scope device registers nothing under a telephone number`() async throws {
    try await withCarmaServer { carma in
      // First through the router, then from the caches.
      for _ in 0..<2 {
        let taken = try await carma.put("0031612345678", token: "t", key: carma.acme.device)
        #expect(taken.status == 400 && taken.error?.contains("originalId is a telephone number") == true)
        #expect(try await carma.put("31612345678", token: "u", key: carma.acme.device).status == 200)
      }
      #expect(try await carma.get("0031612345678").status == 404)
      #expect(try await carma.put("0031612345678", token: "t").status == 200)
    }
  }

  @Test func `Replies to a key of scope device echo only what it sent`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put(
        """
        {"originalId":"a","firstName":"Secret","properties":{"secret":"x"},"listId":\(carma.acme.list),
         "deviceInfo":[{"devicetoken":"secret-token","model":"secret"},{"devicetoken":"t","model":"secret"}]}
        """)
      let sent =
        #"{"originalId":"a","city":"Lund","properties":{"food":null},"deviceInfo":[{"devicetoken":"t","osVersion":"9"}]}"#
      for reply in [
        try await carma.put(sent, key: carma.acme.device), try await carma.invalidate(sent, key: carma.acme.device),
      ] {
        #expect(reply.status == 200)
        #expect(!reply.text.lowercased().contains("secret"), "\(reply.text)")
        #expect(try reply.json["firstName"] == JSONValue.null)
        #expect(try reply.json.string("city") == "Lund")
        #expect(try reply.json["properties"] == ["food": nil])
        let devices = try #require(try reply.json.array("deviceInfo"))
        #expect(devices.count == 1)
        #expect(devices[0].string("osVersion") == "9")
        #expect(devices[0]["model"] == JSONValue.null)
        #expect(devices[0]["appType"] == JSONValue.null)
      }
    }
  }

  @Test func `A key of scope device does not learn who has a token`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("owner", token: "t")
      let json = #"{"originalId":"stranger","deviceInfo":[{"devicetoken":"t"}]}"#
      let known = try await carma.invalidate(json, key: carma.acme.device)
      let unknown = try await carma.invalidate(json.replacing(#""t""#, with: #""u""#), key: carma.acme.device)
      #expect(known.status == 200 && unknown.status == 200)
      #expect(known.text.replacing(#""t""#, with: #""u""#) == unknown.text)
      // Not by what happens to the owner's device, either.
      #expect(try await carma.get("owner").json.array("deviceInfo")?.first?["invalidationType"] == 0)
    }
  }

  @Test func `Keys of scope backend and admin may do everything`() async throws {
    try await withCarmaServer { carma in
      for (index, key) in [carma.acme.backend, carma.acme.admin].enumerated() {
        let json = #"{"originalId":"a\#(index)","deviceInfo":[{"devicetoken":"t\#(index)"}]}"#
        let replies = [
          try await carma.put(json, key: key), try await carma.get("a\(index)", key: key),
          try await carma.invalidate(json, key: key),
        ]
        #expect(replies.map(\.status) == [200, 200, 200])
      }
    }
  }

  @Test func `A missing, wrong, revoked or malformed key is a 401 on every route`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      let keys = AccessKeys(carma.database.pool)
      let revoked = try await keys.make(carma.acme.id, name: "gone", scope: .admin)
      _ = try await keys.revoke(carma.acme.id, revoked.key.keyId)
      let altered = String(carma.acme.admin.dropLast()) + (carma.acme.admin.hasSuffix("A") ? "B" : "A")
      let wrong = [
        nil, "", "x", altered, revoked.token, "pck_\(carma.acme.id)_", carma.acme.admin + "x",
        "Bearer \(carma.acme.admin)",
        String(repeating: "k", count: 5000), "pck_\(Int64.max)_" + String(repeating: "A", count: 43),
      ]
      for (method, path, json) in routes(carma, customer: carma.acme.id) {
        for key in wrong {
          let headers = key.map { [("X-Carma-Authentication-Token", $0)] } ?? []
          let reply = try await carma.server.send(method, path, headers: headers, json: json)
          #expect(reply.status == 401)
          #expect(reply.error?.hasPrefix("The access key is missing or invalid for this customer.") == true)
          #expect(reply.error?.contains("X-Carma-Authentication-Token") == true)
          #expect(reply.header("WWW-Authenticate") != nil)
        }
      }
    }
  }

  @Test func `A bearer's key opens every route as well as Carma's header, which comes first`() async throws {
    try await withCarmaServer { carma in
      _ = try await carma.put("a", token: "t")
      let bearer = ("Authorization", "Bearer \(carma.acme.admin)")
      for (method, path, json) in routes(carma, customer: carma.acme.id) {
        // The second time the key is cached.
        for _ in 1...2 {
          let reply = try await carma.server.send(method, path, headers: [bearer], json: json)
          #expect(reply.status == 200, "\(method) \(path): \(reply.text)")
        }
        let both = [bearer, ("X-Carma-Authentication-Token", "x")]
        #expect(try await carma.server.send(method, path, headers: both, json: json).status == 401)
        let foreign = [("Authorization", "Bearer \(carma.other.admin)")]
        #expect(try await carma.server.send(method, path, headers: foreign, json: json).status == 401)
      }
    }
  }

  @Test func `A foreign and an unknown customer look the same`() async throws {
    try await withCarmaServer { carma in
      let own = try await carma.send("GET", "/rest/\(carma.other.id)/apps/com.acme.app/pushdevices/a")
      #expect(own.status == 401)
      for customer in ["999999", "0", "-1", "x", "9223372036854775807", "9223372036854775808", "%31", "+1", "01x"] {
        let unknown = try await carma.send("GET", "/rest/\(customer)/apps/com.acme.app/pushdevices/a")
        #expect(unknown.status == 401, "\(customer)")
        #expect(unknown.text == own.text)
      }
    }
  }

  @Test func `Another customer's ids look unknown`() async throws {
    try await withCarmaServer { carma in
      try await carma.database.query(
        "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES ($1, 'com.other.only', 1, 'Other')",
        carma.other.id.rawValue)
      _ = try await carma.send(
        "PUT", carma.path("pushdevices", customer: carma.other.id), key: carma.other.backend,
        json: #"{"originalId":"theirs","firstName":"Their","deviceInfo":[{"devicetoken":"their-token"}]}"#)
      let before = try await carma.rows()
      // The key is ours, the customer is not.
      for (method, path, json) in routes(carma, customer: carma.other.id) {
        for key in [carma.acme.device, carma.acme.backend, carma.acme.admin] {
          let reply = try await carma.send(method, path, key: key, json: json)
          #expect(reply.status == 401)
        }
      }
      // The customer is ours, the app is not.
      for (method, path, json) in routes(carma, customer: carma.acme.id, app: "com.other.only") {
        let reply = try await carma.send(method, path, json: json)
        #expect(reply.status == 404)
        #expect(reply.error == "appId names no push app of this customer.")
      }
      // The contact, the token and the list are not.
      #expect(try await carma.get("theirs").status == 404)
      let invalidate = #"{"originalId":"theirs","deviceInfo":[{"devicetoken":"their-token"}]}"#
      #expect(try await carma.invalidate(invalidate).status == 404)
      let list = #"{"originalId":"theirs","listId":\#(carma.other.list),"deviceInfo":[{"devicetoken":"their-token"}]}"#
      #expect(try await carma.put(list).error == "listId names no list of this customer.")
      #expect(try await carma.rows() == before)
    }
  }

  @Test func `The same ids under two customers are two contacts and two devices`() async throws {
    try await withCarmaServer { carma in
      for (customer, name) in [(carma.acme, "One"), (carma.other, "Two")] {
        let reply = try await carma.send(
          "PUT", carma.path("pushdevices", customer: customer.id), key: customer.backend,
          json: #"{"originalId":"a","firstName":"\#(name)","deviceInfo":[{"devicetoken":"t"}]}"#)
        #expect(reply.status == 200)
      }
      for (customer, name) in [(carma.acme, "One"), (carma.other, "Two")] {
        let reply = try await carma.send(
          "GET", carma.path("pushdevices/a", customer: customer.id), key: customer.backend)
        #expect(try reply.json.string("firstName") == name)
        #expect(try reply.json.array("deviceInfo")?.count == 1)
      }
    }
  }

  @Test func `The customer in the path is compared as a number`() async throws {
    try await withCarmaServer { carma in
      let reply = try await carma.send("PUT", "/rest/0\(carma.acme.id)/apps/com.acme.app/pushdevices", json: "{}")
      #expect(reply.status == 400 || reply.status == 401)
    }
  }

  /// One request for each route, each good for the right customer.
  private func routes(
    _ carma: CarmaServer, customer: CustomerID, app: String = "com.acme.app"
  ) -> [(method: String, path: String, json: String?)] {
    let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
    return ["pushdevices", "devices"].flatMap { name in
      [
        ("PUT", carma.path(name, app: app, customer: customer), json),
        ("PUT", carma.path("\(name)/invalidation", app: app, customer: customer), json),
        ("GET", carma.path("\(name)/a", app: app, customer: customer), nil),
      ]
    }
  }

  @Test func `A key that is used too often gets 429 as the API describes it, and other keys do not`() async throws {
    try await withCarmaServer(requestsPerKey: 1) { carma in
      for send in [{ try await carma.put("a", token: "t") }, { try await carma.get("a") }] {
        var replies: [TestReply] = []
        while replies.last?.status != 429 { replies.append(try await send()) }
        #expect(replies.dropLast().allSatisfy { $0.status == 200 })
        #expect(replies.last?.header("Retry-After") == "1")
        #expect(replies.last?.error == "There are too many requests. Try again later.")
      }
      #expect(try await carma.get("a", key: carma.acme.admin).status == 200)
      #expect(try await carma.get("a", key: "wrong").status == 401)
    }
  }

  @Test func `A request that the caches cannot answer is counted once`() async throws {
    try await withCarmaServer(requestsPerKey: 2) { carma in
      _ = try await carma.database.query("UPDATE push_app SET identity_required = true")
      for _ in 0..<2 {
        #expect(try await carma.put("a", token: "t", key: carma.acme.device).status == 403)
      }
    }
  }

  @Test func `Pages of any site can register and invalidate, and use nothing else`() async throws {
    try await withCarmaServer { carma in
      let origin = [("Origin", "https://shop.example.com")]
      let body = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
      let long = body.replacing("}]}", with: #"}],"city":"\#(String(repeating: "x", count: 20_000))"}"#)
      for path in ["pushdevices", "devices", "pushdevices/invalidation", "devices/invalidation"].map({ carma.path($0) })
      {
        let preflight = try await carma.server.send(
          "OPTIONS", path,
          headers: origin + [
            ("Access-Control-Request-Method", "PUT"),
            ("Access-Control-Request-Headers", "content-type,x-carma-authentication-token"),
          ])
        #expect(preflight.status == 204 && preflight.header("Access-Control-Allow-Origin") == "*")
        #expect(preflight.header("Access-Control-Allow-Methods") == "PUT")
        let names = preflight.header("Access-Control-Allow-Headers")?.lowercased() ?? ""
        #expect(names.contains("content-type") && names.contains("x-carma-authentication-token"))
        for (key, body, status) in [
          (carma.acme.device, body, 200), (carma.acme.backend, body, 200),
          (carma.acme.device, long, path.hasSuffix("invalidation") ? 200 : 400),
          ("wrong", body, 401),
        ] {
          let reply = try await carma.send("PUT", path, key: key, headers: origin, json: body)
          #expect(reply.status == status && reply.header("Access-Control-Allow-Origin") == "*", "\(reply.text)")
        }
        let app = try await carma.send("PUT", path, key: carma.acme.device, json: body)
        #expect(app.header("Access-Control-Allow-Origin") == nil)
      }
      for (method, path) in [
        ("GET", carma.path("pushdevices/a")), ("OPTIONS", carma.path("pushdevices/a")), ("OPTIONS", "/api/v1/keys"),
        ("GET", carma.path("pushdevices/invalidation")), ("OPTIONS", "/nowhere"),
      ] {
        let reply = try await carma.server.send(
          method, path, headers: origin + [("X-Carma-Authentication-Token", carma.acme.backend)])
        #expect(reply.header("Access-Control-Allow-Origin") == nil, "\(method) \(path)")
      }
    }
  }

  @Test func `A device key used up from one address is not used up from another`() {
    let limit = RateLimit<Authenticator.KeyUser>(1)
    for (key, scope, isShared) in [(1, AccessScope.device, false), (2, .backend, true)] {
      let access = Access(customer: CustomerID(1), key: AccessKeyID(Int64(key)), scope: scope)
      let other = Authenticator.KeyUser(access, from: IPAddress("192.0.2.2"))
      while limit.refusal(of: Authenticator.KeyUser(access, from: IPAddress("192.0.2.1"))) == nil {}
      #expect((limit.refusal(of: other) != nil) == isShared, "\(scope)")
    }
  }
}
