import Registry
import Support
import Testing
import Wire

@Suite struct DataTreeRouteTests {
  @Test func `Values are read, replaced, patched, added and removed`() async throws {
    try await withTree { tree in
      #expect(try await tree.send("GET", "/nothing").text == "null")
      #expect(try await tree.send("PUT", "/users", #"{"alice":{"age":33,"tags":[1]},"bob":{}}"#).status == 200)
      #expect(try await tree.send("GET", "").text == #"{"users":{"alice":{"age":33,"tags":[1]}}}"#)
      #expect(try await tree.send("GET", "/users/alice/age").text == "33")
      // PATCH goes no deeper than the children that it names.
      #expect(try await tree.send("PATCH", "/users", #"{"alice":{"city":"Breda"},"carol":1}"#).status == 200)
      #expect(try await tree.send("GET", "/users").text == #"{"alice":{"city":"Breda"},"carol":1}"#)
      let first = try await tree.send("POST", "/list", "true").json.string("name") ?? ""
      let second = try await tree.send("POST", "/list", "false").json.string("name") ?? ""
      #expect(first < second)
      #expect(try await tree.send("GET", "/list/\(second)").text == "false")
      // A write below a scalar replaces it.
      #expect(try await tree.send("PUT", "/users/carol/age", "7").status == 200)
      #expect(try await tree.send("GET", "/users/carol").text == #"{"age":7}"#)
      #expect(try await tree.send("DELETE", "/users/alice").text == "null")
      #expect(try await tree.send("PUT", "/users/carol", "null").status == 200)
      #expect(try await tree.send("GET", "/users").text == "null")
    }
  }

  @Test func `A write that wants another value than there is does nothing`() async throws {
    try await withTree { tree in
      func send(_ method: String, _ path: String, _ json: String?, _ headers: [(String, String)]) async throws -> Int {
        try await tree.server.send(
          method, "/datasync/v2/com.acme.app/data\(path)", key: tree.secret, headers: headers, json: json
        ).status
      }
      func tag(_ path: String) async throws -> String { try #require(try await tree.send("GET", path).header("ETag")) }
      let absent = try await tag("/n")
      #expect(try await send("PUT", "/n", "1", [("If-Match", "*")]) == 412)
      #expect(try await send("DELETE", "/n", nil, [("If-Match", "*")]) == 412)
      #expect(try await send("PUT", "/n", "1", [("If-None-Match", "*")]) == 200)
      #expect(try await send("PUT", "/n", "2", [("If-None-Match", "*")]) == 412)
      #expect(try await send("PUT", "/n", "2", [("If-Match", absent)]) == 412)
      #expect(try await tree.send("GET", "/n").text == "1")
      let one = try await tag("/n")
      for header in [one, "\"x\", \(one)", one.filter { $0 != "\"" }, "*"] {
        #expect(try await send("PUT", "/n", "1", [("If-Match", header)]) == 200, "\(header)")
      }
      #expect(try await send("PUT", "/n", "1", [("If-Match", "W/\(one)")]) == 412)
      #expect(try await send("PUT", "/n", "2", [("If-None-Match", one)]) == 412)
      #expect(try await send("PUT", "/n", "2", [("If-None-Match", "W/\(one)")]) == 412)
      #expect(try await send("PATCH", "/n", #"{"a":1}"#, [("If-None-Match", "\"x\"")]) == 200)
      let patched = try await tag("/n")
      #expect(patched != one && patched != absent)
      #expect(try await send("PATCH", "/n", #"{"b":1}"#, [("If-Match", one)]) == 412)
      #expect(try await send("PATCH", "/n", #"{"b":1}"#, [("If-Match", patched)]) == 200)
      #expect(try await send("DELETE", "/n", nil, [("If-Match", patched)]) == 412)
      #expect(try await tree.send("GET", "/n").text == #"{"a":1,"b":1}"#)
      #expect(try await send("DELETE", "/n", nil, [("If-Match", try await tag("/n"))]) == 200)
      #expect(try await send("PUT", "/n", "1", [("If-Match", absent)]) == 200)
      #expect(try await send("GET", "/n", nil, [("If-None-Match", one)]) == 304)
      #expect(try await send("GET", "/n", nil, [("If-None-Match", absent)]) == 200)
      for header in ["", "\"", "\"a", "*, \"a\"", "\"\""] {
        #expect(try await send("PUT", "/n", "5", [("If-Match", header)]) == 400, "\(header)")
      }
      #expect(try await send("POST", "/n", "5", [("If-Match", "*")]) == 400)
      // A large value has no tag, and is something nevertheless.
      let many = "{" + (0..<1001).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
      #expect(try await tree.send("PUT", "/large", many).status == 200)
      #expect(try await tree.send("GET", "/large").header("ETag") == nil)
      #expect(try await send("PUT", "/large", "1", [("If-None-Match", "*")]) == 412)
      #expect(try await send("PUT", "/large", "1", [("If-Match", one)]) == 412)
      #expect(try await send("PUT", "/large", "1", [("If-Match", "*")]) == 200)
    }
  }

  @Test func `Of writes that want the same value, one is done`() async throws {
    try await withTree { tree in
      _ = try await tree.send("PUT", "/count", "0")
      let tag = try #require(try await tree.send("GET", "/count").header("ETag"))
      let statuses = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 1...8 {
          group.addTask {
            try await tree.server.send(
              "PUT", "/datasync/v2/com.acme.app/data/count", key: tree.secret, headers: [("If-Match", tag)],
              json: "\(number)"
            ).status
          }
        }
        return try await group.reduce(into: []) { $0.append($1) }
      }
      #expect(statuses.sorted() == [200] + [Int](repeating: 412, count: 7))
    }
  }

