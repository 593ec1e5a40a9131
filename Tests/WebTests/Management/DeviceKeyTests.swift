import Crypto
import Foundation
import Registry
import Support
import Testing
import Wire

/// What a device key, which lies in every copy of an app, may do.
@Suite struct DeviceKeyTests {
  private let body = #"{"originalId":"lars@example.com","firstName":"Eve","deviceInfo":[{"devicetoken":"aa"}]}"#

  private func identity(_ originalID: String, _ secret: String) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(originalID.utf8), using: SymmetricKey(data: Array(secret.utf8))))
  }

  @Test func `With the device key alone nobody changes a contact of an app that requires an identity`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let secret = try await managed.identitySecret(of: id)
      let key = try await managed.deviceKey()
      let hex = identity("lars@example.com", secret).hexDigits
      // Off by default, so that apps which are installed go on working.
      #expect(try await managed.register(body, key: key).status == 200)
      #expect(try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"identity":"required"}"#).status == 200)

      let wrong = [
        nil, "", "x", String(repeating: "0", count: 64), String(hex.dropLast()), hex + "00",
        identity("eve@example.com", secret).hexDigits, identity("lars@example.com", "pis_other").hexDigits,
      ]
      let before = try await managed.rows()
      for path in ["pushdevices", "pushdevices/invalidation"] {
        for identity in wrong {
          let reply = try await managed.register(body, key: key, identity: identity, at: path)
          #expect(reply.status == 403 && reply.error?.contains("X-Pushcart-Identity") == true, "\(reply.text)")
        }
      }
      #expect(try await managed.rows() == before)

      let base64url = Data(identity("lars@example.com", secret)).base64EncodedString()
        .replacing("+", with: "-").replacing("/", with: "_")
      for right in [hex, hex.uppercased(), base64url, base64url.replacing("=", with: "")] {
        #expect(try await managed.register(body, key: key, identity: right).status == 200)
      }
      #expect(
        try await managed.register(body, key: key, identity: hex, at: "pushdevices/invalidation").status == 200)
      // The customer's back end needs none: nobody else has its key.
      #expect(try await managed.register(body, key: managed.key).status == 200)
      #expect(try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"identity":"off"}"#).status == 200)
      #expect(try await managed.register(body, key: key).status == 200)
    }
  }

  @Test func `After a rotation identities of the secret before are accepted, of the one before that no longer`()
    async throws
  {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let key = try await managed.deviceKey()
      var secrets: [String] = []
      _ = try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"identity":"required"}"#)
      #expect(try await managed.register(body, key: key, identity: String(repeating: "0", count: 64)).status == 403)
      for accepted in [[true], [true, true], [false, true, true]] {
        secrets.append(try await managed.identitySecret(of: id))
        for (secret, isAccepted) in zip(secrets, accepted) {
          let reply = try await managed.register(
            body, key: key, identity: identity("lars@example.com", secret).hexDigits)
          #expect(reply.status == (isAccepted ? 200 : 403))
        }
      }
      let app = try await managed.send("GET", "/api/v1/apps/\(id)")
      let kinds = try app.json.array("credentials")?.map { $0.string("kind") }
      #expect(kinds == ["apns_signing_key", "identity_secret", "previous_identity_secret"])
      let log = try await managed.send("GET", "/api/v1/audit").text
      for secret in secrets { #expect(!app.text.contains(secret) && !log.contains(secret)) }
    }
  }

  @Test func `Of an appId on two platforms one that requires an identity is enough`() async throws {
    try await withManagementServer { managed in
      let ios = try await managed.addApp()
      _ = try await managed.send(
        "POST", "/api/v1/apps", json: #"{"name":"A","appId":"com.acme.app","appType":2,"identity":"off"}"#)
      _ = try await managed.send("PATCH", "/api/v1/apps/\(ios)", json: #"{"identity":"required"}"#)
      let android = #"{"originalId":"lars@example.com","deviceInfo":[{"devicetoken":"aa","appType":2}]}"#
      let reply = try await managed.register(android, key: try await managed.deviceKey())
      #expect(reply.status == 403)
    }
  }

  @Test func `What one app requires of device keys counts for all apps of its customer, bound keys included`()
    async throws
  {
    try await withManagementServer { managed in
      let id = try await managed.addApp("com.acme.strict")
      _ = try await managed.addApp()
      let secret = try await managed.identitySecret(of: id)
      let bound = try await managed.send(
        "POST", "/api/v1/keys", json: #"{"name":"k","scope":"device","appId":"com.acme.app"}"#)
      let keys = [try await managed.deviceKey(), try #require(try bound.json.string("token"))]
      // No app requires it: shipped clients go on working.
      for key in keys { #expect(try await managed.register(body, key: key).status == 200) }
      let changed = try await managed.send(
        "PATCH", "/api/v1/apps/\(id)", json: #"{"identity":"required","deviceFields":["city"]}"#)
      let warnings = try changed.json.array("warnings") ?? []
      #expect("\(warnings)".contains("com.acme.app"))
      let right = identity("lars@example.com", secret).hexDigits
      for key in keys {
        for path in ["pushdevices", "pushdevices/invalidation"] {
          #expect(try await managed.register(body, key: key, at: path).status == 403)
          #expect(
            try await managed.register(body, key: key, identity: identity("x", secret).hexDigits, at: path).status
              == 403)
        }
        let other = body.replacing("Eve", with: "Mallory")
        #expect(try await managed.register(other, key: key, identity: right).status == 200)
      }
      let path = "/rest/\(managed.customer)/apps/com.acme.app/pushdevices/lars%40example.com"
      let stored = try await managed.send("GET", path, headers: [("X-Carma-Authentication-Token", managed.key)]).json
      #expect(stored.string("firstName") == "Eve")
      // The back end's key needs none.
      #expect(try await managed.register(body, key: managed.key).status == 200)
    }
  }

  @Test func `A previous identity secret is refused 30 days after the rotation, and at once when it is revoked`()
    async throws
  {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let key = try await managed.deviceKey()
      _ = try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"identity":"required"}"#)
      let first = try await managed.identitySecret(of: id)
      let second = try await managed.identitySecret(of: id)
      func status(_ secret: String) async throws -> Int {
        try await managed.register(body, key: key, identity: identity("lars@example.com", secret).hexDigits).status
      }
      let path = "/api/v1/apps/\(id)"
      for (days, expected) in [(29, 200), (31, 403)] {
        try await managed.database.query(
          """
          UPDATE push_credential SET updated_at = now() - $1::int4 * interval '1 day'
          WHERE kind = 'previous_identity_secret'
          """, Int32(days))
        // Changes the app, by which opened secrets are cached.
        _ = try await managed.send("PATCH", path, json: #"{"name":"\#(days) days"}"#)
        #expect(try await status(first) == expected)
        #expect(try await status(second) == 200)
      }
      let third = try await managed.identitySecret(of: id)
      #expect(try await status(second) == 200)
      #expect(try await managed.send("DELETE", "\(path)/identity/previous").status == 200)
      #expect(try await status(second) == 403)
      #expect(try await status(third) == 200)
    }
  }

  @Test func `A device key writes only the fields that its app allows, and the reply does not tell`() async throws {
    try await withManagementServer { managed in
      let id = try await managed.addApp()
      let key = try await managed.deviceKey()
      let all =
        #"{"originalId":"lars@example.com","firstName":"Lars","emailAddress":"a@b.c","city":"Malmö","dateOfBirth":0,"properties":{"food":"meat","vip":true},"deviceInfo":[{"devicetoken":"aa","model":"iPhone"}]}"#
      let unlimited = try await managed.register(all, key: key)
      let changed = all.replacing("Lars", with: "Eve").replacing("Malmö", with: "Lund").replacing(
        "a@b.c", with: "x@y.z"
      )
      .replacing("meat", with: "fish").replacing("true", with: "false").replacing(
        #""dateOfBirth":0"#, with: #""dateOfBirth":86400000"#)
      let fields = #"{"deviceFields":["city","properties.food"]}"#
      #expect(try await managed.send("PATCH", "/api/v1/apps/\(id)", json: fields).status == 200)
      let limited = try await managed.register(changed, key: key)
      #expect(limited.status == 200 && unlimited.status == 200)
      #expect(try limited.json.string("firstName") == "Eve")

      let path = "/rest/\(managed.customer)/apps/com.acme.app/pushdevices/lars%40example.com"
      let stored = try await managed.send("GET", path, headers: [("X-Carma-Authentication-Token", managed.key)]).json
      #expect(stored.string("firstName") == "Lars" && stored.string("emailAddress") == "a@b.c")
      #expect(stored.string("city") == "Lund" && stored.integer("dateOfBirth") == 0)
      #expect(stored["properties"] == ["food": "fish", "vip": true])

      #expect(try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"deviceFields":["all"]}"#).status == 200)
      _ = try await managed.register(changed, key: key)
      let free = try await managed.send("GET", path, headers: [("X-Carma-Authentication-Token", managed.key)]).json
      #expect(free.string("firstName") == "Eve" && free["properties"] == ["food": "fish", "vip": false])
      for name in ["firstname", "", "properties.", "originalId"] {
        let reply = try await managed.send("PATCH", "/api/v1/apps/\(id)", json: #"{"deviceFields":["\#(name)"]}"#)
        #expect(reply.status == 400 && reply.error?.hasPrefix("deviceFields ") == true)
      }
    }
  }

  @Test func `A key that is bound to an app opens the routes of no other`() async throws {
    try await withManagementServer { managed in
      for app in ["com.acme.app", "com.acme.other"] { _ = try await managed.addApp(app) }
      for scope in ["device", "backend"] {
        let made = try await managed.send(
          "POST", "/api/v1/keys", json: #"{"name":"k","scope":"\#(scope)","appId":"com.acme.app"}"#
        ).json
        let header = [("X-Carma-Authentication-Token", try #require(made.string("token")))]
        for (app, status) in [("com.acme.app", 200), ("com.acme.other", 403), ("com.acme.unknown", 403)] {
          let path = "/rest/\(managed.customer)/apps/\(app)/pushdevices"
          #expect(try await managed.send("PUT", path, headers: header, json: body).status == status)
          #expect(try await managed.send("PUT", "\(path)/invalidation", headers: header, json: body).status == status)
          guard scope == "backend" else { continue }
          for _ in 0..<2 {
            #expect(try await managed.send("GET", "\(path)/lars%40example.com", headers: header).status == status)
          }
        }
      }
      let admin = #"{"name":"k","scope":"admin","appId":"com.acme.app"}"#
      #expect(try await managed.send("POST", "/api/v1/keys", json: admin).status == 400)
      let unknown = #"{"name":"k","scope":"device","appId":"com.acme.unknown"}"#
      #expect(try await managed.send("POST", "/api/v1/keys", json: unknown).status == 404)
    }
  }
}

extension ManagementServer {
  fileprivate func identitySecret(of app: Int64) async throws -> String {
    try await send("POST", "/api/v1/apps/\(app)/identity").json.string("identitySecret") ?? ""
  }

  fileprivate func deviceKey() async throws -> String {
    try await AccessKeys(database.pool).make(customer, name: "app", scope: .device).token
  }

  fileprivate func register(_ json: String, key: String, identity: String? = nil, at path: String = "pushdevices")
    async throws -> TestReply
  {
    let headers = [("X-Carma-Authentication-Token", key)] + (identity.map { [("X-Pushcart-Identity", $0)] } ?? [])
    return try await send("PUT", "/rest/\(customer)/apps/com.acme.app/\(path)", headers: headers, json: json)
  }
}
