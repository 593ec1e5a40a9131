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

  @Test func `A softphone is added with its PushKit AppId, each with the credentials`() async throws {
    try await withManagementServer { managed in
      let app = ManagementServer.app("com.acme.phone", .sample)
      let both = app.replacing("\"appType\"", with: #""voipAppId":"com.acme.phone.voip","appType""#)
      let added = try await managed.send("POST", "/api/v1/apps", json: both)
      #expect(added.status == 201)
      #expect(try added.json.string("kind") == "softphone")
      let apps = try #require(try await managed.send("GET", "/api/v1/apps").json.array("items"))
      #expect(apps.map { $0.string("appId") } == ["com.acme.phone", "com.acme.phone.voip"])
      #expect(apps.map { $0.string("kind") } == ["softphone", "pushkit"])
      #expect(apps.allSatisfy { $0.array("credentials")?.count == 1 })
      // All or nothing.
      let again = both.replacing("com.acme.phone\"", with: "com.acme.other\"")
      #expect(try await managed.send("POST", "/api/v1/apps", json: again).status == 409)
      for (more, type, error) in [
        (#""kind":"pushkit""#, 2, "kind is pushkit, which is for iOS alone."),
        (#""kind":"softphone""#, 8, "kind is softphone, which is for iOS, Android, Firebase and Huawei."),
        (#""voipAppId":"b""#, 2, "voipAppId is for softphones on iOS alone."),
        (#""voipAppId":"b","kind":"app""#, 1, "voipAppId is for softphones on iOS alone."),
      ] {
        let json = #"{"name":"Acme","appId":"com.acme.third","appType":\#(type),\#(more)}"#
        #expect(try await managed.send("POST", "/api/v1/apps", json: json).error == error)
      }
      #expect(try await managed.send("GET", "/api/v1/apps").json.array("items")?.count == 2)
    }
  }

  @Test func `An app without credentials cannot be checked`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp(credentials: nil)
      let reply = try await managed.send("POST", "/api/v1/apps/\(id)/check")
      #expect(reply.status == 409)
      let command = "pushcart app update \(id) --customer \(managed.customer)"
      #expect(
        reply.error
          == "App com.acme.app (iOS) has no signingKey, so nothing can be sent to it. Add its credentials by PATCH /api/v1/apps/\(id), "
          + "or by \(command) --team-id ID --key-id ID --signing-key FILE, or by \(command) --production-certificate FILE "
          + "--certificate-password-file FILE.")
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