  @Test func `Values are shown shallow, indented or not at all, and other options are refused by name`() async throws {
    try await withTree { tree in
      let value = #"{"alice":{"age":33,"name":"A \"{[,:]}\" \\"},"list":[1,[],true],"n":1}"#
      #expect(try await tree.send("PUT", "/users?print=silent", value).status == 204)
      #expect(try await tree.send("GET", "/users?shallow=true").text == #"{"alice":true,"list":true,"n":true}"#)
      #expect(try await tree.send("GET", "/users/n?shallow=true").text == "1")
      #expect(try await tree.send("GET", "/users/list?shallow=true").text == "[1,[],true]")
      #expect(try await tree.send("GET", "/users?shallow=false").text == value)
      #expect(try await tree.send("GET", "/users/list?print=pretty").text == "[\n  1,\n  [],\n  true\n]")
      let pretty = try await tree.send("GET", "/users?print=pretty")
      #expect(
        try pretty.text.hasPrefix("{\n  \"alice\": {\n    \"age\": 33,")
          && pretty.json == JSONValue(json: Array(value.utf8)))
      let silent = try await tree.send("GET", "/users?print=silent")
      #expect(silent.status == 204 && silent.text.isEmpty && silent.header("ETag") == pretty.header("ETag"))
      #expect(try await tree.send("POST", "/list?print=pretty", "1").text.hasPrefix("{\n  \"name\": \""))
      for option in ["orderBy=%22age%22", "limitToFirst=1", "startAt=1", "auth=x", "format=export", "timeout=1s"] {
        let name = option.prefix { $0 != "=" }
        let reply = try await tree.send("GET", "/users?\(option)")
        #expect(reply.status == 400 && reply.error?.contains("parameter, \(name); known are shallow, print") == true)
        #expect(try await tree.send("PUT", "/users?\(option)", "1").status == 400)
      }
      for (method, path) in [
        ("PUT", "?shallow=true"), ("PATCH", "?shallow=true"), ("DELETE", "?shallow=true"), ("POST", "?shallow=true"),
        ("GET", "?shallow=yes"), ("GET", "?print=ugly"), ("GET", "?print=pretty&print=pretty"), ("DELETE", "?x"),
      ] {
        let body = ["GET", "DELETE"].contains(method) ? nil : "{}"
        #expect(try await tree.send(method, "/users\(path)", body).status == 400, "\(method) \(path)")
      }
      #expect(try await tree.send("GET", "/users").text == value)
      let app = "/datasync/v2/com.acme.app"
      for (method, path, known) in [
        ("GET", "subscriptions", "known are after, limit"), ("POST", "subscriptions", "none is known here"),
        ("DELETE", "subscriptions/1", "none is known here"), ("GET", "settings", "none is known here"),
        ("PUT", "settings/webhooks", "none is known here"),
      ] {
        let reply = try await tree.server.send(
          method, "\(app)/\(path)?shallow=true", key: tree.secret, json: ["POST", "PUT"].contains(method) ? "{}" : nil)
        #expect(reply.status == 400 && reply.error?.contains("parameter, shallow; \(known)") == true, "\(reply.text)")
      }
    }
  }

  @Test func `A path that names no place is refused, and reaches no other`() async throws {
    try await withTree { tree in
      for path in [
        "//", "/a//b", "/a/", "/.", "/a/..", "/%2e", "/a%2Fb", "/a%00b", "/%ff", "/%", "/%4", "/a/%2E%2e",
        "/" + String(repeating: "x", count: 769), String(repeating: "/a", count: 33),
      ] as [String] {
        for method in ["GET", "PUT", "PATCH", "POST", "DELETE"] {
          let body = ["GET", "DELETE"].contains(method) ? "" : "{}"
          let head = """
            \(method) /datasync/v2/com.acme.app/data\(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(tree.secret)\r\n\
            Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\nConnection: close\r\n\r\n\(body)
            """
          let reply = try await RawHTTP(tree.server.url).send(head)
          #expect(reply?.status == 400, "\(method) \(path.prefix(40)): \(reply?.text.prefix(80) ?? "")")
        }
      }
    }
  }

  @Test func `Names that look the same are the same: only those in Unicode's form NFC are taken`() async throws {
    try await withTree { tree in
      let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
      #expect(try await tree.send("PUT", "/names", "{\"\(composed)\":1}").status == 200)
      for refused in [
        "{\"\(decomposed)\":2}", "{\"\(composed)\":1,\"\(decomposed)\":2}", "{\"\(decomposed)\":2,\"\(composed)\":1}",
      ] {
        for method in ["PUT", "PATCH"] {
          let reply = try await tree.send(method, "/names", refused)
          #expect(reply.status == 400 && reply.error?.contains("NFC") == true, "\(method) \(reply.text)")
        }
      }
      for (method, path, body) in [
        ("GET", "/cafe%CC%81", nil), ("GET", "/names/cafe%CC%81/a", nil), ("DELETE", "/names/cafe%CC%81", nil),
        ("PUT", "/names/cafe%CC%81", "null"), ("PUT", "/cafe%CC%81/a", "1"), ("POST", "/cafe%CC%81", "{}"),
        ("PATCH", "/names", "{\"\(decomposed)\":null}"),
      ] {
        let reply = try await tree.send(method, path, body)
        #expect(reply.status == 400 && reply.error?.hasPrefix("path ") == true, "\(method) \(path) \(reply.text)")
        #expect(reply.error?.contains("NFC") == true, "\(method) \(path) \(reply.text)")
      }
      #expect(try await tree.send("GET", "/names/caf%C3%A9").text == "1")
      let made = try await tree.subscribe(
        "{\"path\":\"/\(decomposed)\",\"event\":\"value\",\"deviceToken\":\"t\",\"service\":\"fcm\"}")
      #expect(made.status == 400 && made.error?.contains("NFC") == true, "\(made.text)")
      #expect(try await tree.send("GET", "").text == "{\"names\":{\"\(composed)\":1}}")
    }
  }

  @Test func `The secret decides the customer and the app, and a value has its limits`() async throws {
    try await withTree { tree in
      let other = try await tree.server.send("GET", "/datasync/v2/com.acme.other/data/a", key: tree.secret)
      #expect(other.status == 403)
      #expect(try await tree.server.send("GET", "/datasync/v2/com.acme.app/data/a", key: "pck_1_x").status == 401)
      #expect(try await tree.send("PUT", "/a", "\"\(String(repeating: "x", count: 1 << 20))\"").status == 413)
      #expect(try await tree.send("PUT", "/a", "1e\(String(repeating: "9", count: 99))").status == 400)
      #expect(try await tree.send("PUT", "/a", #"{"a/b":1}"#).status == 400)
      #expect(try await tree.send("PATCH", "/a", "[]").status == 400)
      #expect(try await tree.server.send("PUT", "/datasync/v2/com.acme.app/data/a", key: tree.secret).status == 415)
      #expect(try await tree.send("GET", "").text == "null")
    }
  }

  @Test func `Only a key of scope datasync opens a data tree, and that opens nothing else`() async throws {
    try await withTree { tree in
      #expect(try await tree.send("PUT", "/a", "1").status == 200)
      func made(_ scope: AccessScope, app: String? = "com.acme.app") async throws -> TestReply {
        let bound = app.map { #","appId":"\#($0)""# } ?? ""
        return try await tree.server.send(
          "POST", "/api/v1/keys", key: tree.admin, json: #"{"name":"k","scope":"\#(scope.rawValue)"\#(bound)}"#)
      }
      for scope in [AccessScope.device, .send, .backend] {
        let key = try await made(scope).json.string("token")
        let reply = try await tree.server.send("GET", "/datasync/v2/com.acme.app/data/a", key: key)
        #expect(reply.status == 403 && reply.error == "This needs an access key of scope datasync.", "\(reply.text)")
      }
      #expect(try await tree.server.send("GET", "/datasync/v2/com.acme.app/data/a", key: tree.admin).status == 403)
      let unbound = try await made(.datasync, app: nil)
      #expect(unbound.status == 400 && unbound.error?.hasPrefix("appId is missing") == true, "\(unbound.text)")
      let second = try await made(.datasync).json.string("token")
      #expect(try await tree.server.send("GET", "/datasync/v2/com.acme.app/data/a", key: second).text == "1")
      for (method, path) in [
        ("GET", "/api/v1/keys"), ("GET", "/api/v1/datasync"), ("POST", "/api/v1/messages"),
        ("GET", "/rest/1/apps/com.acme.app/pushdevices/a"), ("PUT", "/rest/1/apps/com.acme.app/pushdevices"),
        ("GET", "/rest/1/triggers"),
      ] {
        let reply = try await tree.server.send(
          method, path, key: path.hasPrefix("/rest/") ? nil : tree.secret,
          headers: path.hasPrefix("/rest/") ? [("X-Carma-Authentication-Token", tree.secret)] : [],
          json: method == "GET" ? nil : #"{"originalId":"a","deviceInfo":[]}"#)
        #expect(reply.status == 403, "\(method) \(path): \(reply.text)")
      }
      let gateway = try await tree.server.send(
        "GET", "/gateway.ashx?producttoken=\(tree.secret)&from=A&to=0031600000001&body=x")
      #expect(gateway.text.hasPrefix("Error: ERROR "), "\(gateway.text)")
    }
  }

  @Test func `Two customers with the same app id have data trees of their own`() async throws {
    try await withManagementServer { managed in
      var secrets: [String] = []
      for key in [managed.key, managed.otherKey] {
        _ = try await managed.send(
          "POST", "/api/v1/apps", key: key, json: #"{"name":"Acme","appId":"com.acme.app","appType":6}"#)
        let enabled = try await managed.send("POST", "/api/v1/datasync", key: key, json: #"{"app":"com.acme.app"}"#)
        secrets.append(try #require(try enabled.json.string("secret")))
      }
      let (path, subscriptions) = ("/datasync/v2/com.acme.app/data/a", "/datasync/v2/com.acme.app/subscriptions")
      #expect(try await managed.send("PUT", path, key: secrets[0], json: "1").status == 200)
      let subscribed = try await managed.send(
        "POST", subscriptions, key: secrets[0],
        json: #"{"path":"/a","event":"value","deviceToken":"t","service":"fcm"}"#)
      let id = try #require(try subscribed.json.integer("subscriptionId"))
      #expect(try await managed.send("GET", path, key: secrets[1]).text == "null")
      #expect(try await managed.send("GET", subscriptions, key: secrets[1]).json.array("items") == [])
      #expect(try await managed.send("DELETE", "\(subscriptions)/\(id)", key: secrets[1]).status == 404)
      #expect(try await managed.send("PUT", path, key: secrets[1], json: "2").status == 200)
      #expect(try await managed.send("DELETE", path, key: secrets[1]).status == 200)
      #expect(try await managed.send("GET", path, key: secrets[0]).text == "1")
      #expect(
        try await managed.database.query("SELECT FROM data_tree_due WHERE pending IS NOT NULL").isEmpty)
    }
  }

  @Test func `A subscription needs something to tell, and its device's platform`() async throws {
    try await withTree { tree in
      for (json, sentence) in [
        (#"{"path":"/a","event":"child","deviceToken":"t","service":"fcm"}"#, "added is not true"),
        (#"{"path":"a","event":"value","deviceToken":"t","service":"fcm"}"#, "path must begin with /"),
        (#"{"path":"/a","event":"value","deviceToken":"t","service":"hms"}"#, "service is hms, and the app has no"),
        (#"{"path":"/a","event":"value","webhook":"hook"}"#, "webhook names no destination"),
        (#"{"path":"/a","event":"value","deviceToken":"t"}"#, "service is missing"),
        (
          #"{"path":"/a","event":"value","deviceToken":"t","service":"fcm","encryptionKey":"AAAA"}"#,
          "encryptionKey must"
        ),
      ] {
        let reply = try await tree.subscribe(json)
        #expect(reply.status == 400 && reply.error?.contains(sentence) == true, "\(reply.text)")
      }
      let limited = #"{"path":"/a","event":"value","deviceToken":"t","service":"fcm","durationSeconds":3600}"#
      let made = try await tree.subscribe(limited)
      let expiry = try made.json.string("expiresAt")
      #expect(made.status == 200 && expiry != nil)
      #expect(try await tree.subscribe(limited).json.integer("subscriptionId") == made.json.integer("subscriptionId"))
    }
  }

  @Test func `The document's settings of webhooks are stored and shown as they are`() async throws {
    try await withTree { tree in
      let webhooks = """
        {"destinations":{"myWebhook":{"destinationUris":[{"acceptAnyCertificate":false,"uri":"https://hooks.example.com/a"}],\
        "enabled":true,"headers":{"X-webcom-webhook-token":"bar"},"subscribeDurationSeconds":3600000}}}
        """
      let base = "/datasync/v2/com.acme.app/settings"
      let saved = try await tree.server.send("PUT", "\(base)/webhooks", key: tree.secret, json: webhooks)
      #expect(saved.status == 200 && saved.text == #"{"webhooks":\#(webhooks)}"#, "\(saved.text)")
      #expect(try await tree.server.send("GET", base, key: tree.secret).text == saved.text)
    }
  }

  @Test func `A webhook's query is shown nowhere, and stays when the settings are sent back`() async throws {
    try await withTree { tree in
      let base = "/datasync/v2/com.acme.app/settings"
      func hook(_ uri: String) -> String {
        #"{"destinations":{"h":{"enabled":true,"subscribeDurationSeconds":60,"destinationUris":[{"uri":"\#(uri)"}]}}}"#
      }
      let saved = try await tree.server.send(
        "PUT", "\(base)/webhooks", key: tree.secret, json: hook("https://hooks.example.com/a?key=canary"))
      let shown = try await tree.server.send("GET", base, key: tree.secret)
      #expect(saved.status == 200 && saved.text == shown.text && shown.text.contains("https://hooks.example.com/a\""))
      let back = try await tree.server.send(
        "PUT", "\(base)/webhooks", key: tree.secret, json: hook("https://hooks.example.com/a"))
      #expect(back.text == shown.text)
      let audit = try await tree.server.send("GET", "/api/v1/audit", key: tree.admin)
      #expect([saved, shown, back, audit].allSatisfy { !$0.text.contains("canary") })
    }
  }

  @Test func `Webhooks lead to the internet alone, with certificates and the one header`() async throws {
    try await withTree { tree in
      func save(_ destination: String) async throws -> TestReply {
        try await tree.server.send(
          "PUT", "/datasync/v2/com.acme.app/settings/webhooks", key: tree.secret,
          json: #"{"destinations":{"myWebhook":\#(destination)}}"#)
      }
      func hook(_ uri: String, _ accept: String = "false", header: String = "X-webcom-webhook-token") -> String {
        """
        {"enabled":true,"subscribeDurationSeconds":3600000,"destinationUris":[{"uri":"\(uri)","acceptAnyCertificate":\(accept)}],\
        "headers":{"\(header)":"bar"}}
        """
      }
      for refused in [
        hook("http://hooks.example.com/a"), hook("https://127.0.0.1/a"), hook("https://localhost/a"),
        hook("https://[::1]/a"), hook("https://hooks.example.com:22/a"), hook("https://10.0.0.1/"),
        hook("https://hooks.example.com/a", "true"), hook("https://hooks.example.com/a", header: "Host"),
      ] {
        #expect(try await save(refused).status == 400, "\(refused)")
      }
      #expect(try await save(hook("https://hooks.example.com/a")).status == 200)
      let settings = try await tree.server.send("GET", "/datasync/v2/com.acme.app/settings", key: tree.secret).json
      #expect(settings["webhooks"]?["destinations"]?["myWebhook"]?["subscribeDurationSeconds"] == 3_600_000)
      #expect(try await tree.subscribe(#"{"path":"/a","event":"value","webhook":"myWebhook"}"#).status == 200)
      // The audit log tells of the change, and of a new token, and shows no token.
      #expect(try await save(hook("https://hooks.example.com/a").replacing(#""bar""#, with: #""other""#)).status == 200)
      let log = try await tree.server.send("GET", "/api/v1/audit", key: tree.admin)
      let actions = try (log.json.array("items") ?? []).compactMap { $0.string("action") }
      #expect(actions.filter { $0 == "datasync.webhooks" }.count == 2)
      #expect(!log.text.contains(#""bar""#) && !log.text.contains(#""other""#))
    }
  }
}

/// A server with the data tree of com.acme.app.
private struct TreeServer: Sendable {
  let server: TestWebServer
  let secret: String
  let admin: String

  func send(_ method: String, _ path: String, _ json: String? = nil) async throws -> TestReply {
    try await server.send(method, "/datasync/v2/com.acme.app/data\(path)", key: secret, json: json)
  }

  func subscribe(_ json: String) async throws -> TestReply {
    try await server.send("POST", "/datasync/v2/com.acme.app/subscriptions", key: secret, json: json)
  }
}

private func withTree(_ body: @escaping @Sendable (TreeServer) async throws -> Void) async throws {
  try await withManagementServer { managed in
    for (app, type) in [("com.acme.app", 6), ("com.acme.other", 6)] {
      _ = try await managed.send(
        "POST", "/api/v1/apps", json: #"{"name":"Acme","appId":"\#(app)","appType":\#(type)}"#)
    }
    let enabled = try await managed.send("POST", "/api/v1/datasync", json: #"{"app":"com.acme.app"}"#)
    let app = try enabled.json.string("app")
    #expect(enabled.status == 201 && app == "com.acme.app")
    try await body(
      TreeServer(server: managed.server, secret: try enabled.json.string("secret") ?? "", admin: managed.key))
  }
}
