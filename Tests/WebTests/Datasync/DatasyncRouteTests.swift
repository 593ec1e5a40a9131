import Registry
import Support
import Testing
import Wire

@Suite struct DatasyncRouteTests {
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

  @Test(arguments: [
    "//", "/a//b", "/a/", "/.", "/a/..", "/%2e", "/a%2Fb", "/a%00b", "/%ff", "/%", "/%4", "/a/%2E%2e",
    "/" + String(repeating: "x", count: 769), String(repeating: "/a", count: 33),
  ])
  func `A path that names no place is refused, and reaches no other`(path: String) async throws {
    try await withTree { tree in
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

  @Test func `The secret decides the customer and the app, and a value has its limits`() async throws {
    try await withTree { tree in
      let other = try await tree.server.send("GET", "/datasync/v2/com.acme.other/data/a", key: tree.secret)
      #expect(other.status == 403)
      #expect(try await tree.server.send("GET", "/datasync/v2/com.acme.app/data/a", key: "pck_1_x").status == 401)
      #expect(try await tree.send("PUT", "/a", "\"\(String(repeating: "x", count: 1 << 20))\"").status == 413)
      #expect(try await tree.send("PUT", "/a", "1e999").status == 400)
      #expect(try await tree.send("PUT", "/a", #"{"a/b":1}"#).status == 400)
      #expect(try await tree.send("PATCH", "/a", "[]").status == 400)
      #expect(try await tree.server.send("PUT", "/datasync/v2/com.acme.app/data/a", key: tree.secret).status == 415)
      #expect(try await tree.send("GET", "").text == "null")
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
      let limited = #"{"path":"/a","event":"value","deviceToken":"t","service":"fcm","durationSeconds":60}"#
      let made = try await tree.subscribe(limited)
      let expiry = try made.json.string("expiresAt")
      #expect(made.status == 200 && expiry != nil)
      #expect(try await tree.subscribe(limited).json.integer("subscriptionId") == made.json.integer("subscriptionId"))
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
    }
  }
}

/// A server with the data tree of com.acme.app.
private struct TreeServer: Sendable {
  let server: TestWebServer
  let secret: String

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
    try await body(TreeServer(server: managed.server, secret: try enabled.json.string("secret") ?? ""))
  }
}
