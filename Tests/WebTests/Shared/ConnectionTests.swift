import Support
import Testing

/// What becomes of the connection behind a reply.
@Suite struct ConnectionTests {
  private let health = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"

  @Test func `A reply to HEAD has no body, whatever it says, and the next request is answered`() async throws {
    try await withManagedSite { managed in
      let raw = try RawHTTP(managed.site.url)
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
    try await withManagedSite { managed in
      for path in ["/healthz", "/readyz", "/metrics", "/openapi.json", "/api/v1/keys"] {
        let head = try await managed.site.send("HEAD", path, key: managed.key)
        let get = try await managed.site.send("GET", path, key: managed.key)
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
    try await withManagedSite { managed in
      let raw = try RawHTTP(managed.site.url)
      let field = field == "KEY" ? "Authorization: Bearer \(managed.key)" : field
      let chunk = "10000\r\n" + String(repeating: "x", count: 65_536) + "\r\n"
      let reply = try await raw.send(
        "\(line) HTTP/1.1\r\nHost: x\r\n\(field)\r\nTransfer-Encoding: chunked\r\n\r\n\(chunk)", thenForEver: chunk)
      #expect(reply?.status == status)
      #expect(reply?.text.lowercased().contains("\r\nconnection: close\r\n") == true)
    }
  }

  @Test func `A body that is too large is refused before its end`() async throws {
    try await withManagedSite { managed in
      let raw = try RawHTTP(managed.site.url)
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

  @Test func `A refusal of a request that came in whole leaves the connection open`() async throws {
    try await withManagedSite { managed in
      let raw = try RawHTTP(managed.site.url)
      let refused = "POST /api/v1/lists HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"
      let reply = try await raw.send("\(refused)\(refused)\(health)")
      #expect(reply?.text.split(separator: "HTTP/1.1 401").count == 2)
      #expect(reply?.text.hasSuffix(#"{"status":"ok"}"#) == true, "\(reply?.text ?? "")")
    }
  }
}
