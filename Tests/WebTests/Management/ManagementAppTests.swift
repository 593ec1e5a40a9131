import Crypto
import Support
import Testing
import Wire

@Suite struct ManagementAppTests {
  @Test func `An app is added, shown, listed and changed, and its signing key is never given back`() async throws {
    try await withManagementServer { managed in
      let pem = P256.Signing.PrivateKey().pemRepresentation
      let body =
        #"{"name":"Acme","appId":"com.acme.app","appType":1,"teamId":"A1B2C3D4E5","keyId":"F6G7H8J9K0","signingKey":\#(quoted(pem))}"#
      let added = try await managed.send("POST", "/api/v1/apps", json: body)
      #expect(added.status == 201)
      #expect(try added.json.array("credentials")?.map { $0.string("kind") } == ["apns_signing_key"])
      #expect(try added.json.array("warnings") == [])
      let id = try #require(try added.json.integer("pushAppId"))

      #expect(try await managed.send("GET", "/api/v1/apps/\(id)").text == added.text)
      let changed = try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"name":"Acme for iPhone"}"#)
      #expect(try changed.json.string("name") == "Acme for iPhone")
      #expect(try changed.json.string("teamId") == "A1B2C3D4E5")
      let list = try await managed.send("GET", "/api/v1/apps")
      #expect(try list.json.array("items") == [try changed.json])

      let secret = pem.split(separator: "\n")[1]
      for reply in [added, changed, list] { #expect(!reply.text.contains(secret)) }
    }
  }

  @Test func `A wrong file in place of a signing key is refused with what it is`() async throws {
    try await withManagementServer { managed in
      let body =
        #"{"name":"Acme","appId":"a.b","appType":1,"teamId":"A1B2C3D4E5","keyId":"F6G7H8J9K0","signingKey":"hello"}"#
      let reply = try await managed.send("POST", "/api/v1/apps", json: body)
      #expect(reply.status == 400)
      #expect(reply.error?.hasPrefix("signingKey: ") == true, "\(reply.text)")
      #expect(try await managed.send("GET", "/api/v1/apps").json.array("items") == [])
    }
  }

  @Test func `The same appId may exist once per platform`() async throws {
    try await withManagementServer { managed in
      for (type, status) in [(1, 201), (2, 201), (1, 409)] {
        let reply = try await managed.send(
          "POST", "/api/v1/apps", json: #"{"name":"Acme","appId":"com.acme.app","appType":\#(type)}"#)
        #expect(reply.status == status)
      }
    }
  }

  @Test func `An app without credentials cannot be checked`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp(credentials: nil)
      let reply = try await managed.send("POST", "/api/v1/apps/\(id)/check")
      #expect(reply.status == 409)
      #expect(
        reply.error
          == "The app has no credentials yet: neither signingKey, serviceAccount nor clientSecret. Add one by PATCH first."
      )
    }
  }

  @Test func `An app of the web is not asked about, since no push service tells without a push`() async throws {
    try await withManagementServer { managed in
      let added = try await managed.send("POST", "/api/v1/apps", json: #"{"name":"A","appId":"a.b","appType":8}"#)
      let reply = try await managed.send("POST", "/api/v1/apps/\(try added.json.integer("pushAppId") ?? 0)/check")
      #expect(reply.status == 200)
      guard case .array(let checks) = try reply.json["checks"] else { return #expect(Bool(false), "no checks") }
      #expect(checks.map { $0["verdict"] } == ["unasked"])
    }
  }

  @Test func `Credentials of a lost master key are reported with the fix`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp(credentials: .sample)
      try await managed.database.query("UPDATE push_credential SET master_key_id = '00000000'")
      let reply = try await managed.send("POST", "/api/v1/apps/\(id)/check")
      #expect(reply.status == 409)
      #expect(
        reply.error?.hasPrefix("push_credential/\(managed.customer)/\(id)/apns_signing_key cannot be decrypted") == true
      )
      #expect(reply.error?.contains("PUSHCART_OLD_MASTER_KEYS") == true)
    }
  }

  @Test func `A check returns the push service's answer for each environment`() async throws {
    try await withSimulator { simulator in
      try await withManagementServer(apns: .init(simulator)) { managed in
        let known = try await managed.addApp("com.acme.known", credentials: .sample)
        let good = try await managed.send("POST", "/api/v1/apps/\(known)/check").json
        #expect(good.array("checks")?.map { $0.string("environment") } == ["production", "sandbox"])
        #expect(good.array("checks")?.map { $0.string("verdict") } == ["accepted", "accepted"])

        let unknown = try await managed.addApp("com.acme.unknown", credentials: .fresh())
        let bad = try await managed.send("POST", "/api/v1/apps/\(unknown)/check").json
        #expect(bad.array("checks")?.map { $0.string("verdict") } == ["refused", "refused"])
        #expect(bad.array("checks")?.map { $0.string("reason") } == ["InvalidProviderToken", "InvalidProviderToken"])
      }
    }
  }
}
