import Support
import Testing
import Wire

@Suite struct ManagementKeyTests {
  @Test func `A key is made, listed without its token, and revoked`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"app push user","scope":"backend"}"#)
      #expect(made.status == 201)
      let token = try #require(try made.json.string("token"))
      let id = try #require(try made.json.integer("keyId"))

      let list = try await managed.send("GET", "/api/v1/keys")
      #expect(list.status == 200)
      #expect(!list.text.contains(token))
      #expect(try list.json.array("items")?.map { $0.string("name") } == ["admin", "app push user"])

      let revoked = try await managed.send("DELETE", "/api/v1/keys/\(id)")
      #expect(revoked.status == 200)
      #expect(try revoked.json.string("revokedAt") != nil)
      #expect(try await managed.send("DELETE", "/api/v1/keys/\(id)").text == revoked.text)
    }
  }

  @Test func `A key that the hub has just let in opens nothing once it is revoked`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"gone","scope":"admin"}"#)
      let token = try #require(try made.json.string("token"))
      let carma = [("X-Carma-Authentication-Token", token)]
      let put = "/rest/\(managed.customer)/apps/com.acme.app/pushdevices"
      let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
      for _ in 0..<2 {
        #expect(try await managed.send("GET", "/api/v1/keys", key: token).status == 200)
        #expect(try await managed.send("PUT", put, headers: carma, json: json).status == 200)
      }
      let id = try #require(try made.json.integer("keyId"))
      #expect(try await managed.send("DELETE", "/api/v1/keys/\(id)").status == 200)
      #expect(try await managed.send("GET", "/api/v1/keys", key: token).status == 401)
      #expect(try await managed.send("PUT", put, headers: carma, json: json).status == 401)
    }
  }

  @Test func `Only a key of scope admin opens the management API`() async throws {
    try await withManagementServer { managed in
      for scope in ["device", "backend"] {
        let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"low","scope":"\#(scope)"}"#)
        let reply = try await managed.server.send("GET", "/api/v1/keys", key: try made.json.string("token"))
        #expect(reply.status == 403)
        #expect(reply.error == "This needs an access key of scope admin.")
      }
      #expect(try await managed.server.send("GET", "/api/v1/keys").status == 401)
      #expect(try await managed.server.send("GET", "/api/v1/keys", key: "pck_1_nonsense").status == 401)
    }
  }

  @Test func `The Carma header opens the management API as well`() async throws {
    try await withManagementServer { managed in
      let reply = try await managed.server.send(
        "GET", "/api/v1/keys", headers: [("X-Carma-Authentication-Token", managed.key)])
      #expect(reply.status == 200)
    }
  }

  @Test func `Keys come in pages`() async throws {
    try await withManagementServer { managed in
      for number in 1...4 {
        _ = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"key \#(number)","scope":"device"}"#)
      }
      let first = try await managed.send("GET", "/api/v1/keys?limit=2").json
      let next = try #require(first.integer("next"))
      #expect(first.array("items")?.map { $0.string("name") } == ["admin", "key 1"])
      let rest = try await managed.send("GET", "/api/v1/keys?limit=3&after=\(next)").json
      #expect(rest.array("items")?.map { $0.string("name") } == ["key 2", "key 3", "key 4"])
      #expect(rest["next"] == nil)
    }
  }

  /// The key is cached as valid, like that of a request whose body has not come yet.
  @Test func `A key that was revoked since its request began changes nothing, and gets no stored reply`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"gone","scope":"admin"}"#).json
      let (id, token) = (try #require(made.integer("keyId")), try #require(made.string("token")))
      let once = [("Idempotency-Key", "k")]
      let body = #"{"name":"fresh","scope":"admin"}"#
      #expect(try await managed.send("POST", "/api/v1/keys", key: token, headers: once, json: body).status == 201)
      try await managed.database.query("UPDATE access_key SET revoked_at = now() WHERE access_key_id = $1::bigint", id)
      let before = try await managed.rows()
      for headers in [[], once, [("Idempotency-Key", "l")]] {
        let reply = try await managed.send("POST", "/api/v1/keys", key: token, headers: headers, json: body)
        #expect(reply.status == 401, "\(reply.text)")
      }
      #expect(
        try await managed.send("PATCH", "/api/v1/customer", key: token, json: #"{"linkMaxAgeDays":3}"#).status == 401)
      #expect(try await managed.rows() == before)
    }
  }

  @Test func `A key can revoke itself`() async throws {
    try await withManagementServer { managed in
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"own","scope":"admin"}"#).json
      let (id, token) = (try #require(made.integer("keyId")), try #require(made.string("token")))
      #expect(try await managed.send("DELETE", "/api/v1/keys/\(id)", key: token).status == 200)
      #expect(try await managed.send("GET", "/api/v1/keys", key: token).status == 401)
    }
  }
}
