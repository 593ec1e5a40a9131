import Foundation
import Hummingbird
import NIOCore
import Support
import Testing
import Web

/// Clients that try to occupy the hub rather than to use it.
@Suite struct HostileClientTests {
  private let health = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

  /// Limits that a test reaches soon.
  private var settings: WebServerSettings {
    var settings = WebServerSettings()
    settings.limits.head = .milliseconds(200)
    settings.limits.window = .milliseconds(200)
    settings.limits.linger = .milliseconds(200)
    return settings
  }

  @Test(arguments: [
    ("GET /healthz", "Connection: Upgrade\r\nUpgrade: anything", 200),
    ("GET /healthz", "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk", 200),
    ("GET /fast/x", "Connection: Upgrade\r\nUpgrade: websocket", 200),
    ("POST /healthz", "Connection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 2", 405),
    ("CONNECT example.com:80", "X: y", 404),
  ])
  func `An upgrade is answered without upgrading, and nothing behind it is collected`(
    line: String, fields: String, status: Int
  ) async throws {
    try await withTestWebServer([HealthRoutes { nil }, Slow()]) { server in
      let body = fields.contains("Content-Length") ? "{}" : ""
      let request = "\(line) HTTP/1.1\r\nHost: x\r\n\(fields)\r\n\r\n\(body)"
      let padding = String(repeating: "x", count: 65_536)
      let reply = try await RawHTTP(server.url).send(request, thenForEver: padding)
      #expect(reply?.status == status)
      #expect(reply?.text.lowercased().contains("\r\nconnection: close\r\n") == true)
    }
  }

