import Foundation
import Hybrid
import Postgres
import Registry
import Support
import Testing
import Wire

@Suite struct HybridAppTests {
  @Test func `Hybrid Messaging is enabled, shown and changed, and its secret is shown once`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      let reply = try await managed.send(
        "POST", "/api/v1/hybrid",
        json: """
          {"appId":"com.acme.app","messageType":"otp","sender":"ACME","pinText":"ACME: {{pin}}",
           "clockZone":"Europe/Amsterdam","pinsPerHour":50,"registrationsPerHour":700,"statusUrl":"https://acme.example.com/status"}
          """)
      #expect(reply.status == 201)
      let issued = try reply.json
      guard case .object(let members) = issued else { return #expect(Bool(false), "\(reply.text)") }
      #expect(Set(members.keys) == ["appKey", "appSecret", "appId"])
      let (key, secret) = (issued.string("appKey") ?? "", issued.string("appSecret") ?? "")
      #expect(key.hasPrefix("00000000-0001-8") && UUID(uuidString: secret) != nil && key != secret)

      let shown = try await managed.send("GET", "/api/v1/hybrid/com.acme.app")
      #expect(!shown.text.contains(secret))
      #expect(try shown.json.string("appKey") == key && shown.json.string("messageType") == "otp")
      #expect(try shown.json.string("clockZone") == "Europe/Amsterdam" && shown.json["hasPreviousSecret"] == false)
      #expect(
        try shown.json.string("voiceText") == "Your code is {{pin}}" && shown.json.string("pinText") == "ACME: {{pin}}")
      #expect(try await managed.send("GET", "/api/v1/hybrid").json.array("items") == [shown.json])

      let changed = try await managed.send(
        "PATCH", "/api/v1/hybrid/com.acme.app",
        json: #"{"sender":"","statusUrl":"","messageType":"critical","pinText":""}"#)
      #expect(try changed.json["sender"] == nil && changed.json["statusUrl"] == nil)
      #expect(
        try changed.json.string("messageType") == "critical" && changed.json.string("pinText") == "Your code is {{pin}}"
      )
      #expect(try changed.json.string("clockZone") == "Europe/Amsterdam" && changed.json["pinsPerHour"] == 50)
      #expect(try changed.json["registrationsPerHour"] == 700)

