import Crypto
import Support
import Testing
import Wire

@Suite struct ManagementCanaryTests {
  /// Secrets that go in: a signing key, access keys, and an Idempotency-Key's reply that holds one. They must not come out,
  /// but for the one reply that shows a new key's token.
  @Test func `Neither a reply nor the log contains a secret`() async throws {
    let log = LogCapture()
    try await withManagementServer(logger: log.logger) { managed in
      let pem = P256.Signing.PrivateKey().pemRepresentation
      let made = try await managed.send("POST", "/api/v1/keys", json: #"{"name":"canary","scope":"admin"}"#)
      let token = try #require(try made.json.string("token"))
      let secrets = pem.split(separator: "\n").dropFirst().dropLast().map(String.init) + [token, managed.key]

      let replies = try await everything(managed, key: token, pem: pem)
      #expect(replies.count > 30)
      for reply in replies {
        for secret in secrets { #expect(!reply.text.contains(secret), "\(reply.status) \(reply.text.prefix(200))") }
      }
      #expect(log.lines.count > 30)
      for line in log.lines {
        for secret in secrets { #expect(!line.contains(secret), "\(line.prefix(200))") }
      }
    }
  }

  /// Every route, with good and bad bodies that hold the secrets.
  private func everything(_ managed: ManagementServer, key: String, pem: String) async throws -> [TestReply] {
    let apple = #""teamId":"A1B2C3D4E5","keyId":"F6G7H8J9K0","signingKey":\#(quoted(pem))"#
    let requests: [(String, String, String?)] = [
      ("POST", "/api/v1/apps", #"{"name":"Acme","appId":"a.b","appType":1,\#(apple)}"#),
      ("POST", "/api/v1/apps", #"{"name":"Acme","appId":"a.b","appType":1,\#(apple)}"#),
      ("POST", "/api/v1/apps", #"{"name":"Acme","appId":"a.c","appType":2,\#(apple)}"#),
      ("POST", "/api/v1/apps", #"{"name":\#(quoted(pem)),"appId":"a.e","appType":1}"#),
      ("POST", "/api/v1/apps", #"{"name":"Acme","appId":"a.f","appType":1,"teamId":\#(quoted(pem))}"#),
      (
        "POST", "/api/v1/apps",
        #"{"name":"x","appId":"a.g","appType":1,"keyId":"k","teamId":"t","signingKey":\#(quoted(String(pem.dropLast(40))))}"#
      ),
      ("PATCH", "/api/v1/apps/1", "{\(apple)}"),
      ("PATCH", "/api/v1/apps/1", #"{"signingKey":{"pem":\#(quoted(pem))}}"#),
      ("GET", "/api/v1/apps", nil), ("GET", "/api/v1/apps/1", nil), ("POST", "/api/v1/apps/1/check", nil),
      ("GET", "/api/v1/keys", nil), ("POST", "/api/v1/keys", #"{"name":"x","scope":\#(quoted(key))}"#),
      ("DELETE", "/api/v1/keys/\(key)", nil), ("GET", "/api/v1/keys?after=\(key)", nil),
      ("GET", "/api/v1/keys?\(key)=1", nil), ("GET", "/api/v1/lists", nil),
      ("POST", "/api/v1/lists", #"{"name":"x"}"#),
      ("GET", "/api/v1/templates/\(key)", nil), ("PUT", "/api/v1/templates/x", #"{"body":"{{#\#(key)"}"#),
      ("GET", "/api/v1/templates", nil), ("GET", "/api/v1/sendouts", nil), ("GET", "/api/v1/sendouts/\(key)", nil),
      ("POST", "/api/v1/sendouts", #"{"appId":\#(quoted(key)),"audience":{"all":true},"message":{"alert":"x"}}"#),
      ("POST", "/api/v1/sendouts", #"{"appId":"a.b","audience":{"all":true},"message":{"alert":"{{#\#(key)"}}"#),
      ("POST", "/api/v1/sendouts", #"{"appId":"a.b","audience":{"all":true},"message":{"alert":"x"},"start":true}"#),
      ("GET", "/api/v1/sendouts/1/pushes?state=\(key)", nil), ("POST", "/api/v1/sendouts/1/pause", nil),
      ("GET", "/nowhere/\(key)", nil), ("DELETE", "/api/v1/lists", nil), ("GET", "/openapi.json", nil),
      ("GET", "/swagger/", nil),
    ]
    var replies: [TestReply] = []
    for (method, path, body) in requests {
      replies.append(
        try await managed.send(method, path, key: key, headers: [("X-Request-Id", key)], json: body))
    }
    replies.append(try await managed.send("GET", "/api/v1/keys", key: key + "x"))
    return replies
  }
}
