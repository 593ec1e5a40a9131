import Support
import Testing
import Web

/// What becomes of the connection behind a reply.
@Suite struct ConnectionTests {
  private let health = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test func `A reply to HEAD has no body, whatever it says, and the next request is answered`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let paths = [
        "/healthz", "/readyz", "/metrics", "/openapi.json", "/swagger/", "/nothing", "/api/v1/keys", "/api/v1/keys/1",
        "/c/x", "/r/x", "/rest/1/apps/a/pushdevices",
      ]
      for path in paths {
        let reply = try await raw.send("HEAD \(path) HTTP/1.1\r\nHost: x\r\n\r\n\(health)")
        let parts = reply?.text.split(separator: "\r\n\r\n") ?? []
        #expect(parts.count == 3, "\(path): \(reply?.text ?? "")")
        #expect(parts.dropFirst().first?.hasPrefix("HTTP/1.1 200 OK") == true, "\(path)")
        #expect(parts.last == #"{"status":"ok"}"#, "\(path)")
      }
    }
  }

  @Test func `What answers GET answers HEAD`() async throws {
    try await withManagementServer { managed in
      for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/keys"] {
        let head = try await managed.server.send("HEAD", path, key: managed.key)
        let get = try await managed.server.send("GET", path, key: managed.key)
        #expect(head.status == 200 && head.body.isEmpty, "\(path)")
        #expect(head.header("Content-Type") == get.header("Content-Type"))
      }
    }
  }

  @Test(arguments: [
    ("POST /api/v1/lists", "Content-Type: application/json", 401), ("PUT /api/v1/templates/x", "X: y", 401),
    ("POST /api/v1/lists", "KEY", 415), ("POST /nothing", "X: y", 404), ("POST /healthz", "X: y", 405),
    ("GET /healthz", "X: y", 200),
  ])
  func `A body that never ends is not waited for`(line: String, field: String, status: Int) async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let field = field == "KEY" ? "Authorization: Bearer \(managed.key)" : field
      let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
      let reply = try await raw.send(
        "\(line) HTTP/1.1\r\nHost: x\r\n\(field)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)", thenForEver: chunk)
      #expect(reply?.status == status)
      #expect(reply?.text.lowercased().contains("\r\nconnection: close\r\n") == true)
    }
  }

  @Test func `A body that is too large is refused before its end`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let fields = """
        Host: x\r\nAuthorization: Bearer \(managed.key)\r\nContent-Type: application/json\r
        Transfer-Encoding: chunked\r\n\r\n
        """
      let chunk = "10000\r\n" + String(repeating: " ", count: 65_536) + "\r\n"
      let reply = try await raw.send(
        "POST /api/v1/lists HTTP/1.1\r\n\(fields)\(chunk)\(chunk)", thenForEver: chunk)
      #expect(reply?.status == 413)
      #expect(reply?.text.contains("larger than 65536 bytes") == true)
    }
  }

  @Test func `A client that sends on behind its request gets the whole of a long last reply`() async throws {
    try await withTestWebServer([try DescriptionRoutes(publicURL: "http://x")]) { server in
      let whole = try await server.send("GET", "/openapi.json").text
      let body = String(repeating: "x", count: 1 << 20)
      // The client takes little at a time. So the system holds most of the reply when the server has written the last of it.
      let reply = try await RawHTTP(server.url).send(
        untilClosed: "GET /openapi.json HTTP/1.1\r\nHost: x\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)",
        receiveBuffer: 4096)
      let text = try #require(reply?.text)
      #expect(text.lowercased().contains("\r\nconnection: close\r\n"))
      #expect(text.hasSuffix("\r\n\r\n\(whole)"), "\(text.utf8.count) bytes of more than \(whole.utf8.count)")
    }
  }

  @Test func `A refusal of a request that came in whole leaves the connection open`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let refused = "POST /api/v1/lists HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
      let reply = try await raw.send("\(refused)\(refused)\(health)")
      #expect(reply?.text.split(separator: "HTTP/1.1 401").count == 2)
      #expect(reply?.text.hasSuffix(#"{"status":"ok"}"#) == true, "\(reply?.text ?? "")")
    }
  }

  @Test(arguments: [
    ("HTTP/1.1", "Connection: close", true), ("HTTP/1.0", "X: y", true), ("HTTP/1.0", "Connection: keep-alive", false),
    ("HTTP/1.1", "X: y", false),
  ])
  func `The connection ends when the client says so`(version: String, field: String, ends: Bool) async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let request = "GET /healthz \(version)\r\nHost: x\r\n\(field)\r\n\r\n"
      if ends {
        let reply = try await raw.send(untilClosed: request)
        #expect(reply?.text.lowercased().contains("\r\nconnection: close\r\n") == true)
        #expect(reply?.text.hasSuffix(#"{"status":"ok"}"#) == true)
      } else {
        let reply = try await raw.send(request + request + health)
        #expect(reply?.text.split(separator: #"{"status":"ok"}"#).count == 3)
      }
    }
  }

  @Test func `A client that waits to be asked for its body is asked, unless it is refused first`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let fields = "Host: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: 15\r\n\r\n"
      let taken = try await raw.send(
        "POST /api/v1/lists HTTP/1.1\r\nAuthorization: Bearer \(managed.key)\r\n\(fields)",
        waitFor: "HTTP/1.1 100 Continue\r\n\r\n", then: #"{"name":"some"}"#)
      #expect(taken?.status == 201, "\(taken?.text ?? "")")
      let refused = try await raw.send("POST /api/v1/lists HTTP/1.1\r\n\(fields)")
      #expect(refused?.status == 401)
    }
  }

  @Test func `Input that is not HTTP gets a 400 that says so`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      for text in [
        "hello\r\n\r\n", "GET /healthz HTTP/9.9\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n",
        "\u{16}\u{3}\u{1}", "GET / HTTP/1.1\r\nX: \(String(repeating: "x", count: 40_000))\r\n\r\n",
      ] {
        let reply = try await raw.send(untilClosed: text)
        #expect(reply?.status == 400, "\(text.prefix(40))")
        #expect(reply?.text.contains(#"{"error":"This is not a valid HTTP request"#) == true)
      }
      let behind = try await raw.send("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nhello\r\n\r\n")
      #expect(behind?.status == 200)
      #expect(behind?.text.contains("HTTP/1.1 400 Bad Request") == true)
      #expect(try await raw.send("") == nil)
    }
  }

  @Test func `A client that reads no replies is not read from, and loses none of them`() async throws {
    try await withManagementServer { managed in
      let raw = try RawHTTP(managed.server.url)
      let padding = String(repeating: "x", count: 8192)
      let request = "GET /swagger/ HTTP/1.1\r\nHost: x\r\nX-Padding: \(padding)\r\n\r\n"
      let (sent, replies) = try await raw.fill(with: request)
      #expect(sent > 1 && sent < 10_000)
      // The last request may have been sent in part.
      let answers = replies.split(separator: "HTTP/1.1 200 OK").count
      #expect(answers == sent)
    }
  }

  @Test func `A connection without a whole request is closed after a time`() async throws {
    var settings = WebServerSettings()
    // Long enough for a request that is sent at once, on a busy machine.
    settings.limits.idle = .seconds(3)
    settings.limits.head = .seconds(3)
    settings.limits.window = .seconds(3)
    try await withTestWebServer([HealthRoutes { nil }], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.send(untilClosed: "") == nil)
      #expect(try await raw.send(untilClosed: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")?.status == 200)
      #expect(try await raw.send(untilClosed: "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{") != nil)
      #expect(try await raw.send(untilClosed: "GET /healthz HTTP/1.1\r\nHo") == nil)
    }
  }

  @Test func `One connection more than may be waits until another ends`() async throws {
    var settings = WebServerSettings()
    settings.connections = 1
    try await withTestWebServer([HealthRoutes { nil }], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      let (order, served) = AsyncStream.makeStream(of: String.self)
      let (connected, connect) = AsyncStream.makeStream(of: Void.self)
      let request = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          let replies = try await raw.converse { exchange in
            let first = exchange(request)
            connect.finish()
            let others = (0..<200).map { _ in exchange(request) }
            served.yield("first")
            return [first] + others
          }
          #expect(replies.allSatisfy { $0?.status == 200 })
        }
        for await _ in connected {}
        group.addTask {
          let reply = try await raw.send(request)
          #expect(reply?.status == 200)
          served.yield("second")
        }
        try await group.waitForAll()
      }
      served.finish()
      #expect(await order.reduce(into: []) { $0.append($1) } == ["first", "second"])
    }
  }

  @Test func `A server may end while clients connect`() async throws {
    let routes = [try DescriptionRoutes(publicURL: "http://x")]
    for _ in 0..<20 {
      let clients = try await withTestWebServer(routes) { server in
        let raw = try RawHTTP(server.url)
        #expect(try await raw.send(health)?.status == 404)
        return (0..<4).map { _ in
          Task { for _ in 0..<100 { guard (try? await raw.send(health)) != nil else { return } } }
        }
      }
      for client in clients { await client.value }
    }
  }
}
