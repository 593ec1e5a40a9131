import Content
import Foundation
import Operations
import Providers
import Registry
import Simulator
import Support
import Locking
import Testing
@testable import Web
import Wire

/// deploy/nginx.conf in real nginx, in front of a hub.
@Suite struct NginxTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
  private static let host = "push.example.com"

  @Test func `The proxy serves phones over TLS, and its log shows no link and no contact`() async throws {
    try await withProcessFixture { fixture in
      let operations = Port.free(1)[0]
      var pushcart = fixture.pushcart
      pushcart.environment["PUSHCART_OPERATIONS_PORT"] = "\(operations)"
      let hub = try await ProcessFixture.Hub(pushcart)
      try await withNginx(hub.server.url, operations: operations) { nginx in
        let put = try await nginx.curl(
          "/rest/1/apps/\(ProcessFixture.appID)/pushdevices",
          "-X PUT -H 'X-Carma-Authentication-Token: \(fixture.key)' -H 'Content-Type: application/json'",
          #"-d '{"originalId":"robin@example.com","deviceInfo":[{"devicetoken":"c0ffee42"}]}'"#)
        #expect(put.hasPrefix("200 2 "), "\(put)")
        #expect(try await nginx.curl("/c/canary-token?canary=1").hasPrefix("404 2 "))
        #expect(try await nginx.curl("//c/canary-token").hasPrefix("404 2 "))
        #expect(try await nginx.curl("/%63/canary-token").hasPrefix("404 2 "))
        let lookup = "/rest/1/apps/\(ProcessFixture.appID)/pushdevices/robin%40example.com?canary"
        #expect(try await nginx.curl(lookup, "-H 'X-Carma-Authentication-Token: \(fixture.key)'").hasPrefix("200 2 "))
        #expect(
          try await nginx.curl("/api/v1/reports/timeline?contact=robin", "-H 'Authorization: Bearer \(fixture.key)'")
            .hasPrefix("200 2 "))
        for path in ["/metrics", "/healthz", "//metrics", "/swagger/"] {
          #expect(try await nginx.curl(path).hasPrefix("404 2 "), "\(path)")
        }

        await hub.process.die()
        #expect(try await nginx.curl("/c/canary-token").hasPrefix("502 2 "))
        let logs = try await nginx.end()
        #expect(logs.contains(#""path":"/c/…","status":502"#), "\(logs)")
        #expect(logs.contains(#""path":"/rest/1/apps/com.acme.app/pushdevices/…","status":200"#), "\(logs)")
        for secret in ["canary", "robin", fixture.key] { #expect(!logs.contains(secret), "\(secret) in \(logs)") }
      }
    }
  }

  @Test func `The log shows what is listed, and nothing else that a client writes into the path of any route`()
    async throws
  {
    let routes = try await withDatabase { database in
      try RouteTable(
        WholeWebServer(
          database.pool, vault: try .fresh(),
          services: try PushServices(PushServiceSettings(), logger: TestServer.logger)
        ).routes
      ).entries.map(\.pattern)
    }
    #expect(Set(routes).count > 60)
    // Each once with numbers and app ids where it has some, and once with secrets in all places.
    let plain = [
      "customerId": "1", "appId": "com.acme.app", "app": "com.acme.app", "id": "7", "triggerId": "7",
      "subscriptionId": "7", "delivery": "7",
    ]
    let paths = Set(
      [plain, [:]].flatMap { values in
        routes.map { $0.replacing(#/\{(\w+)\}/#) { values[String($0.1)] ?? "canary-\($0.1)" } }
      })
    try await withNginx("http://127.0.0.1:1") { nginx in
      try await nginx.visit(
        paths.sorted() + ["/canary", "/api/v1/canary", "/api/v2/keys", "/rest/canary", "/c", "/canary/c/x"])
      let logs = try await nginx.end()
      #expect(logs.split(separator: "\n").count == paths.count + 6)
      #expect(!logs.contains("canary"), "\(logs.split(separator: "\n").filter { $0.contains("canary") })")
      for known in [
        "/rest/1/apps/com.acme.app/pushdevices", "/rest/1/apps/com.acme.app/pushdevices/…",
        "/rest/1/triggers/7/messages",
        "/api/v1/keys", "/api/v1/apps/7/identity/previous", "/api/v1/sendouts/7/pause", "/api/v1/sms/status-address",
        "/api/v1/templates/…", "/v1.0/deviceregistrations", "/v1.0/voiceotp/requestcode", "/gateway.ashx",
        "/pnm2/multisend", "/k/…", "/c/…", "/sms/status/…", "/datasync/v2/…", "…",
      ] { #expect(logs.contains(#""path":"\#(known)""#), "\(known)") }
      // What is managed by number shows nothing that is secret.
      for operation in ManagementOperations.all.map(\.description) {
        let named = operation.parameters.filter { $0.location == .path }
        guard named.allSatisfy({ if case .integer = $0.schema.shape { true } else { false } }) else { continue }
        let path = operation.path.replacing(#/\{(\w+)\}/#) { plain[String($0.1)] ?? "" }
        #expect(logs.contains(#""path":"\#(path)""#), "\(path) is not listed in deploy/nginx.conf")
      }
    }
  }

  @Test(arguments: ["/c/", "/r/", "/rest/1/apps/"])
  func `The proxy answers 429 to an address that asks the public routes too often`(route: String) async throws {
    // One a minute instead of fifty a second: then the burst alone decides, however slow the machine is.
    try await withNginx("http://127.0.0.1:1", rate: "1r/m") { nginx in
      let statuses = try await nginx.statuses("\(route)[1-260]")
      #expect(statuses.count == 260 && statuses.prefix(201).allSatisfy { $0 == "502" }, "\(statuses)")
      #expect(statuses.last == "429", "\(statuses)")
      #expect(try await nginx.curl("/api/v1/keys").hasPrefix("502 "), "management has no such limit")
      _ = try await nginx.end()
    }
  }

  @Test func `The proxy leads plain HTTP to TLS, and ends the handshake for another host`() async throws {
    try await withNginx("http://127.0.0.1:1") { nginx in
      let plain = try await Shell.run(
        "curl -s -o /dev/null -w '%{http_code} %{redirect_url}' "
          + "--resolve \(Self.host):\(nginx.plainPort):127.0.0.1 http://\(Self.host):\(nginx.plainPort)/c/token")
      #expect(plain.output == "301 https://\(Self.host)/c/token")
      let other = try await Shell.run(
        "curl -sk --resolve other.example.com:\(nginx.port):127.0.0.1 https://other.example.com:\(nginx.port)/c/token")
      #expect(other.status == 35, "\(other)")
      _ = try await nginx.end()
    }
  }

  @Test(arguments: ["h2c", "websocket"])
  func `The proxy asks the hub for no other protocol`(protocol: String) async throws {
    let upstream = try RecordingServer()
    try await withNginx("http://127.0.0.1:\(upstream.port)") { nginx in
      let reply = try await nginx.curl(
        "/c/token", "--http1.1 -H 'Connection: Upgrade, HTTP2-Settings' -H 'Upgrade: \(`protocol`)'",
        "-H 'HTTP2-Settings: AAMAAABkAAQAAP__'")
      #expect(reply.hasPrefix("200 1.1 "), "\(reply)")
      let head = upstream.head.lowercased()
      #expect(head.hasPrefix("get /c/token http/1.1\r\n"), "\(head)")
      #expect(!head.contains("\r\nupgrade:") && !head.contains("\r\nconnection:"), "\(head)")
      #expect(
        head.contains("\r\nhost: \(Self.host)\r\n") && head.contains("\r\nx-forwarded-proto: https\r\n"), "\(head)")
      _ = try await nginx.end()
    }
  }

  /// nginx with the example, its ports, paths and hub replaced by those of a test.
  private struct Nginx {
    let process: RunningPushcart
    let folder: String
    let port: Int
    let plainPort: Int

    /// Status, HTTP version and body of a request over TLS.
    func curl(_ path: String, _ options: String...) async throws -> String {
      let command =
        "curl -s --path-as-is --cacert cert.pem --resolve \(NginxTests.host):\(port):127.0.0.1 "
        + "-o body -w '%{http_code} %{http_version} ' \(options.joined(separator: " ")) "
        + "'https://\(NginxTests.host):\(port)\(path)'; cat body"
      return try await Shell.run(command, in: folder).output
    }

    /// The statuses of requests, one after the other, to the paths that a pattern of curl makes.
    func statuses(_ pattern: String) async throws -> [Substring] {
      let command =
        "curl -s --cacert cert.pem --resolve \(NginxTests.host):\(port):127.0.0.1 -o /dev/null -w '%{http_code} ' "
        + "'https://\(NginxTests.host):\(port)\(pattern)'"
      return try await Shell.run(command, in: folder).output.split(separator: " ")
    }

    /// Asks for each path once, with a query.
    func visit(_ paths: [String]) async throws {
      let urls = paths.map { path in
        "url = \"https://\(NginxTests.host):\(port)\(path)?canary=1\"\noutput = \"/dev/null\"\n"
      }
      try urls.joined().write(toFile: "\(folder)/urls", atomically: true, encoding: .utf8)
      let command =
        "curl -s --path-as-is --globoff --cacert cert.pem --resolve \(NginxTests.host):\(port):127.0.0.1 -K urls"
      #expect(try await Shell.run(command, in: folder).status == 0)
    }

    /// Ends it and gives its logs.
    func end() async throws -> String {
      process.signal(SIGQUIT)
      #expect(await process.exit() == 0, "\(process.text)")
      return try await Shell.run("cat pushcart.log pushcart-error.log 2>/dev/null", in: folder).output
    }
  }

  /// - Parameters:
  ///   - operations: the port that serves management.
  ///   - rate: of requests to the public routes.
  private func withNginx(
    _ hub: String, operations: Int = 1, rate: String = "50r/s", _ body: (Nginx) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory(named: "nginx")
    defer { directory.remove() }
    let folder = directory.path
    let ports = Port.free(2)
    let made = try await Shell.run(
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=\(Self.host) "
        + "-addext subjectAltName=DNS:\(Self.host) -keyout key.pem -out cert.pem", in: folder)
    #expect(made.status == 0)
    var site = try String(contentsOf: Self.root.appending(path: "deploy/nginx.conf"), encoding: .utf8)
    for (text, replacement) in [
      ("listen 80;", "listen 127.0.0.1:\(ports[1]);"), ("listen 443 ", "listen 127.0.0.1:\(ports[0]) "),
      ("/etc/ssl/pushcart/fullchain.pem", "\(folder)/cert.pem"), ("/etc/ssl/pushcart/privkey.pem", "\(folder)/key.pem"),
      ("/var/log/nginx/", "\(folder)/"), ("127.0.0.1:8080", String(hub.dropFirst("http://".count))),
      ("127.0.0.1:9090", "127.0.0.1:\(operations)"),
      ("rate=50r/s", "rate=\(rate)"),
    ] {
      #expect(site.contains(text), "\(text) is not in deploy/nginx.conf")
      site = site.replacing(text, with: replacement)
    }
    let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
    let temporary = kinds.map { "\($0)_temp_path \(folder)/\($0);" }.joined(separator: " ")
    let main = """
      \(getuid() == 0 ? "user root;" : "")
      daemon off; pid \(folder)/pid; error_log stderr notice;
      events {}
      http { access_log off; \(temporary) include \(folder)/site.conf; }
      """
    try site.write(toFile: "\(folder)/site.conf", atomically: true, encoding: .utf8)
    try main.write(toFile: "\(folder)/nginx.conf", atomically: true, encoding: .utf8)
    let process = try RunningPushcart(
      ["nginx", "-p", folder, "-c", "\(folder)/nginx.conf"], environment: ["PATH": "/usr/sbin:/usr/bin:/bin"],
      folder: folder, program: URL(filePath: "/usr/bin/env"))
    try await process.says("start worker process ")
    try await body(Nginx(process: process, folder: folder, port: ports[0], plainPort: ports[1]))
  }

  /// A server that answers one request and closes the connection.
  private final class RecordingServer: Sendable {
    let port: Int
    private let recorded = Mutex("")

    /// The head of the request; it is whole once the request is answered.
    var head: String { recorded.withLock { $0 } }

    init() throws {
      let listener = try Port()
      port = listener.number
      Thread.detachNewThread { [self] in
        let client = accept(listener.descriptor, nil, nil)
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while !String(decoding: bytes, as: UTF8.self).contains("\r\n\r\n") {
          let count = recv(client, &chunk, chunk.count, 0)
          guard count > 0 else { break }
          bytes += chunk.prefix(count)
        }
        recorded.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
        let reply = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
        _ = send(client, reply, reply.count, Int32(MSG_NOSIGNAL))
        close(client)
      }
    }
  }
}
