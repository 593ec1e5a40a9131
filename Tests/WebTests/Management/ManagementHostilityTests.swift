import Foundation
import Support
import Testing

/// Bodies, headers and paths that nobody means well with, on every set of routes but Carma's. Each run tries the same ones.
@Suite struct ManagementHostilityTests {
  private static let bodyless = [
    "/api/v1/apps/1/check", "/api/v1/sendouts/1/start", "/api/v1/sendouts/1/pause", "/api/v1/sendouts/1/resume",
    "/api/v1/sendouts/1/cancel",
  ]
  private static let bodied = ["/api/v1/keys", "/api/v1/apps", "/api/v1/lists", "/api/v1/sendouts"]

  @Test func `An incomplete or malformed body is a 400 without a warning in the log`() async throws {
    let log = LogCapture()
    try await withManagementServer(logger: log.logger) { managed in
      try await setUp(managed)
      let raw = try RawHTTP(managed.server.url)
      for path in Self.bodyless + Self.bodied {
        let head = """
          POST \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(managed.key)\r
          Content-Type: application/json\r\n
          """
        for body in [
          "Content-Length: 500\r\n\r\n{}", "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
          "Transfer-Encoding: chunked\r\n\r\n5\r\n{", "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFFF\r\n",
        ] {
          let reply = try await raw.send(head + body)
          #expect(reply?.status == 400, "\(path) \(body.debugDescription): \(reply?.text ?? "")")
          #expect(reply?.text.matches(of: #/HTTP\/1\.1 /#).count == 1)
        }
      }
      #expect(log.lines.filter { $0.hasPrefix("error") || $0.hasPrefix("warning") } == [])
    }
  }

  @Test func `A body that is too large is a 413 that names the route's own limit`() async throws {
    try await withManagementServer { managed in
      try await setUp(managed)
      let limits =
        (Self.bodyless + Self.bodied.dropLast()).map { ("POST", $0, 65_536) } + [
          ("POST", "/api/v1/sendouts", 4 * 1024 * 1024),
          ("PUT", "/api/v1/templates/offer", 6 * 256 * 1024 + 4096),
        ]
      let raw = try RawHTTP(managed.server.url)
      for (method, path, limit) in limits {
        let head = """
          \(method) \(path) HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \(managed.key)\r
          Content-Type: application/json\r\nContent-Length: \(limit + 1)\r\n\r\n
          """
        let reply = try await raw.send(head + String(repeating: " ", count: limit + 1))
        #expect(reply?.status == 413, "\(path)")
        #expect(reply?.text.hasSuffix(#"{"error":"The body is larger than \#(limit) bytes."}"#) == true, "\(path)")
      }
    }
  }

  @Test func `Corrupted requests get no 5xx`() async throws {
    let log = LogCapture()
    try await withManagementServer(logger: log.logger) { managed in
      try await setUp(managed)
      let raw = try RawHTTP(managed.server.url)
      let lines = [
        "GET /api/v1/sendouts/1/pushes?state=failed&after=1&limit=10", "GET /api/v1/templates/offer?version=1",
        "GET /api/v1/reports/timeline?contact=a%40b", "GET /api/v1/keys?after=1", "DELETE /api/v1/keys/99",
        "PATCH /api/v1/apps/1", "POST /api/v1/sendouts/1/start", "GET /c/AQcMk0v9aPqT3ZsW8xYbR2Lc5g",
        "GET /r/AQcMk0v9aPqT3ZsW8xYbR2Lc5g", "GET /metrics", "HEAD /healthz", "GET /swagger/",
      ]
      try await withThrowingTaskGroup(of: Void.self) { group in
        for (seed, line) in lines.enumerated() {
          group.addTask {
            var dice = SeededGenerator(seed: UInt64(seed))
            for _ in 0..<60 {
              let head = """
                \(line) HTTP/1.1\r\nHost: x\r\nIdempotency-Key: k\r\nUser-Agent: a/1\r
                Authorization: Bearer \(managed.key)\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}
                """
              let request = dice.tamper(Array(head.utf8))
              let reply = try await raw.send(request)
              #expect(reply.map { $0.status < 500 } ?? true, "\(String(decoding: request, as: UTF8.self))")
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(log.lines.filter { $0.hasPrefix("error") } == [])
      #expect(try await managed.send("GET", "/api/v1/keys").status == 200)
    }
  }

  @Test func `Nonsensical headers and paths get a 4xx`() async throws {
    try await withManagementServer { managed in
      let key = "Authorization: Bearer \(managed.key)\r\n"
      let raw = try RawHTTP(managed.server.url)
      let requests = [
        "GET /api/v1/keys/%00 HTTP/1.1\r\n\(key)", "GET /api/v1/templates/%FF HTTP/1.1\r\n\(key)",
        "GET /api/v1/templates/%2e%2e%2f HTTP/1.1\r\n\(key)",
        "GET /api/v1/sendouts/99999999999999999999 HTTP/1.1\r\n\(key)",
        "GET /api/v1/sendouts/-1 HTTP/1.1\r\n\(key)", "GET /api/v1/sendouts?%00=1 HTTP/1.1\r\n\(key)",
        "GET /api/v1/reports/timeline HTTP/1.1\r\n\(key)",
        "POST /api/v1/sendouts/1/start HTTP/1.1\r\n\(key)Idempotency-Key: \(String(repeating: "k", count: 9000))\r\n",
        "POST /api/v1/sendouts/1/start HTTP/1.1\r\n\(key)Idempotency-Key: \u{1}\r\n",
        "POST /api/v1/sendouts/1/start HTTP/1.1\r\n\(key)Idempotency-Key:\r\n",
        "GET /api/v1/keys HTTP/1.1\r\nAuthorization: Bearer\r\n",
        "GET /api/v1/keys HTTP/1.1\r\nAuthorization: Basic YTpi\r\n",
        "GET /api/v1/keys HTTP/1.1\r\nAuthorization: Bearer pck_99999999999999999999_x\r\n",
        "GET /c/\(String(repeating: "A", count: 20_000)) HTTP/1.1\r\n", "GET /r/%00 HTTP/1.1\r\n",
        "POST /metrics HTTP/1.1\r\n", "GET /metrics/x HTTP/1.1\r\n", "TRACE /c/x HTTP/1.1\r\n",
        "GET /metrics HTTP/1.1\r\nX: \(String(repeating: "a", count: 100_000))\r\n",
      ]
      for request in requests {
        let reply = try await raw.send(request + "Host: x\r\nConnection: close\r\n\r\n")
        #expect(reply.map { (400..<500).contains($0.status) } ?? true, "\(reply?.status ?? 0): \(request.prefix(80))")
      }
    }
  }

  private func setUp(_ managed: ManagementServer) async throws {
    try await managed.addApp()
    _ = try await managed.send(
      "POST", "/api/v1/sendouts", json: #"{"appId":"com.acme.app","audience":{"all":true},"message":{"alert":"x"}}"#)
    _ = try await managed.send("PUT", "/api/v1/templates/offer", json: #"{"body":"x"}"#)
  }
}