  @Test func `A client that takes none of a long reply is cut off`() async throws {
    try await withTestWebServer([Slow()], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff("GET /long HTTP/1.1\r\nHost: x\r\n\r\n"))
    }
  }

  @Test func `A client that takes none of a reply that is made as it is taken is cut off`() async throws {
    var settings = settings
    settings.limits.streamedReply = .milliseconds(200)
    try await withTestWebServer([Slow()], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n"))
    }
  }

  @Test(arguments: ["/healthz", "/fast/x", "/long"])
  func `A client that pipelines requests and reads nothing is cut off`(path: String) async throws {
    try await withTestWebServer([HealthRoutes { nil }, Slow()], settings: settings) { server in
      let request = "GET \(path) HTTP/1.1\r\nHost: x\r\n\r\n"
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff(request, then: String(repeating: request, count: 500)))
    }
  }

  @Test(arguments: [
    ("PUT /body", "Content-Length: 60000"), ("PUT /body", "Transfer-Encoding: chunked"),
    ("PUT /nothing", "Content-Length: 60000"), ("PUT /nothing", "Content-Length: 1000000"),
    ("GET /healthz", "Content-Length: 60000"), ("GET /healthz", "Transfer-Encoding: chunked"),
  ])
  func `A client that trickles a body is cut off, before the reply and after it`(line: String, field: String)
    async throws
  {
    try await withTestWebServer([HealthRoutes { nil }, Slow()], settings: settings) { server in
      let head = "\(line) HTTP/1.1\r\nHost: x\r\n\(field)\r\n\r\n"
      let piece = field.contains("chunked") ? "1\r\nx\r\n" : "x"
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff(head, then: piece))
    }
  }

  @Test func `A client that trickles the head of a request is cut off`() async throws {
    try await withTestWebServer([HealthRoutes { nil }], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.isCutOff("GET /healthz HTTP/1.1\r\n", then: "X: y\r\n"))
      #expect(try await raw.isCutOff(health + "GET /healthz HTTP/1.1\r\n", then: "X: y\r\n"))
      #expect(try await raw.isCutOff("\r\n", then: "\r\n"))
    }
  }

  @Test func `A connection more than one address may have is closed, and another may come when one ends`() async throws
  {
    var settings = WebServerSettings()
    settings.limits.connectionsPerAddress = 2
    try await withTestWebServer([HealthRoutes { nil }], settings: settings) { [health] server in
      let raw = try RawHTTP(server.url)
      // They may be counted in any order.
      let statuses = try await raw.send(health, onConnections: 3).map { $0?.status }
      #expect(statuses.count { $0 == 200 } == 2)
      #expect(statuses.contains(nil))
      // The server hears of the ends a little later.
      var reply: RawHTTP.Reply?
      while reply == nil { reply = try await raw.send(health) }
      #expect(reply?.status == 200)
    }
  }

  @Test func `Clients of a trusted proxy are counted apart, and its connections are not counted`() async throws {
    var settings = WebServerSettings()
    settings.limits.connectionsPerAddress = 1
    settings.requestsPerAddress = 1
    settings.trustedProxies = try #require(TrustedProxies("127.0.0.1"))
    try await withTestWebServer([HealthRoutes { nil }], settings: settings) { server in
      let raw = try RawHTTP(server.url)
      for client in ["192.0.2.1", "192.0.2.2"] {
        let request = "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: \(client)\r\nConnection: close\r\n\r\n"
        let statuses = try await raw.send(request, onConnections: 8).map { $0?.status }
        #expect(statuses.contains(200) && statuses.contains(429) && !statuses.contains(nil))
      }
    }
  }

  @Test func `A client that asks too often gets 429 with Retry-After, with or without a body`() async throws {
    var settings = WebServerSettings()
    settings.requestsPerAddress = 1
    try await withTestWebServer([HealthRoutes { nil }, Slow()], settings: settings) { server in
      let requests = String(repeating: "PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}", count: 20)
      let text = try await RawHTTP(server.url).send(requests + health)?.text ?? ""
      let statuses = text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) }
      #expect(statuses.count == 21)
      #expect(statuses.first == "204" && statuses.contains("429"))
      #expect(text.contains("\r\nRetry-After: 1\r\n"))
      #expect(text.contains(#"{"error":"There are too many requests. Try again later."}"#))
    }
  }

  @Test(arguments: [
    [], ["Host: x", "Host: x"], ["Host: "], ["Host: a b"], ["Host: a/b"], ["Host: a@b"], ["Host: x, y"], ["Host: a:b"],
    ["Host: [::1"], ["Host: a\\b"], ["Host: a?b"], ["Host: a#b"],
  ])
  func `A missing, repeated or malformed Host is a 400 that closes the connection`(fields: [String]) async throws {
    try await withTestWebServer([HealthRoutes { nil }, Slow()]) { server in
      for path in ["/healthz", "/fast/x"] {
        let head = (["GET \(path) HTTP/1.1"] + fields).joined(separator: "\r\n")
        let reply = try await RawHTTP(server.url).send(untilClosed: "\(head)\r\n\r\n\(health)")
        #expect(reply?.status == 400)
        #expect(reply?.text.components(separatedBy: "HTTP/1.1 ").count == 2)
      }
    }
  }

  @Test(arguments: ["x", "x:80", "push.example.com", "127.0.0.1:8080", "[::1]", "[::1]:8080", "a_b", "X"])
  func `A host with or without a port is served`(host: String) async throws {
    try await withTestWebServer([HealthRoutes { nil }]) { server in
      let reply = try await RawHTTP(server.url).send("GET /healthz HTTP/1.1\r\nHost: \(host)\r\n\r\n")
      #expect(reply?.status == 200)
    }
  }

  @Test func `HTTP-1-0 needs no Host, and with chunks its connection is closed`() async throws {
    try await withTestWebServer([HealthRoutes { nil }, Slow()]) { server in
      let raw = try RawHTTP(server.url)
      #expect(try await raw.send("GET /healthz HTTP/1.0\r\n\r\n")?.status == 200)
      let fields = "Host: x\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked"
      let reply = try await raw.send(untilClosed: "PUT /body HTTP/1.0\r\n\(fields)\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
      #expect(reply?.text.lowercased().contains("\r\nconnection: close\r\n") == true)
    }
  }

  @Test(arguments: ["gzip, chunked", "gzip", "identity", "chunked, chunked", "chunked\r\nTransfer-Encoding: chunked"])
  func `A transfer encoding but chunked is refused and closes the connection`(encoding: String) async throws {
    try await withTestWebServer([Slow()]) { server in
      let head = "PUT /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: \(encoding)\r\n\r\n"
      let reply = try await RawHTTP(server.url).send(untilClosed: head + "2\r\n{}\r\n0\r\n\r\n")
      #expect(reply?.status == 400)
    }
  }

  @Test func `Chunk extensions and trailers beyond a limit are refused`() async throws {
    try await withTestWebServer([Slow()]) { server in
      let raw = try RawHTTP(server.url)
      let head = "PUT /body HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      let small = head + "2;name=value\r\n{}\r\n0\r\nX-Trailer: y\r\n\r\n"
      #expect(try await raw.send(small)?.status == 204)
      // What came along with the head is not counted, so it takes some more than the limit.
      let long = String(repeating: "x", count: 400_000)
      #expect(try await raw.send("\(head)2;\(long)", thenForEver: long)?.status == 400)
      let chunks = String(repeating: "1;\(String(repeating: "x", count: 1000))\r\n{\r\n", count: 400)
      #expect(try await raw.send(head + chunks, thenForEver: chunks)?.status == 400)
    }
  }

  @Test(arguments: ["65537", "4000000000", "9223372036854775808", "18446744073709551615"])
  func `A length beyond the limit is a 413 at once`(length: String) async throws {
    try await withTestWebServer([Slow()]) { server in
      let head = "PUT /body HTTP/1.1\r\nHost: x\r\nContent-Length: \(length)\r\n\r\n"
      let reply = try await RawHTTP(server.url).send(untilClosed: head)
      #expect(reply?.status == 413)
    }
  }

  @Test func `A path matches exactly`() async throws {
    try await withTestWebServer([HealthRoutes { nil }, Slow(), try DescriptionRoutes(publicURL: "http://x")]) {
      server in
      for path in ["/healthz/", "//healthz", "/healthz//", "//", "/fast/x/", "//fast/x", "/fast//x", "/swagger//"]
        as [String]
      {
        for target in [path, "http://x\(path)"] {
          let reply = try await RawHTTP(server.url).send("GET \(target) HTTP/1.1\r\nHost: x\r\n\r\n")
          #expect(reply?.status == 404, "\(target)")
        }
      }
      #expect(try await server.send("GET", "/swagger/").status == 200)
      #expect(try await server.send("GET", "/swagger").status == 308)
    }
  }
}

/// Routes that give hostile clients something to do.
private struct Slow: RouteSet {
  func addRoutes(to routes: RouteTable) {
    routes.put("/body") { request, _ in
      _ = try await request.bytes()
      return Response(status: .noContent)
    }
    routes.get("/long") { _, _ in
      Response(status: .ok, body: ResponseBody(byteBuffer: ByteBuffer(repeating: 0x7E, count: 1 << 25)))
    }
    routes.get("/stream") { _, _ in
      Response(
        status: .ok,
        body: ResponseBody { writer in
          for _ in 0..<100 { try await writer.write(ByteBuffer(repeating: 0x7E, count: 1 << 20)) }
          try await writer.finish(nil)
        })
    }
    routes.fast(.get, "/fast/{name}", bound: .noKey) { _, answer in
      answer { Response(status: .ok, body: .init(byteBuffer: ByteBuffer(repeating: 0x7E, count: 1000))) }
    }
  }
}