      #expect(try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#).status == 409)
      #expect(try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.none"}"#).status == 404)
      #expect(try await managed.send("GET", "/api/v1/hybrid/com.none").status == 404)
      #expect(try await managed.send("PATCH", "/api/v1/hybrid/com.none", json: "{}").status == 404)
      #expect(try await managed.send("POST", "/api/v1/hybrid/com.none/secret").status == 404)
      let stored = try await managed.database.query("SELECT h::text FROM hybrid_app h")[0].decode(String.self)
      let log = try await managed.send("GET", "/api/v1/audit").text
      #expect(!stored.contains(secret) && !log.contains(secret) && log.contains("hybrid com.acme.app"))
    }
  }

  @Test func `Settings that cannot be are refused, and change nothing`() async throws {
    try await withManagementServer { managed in
      try await managed.addApp()
      _ = try await managed.send("POST", "/api/v1/hybrid", json: #"{"appId":"com.acme.app"}"#)
      let before = try await managed.send("GET", "/api/v1/hybrid/com.acme.app").text
      for (json, error) in [
        (#"{"sender":"TwelveLetter"}"#, "sender must be"), (#"{"sender":"Zoë"}"#, "sender must be"),
        (#"{"pinText":"Your code"}"#, "pinText must hold {{pin}}"),
        (#"{"voiceText":"x"}"#, "voiceText must hold {{pin}}"),
        (#"{"clockZone":"Mars/Olympus"}"#, "clockZone must be a time zone"),
        (#"{"clockZone":"UTC'; --"}"#, "clockZone must be"), (#"{"pinsPerHour":1000001}"#, "pinsPerHour must be"),
        (#"{"pinsPerHour":0}"#, "pinsPerHour must be a whole number from 1"),
        (#"{"registrationsPerHour":0}"#, "registrationsPerHour must be a whole number from 1"),
        (#"{"statusUrl":"http://acme.example.com"}"#, "statusUrl must be an https address"),
        (#"{"statusUrl":"https://user:word@acme.example.com/"}"#, "statusUrl must be an https address without a user"),
        (#"{"pinDigits":3}"#, "pinDigits must be a whole number from 4"), (#"{"pinDigits":9}"#, "pinDigits must be"),
        (#"{"messageType":"urgent"}"#, "messageType"), (#"{"appSecret":"x"}"#, "appSecret is not a known field"),
      ] as [(String, String)] {
        let reply = try await managed.send("PATCH", "/api/v1/hybrid/com.acme.app", json: json)
        #expect(reply.status == 400 && reply.error?.hasPrefix(error) == true, "\(reply.text)")
        #expect(try await managed.send("GET", "/api/v1/hybrid/com.acme.app").text == before, "\(json)")
      }
    }
  }

  @Test func `A secret works until the rotation after the next`() async throws {
    try await withPhoneServer { phones in
      var phone = phones.phone()
      try await phone.register()
      var secrets = [phones.app.appSecret]
      for _ in 0..<2 {
        let rotated = try await phones.managed.send("POST", "/api/v1/hybrid/com.acme.app/secret")
        #expect(rotated.status == 201)
        #expect(try rotated.json.string("appKey") == phones.app.appKey)
        secrets.append(try rotated.json.string("appSecret") ?? "")
        for (age, secret) in secrets.reversed().enumerated() {
          let signed = TestPhone(
            phones.managed.server, appKey: phones.app.appKey, secret: secret, deviceID: phone.deviceID)
          let status = try await signed.send("GET", "/v1.0/deviceregistrations").status
          #expect(status == (age < 2 ? 200 : 401), "\(age)")
        }
      }
    }
  }

  @Test func `A new master key seals the secrets of apps anew, and phones go on`() async throws {
    try await withDatabase { database in
      let (old, new) = (MasterKeys.generate(), MasterKeys.generate())
      let vault = Vault(try MasterKeys(current: old))
      let customer = try await database.customer()
      _ = try await PushApps(database.pool, vault: vault).add(
        customer, NewPushApp(appID: "com.acme.app", type: .ios, name: "Acme"))
      let apps = HybridApps(database.pool)
      _ = try await apps.enable(customer, HybridAppRequest(appId: "com.acme.app"), vault: vault)
      let issued = try await apps.rotate(customer, appID: "com.acme.app", vault: vault).issued
      let before = try await PINs.load(database.pool, vault: vault)

      let both = Vault(try MasterKeys(current: new, older: [old]))
      let progress = try await Rekey(
        database.pool, vault: both, by: "root", columns: SealedColumn.registry + SealedColumn.hybrid
      ).run()
      // Two secrets of the app, and that of PINs.
      #expect(progress.resealed == 3 && progress.unreadable.isEmpty)
      let renewed = Vault(try MasterKeys(current: new))
      let moment = Int64(Date().timeIntervalSince1970)
      let phone = TestPhone(TestWebServer(url: ""), appKey: issued.appKey, secret: issued.appSecret)
      let authorization = try #require(
        MACAuthorization(phone.authorization("GET", "/v1.0/messages", at: moment)))
      let verifier = MACVerifier(HybridAppCache(database.pool, vault: renewed), publicURL: "https://push.example.com")
      let request = MACAuthorization.Signed(method: "GET", target: "/v1.0/messages", host: nil)
      #expect(try await verifier.app(authorization, request)?.appID == "com.acme.app")
      _ = (before, try await PINs.load(database.pool, vault: renewed))
      #expect(
        try await Rekey(database.pool, vault: both, by: "root", columns: SealedColumn.registry + SealedColumn.hybrid)
          .run().resealed == 0)
    }
  }
}
