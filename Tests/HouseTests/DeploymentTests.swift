import Foundation
import Testing

/// What the files of deployments promise in SECURITY.md.
@Suite struct DeploymentTests {
  /// The lines of a service in docker-compose.yml.
  private static func service(_ name: String) throws -> String {
    let compose = try House.text("docker-compose.yml")
    let service = try Regex("(?m)^  \(name):\\n((?:(?:    .*)?\\n)*)")
    return String(try #require(compose.firstMatch(of: service)?.0))
  }

  @Test func `docker-compose publishes ports on the loopback only`() throws {
    let compose = try House.text("docker-compose.yml")
    let ports = compose.matches(of: #/(?m)^ +- "([0-9.:]*):\d+"$/#).map { String($0.1) }
    #expect(!ports.isEmpty && ports.allSatisfy { $0.hasPrefix("127.0.0.1:") }, "\(ports)")
  }

  @Test func `docker-compose gives each service only the secrets that it needs`() throws {
    let migrate = try Self.service("migrate")
    #expect(migrate.contains("postgres://pushcart_owner:") && !migrate.contains("MASTER_KEY"), "\(migrate)")
    let hub = try Self.service("hub")
    #expect(hub.contains("postgres://pushcart_hub:") && hub.contains("PUSHCART_MASTER_KEY"), "\(hub)")
    #expect(!hub.contains("OWNER_PASSWORD") && !hub.contains("POSTGRES_PASSWORD"), "\(hub)")
    #expect(try Self.service("postgres").contains("./docker/roles.sql:/docker-entrypoint-initdb.d/"))
  }

  @Test func `docker-compose sets what the example of nginx expects`() throws {
    let (hub, nginx) = (try Self.service("hub"), try House.text("deploy/nginx.conf"))
    let upstreams = nginx.matches(of: #/(?m)^  server (127\.0\.0\.1:(\d+));$/#).map { (String($0.1), String($0.2)) }
    #expect(upstreams.map(\.0) == ["127.0.0.1:8080", "127.0.0.1:9090"])
    for (address, port) in upstreams { #expect(hub.contains("\"\(address):\(port)\""), "\(address)") }
    #expect(hub.contains("PUSHCART_OPERATIONS_PORT: ${PUSHCART_OPERATIONS_PORT:-9090}"))
    #expect(hub.contains("PUSHCART_OPERATIONS_HOST: 0.0.0.0") && hub.contains("PUSHCART_PUBLIC_URL: "))
    // Whatever comes through a published port has the address of the network's gateway.
    let compose = try House.text("docker-compose.yml")
    let proxy = try #require(hub.firstMatch(of: #/PUSHCART_TRUSTED_PROXIES: (\S+)/#)?.1)
    #expect(compose.contains("gateway: \(proxy)\n"))
  }

  @Test func `In the example of nginx, what is for operators is closed to all but their networks`() throws {
    // A location has no addresses of another one, be it within that or not.
    let locations = try House.text("deploy/nginx.conf").matches(of: #/(?m)^  location (.*) \{\n((?:    .*\n)*)  \}$/#)
    let closed = locations.filter { $0.2.contains("proxy_pass http://pushcart_operations;") }
    for exports in ["/api/v1/exports/", "= /console/exports"] {
      let location = try #require(closed.first { $0.1 == exports }, "\(exports)")
      #expect(location.2.contains("proxy_buffering    off;"), "\(exports)")
    }
    for location in closed {
      #expect(location.2.contains("    allow 10.0.0.0/8;\n    deny  all;\n"), "\(location.1)")
    }
    for location in locations where ["/api/", "/console"].contains(where: { location.1.contains($0) }) {
      #expect(location.2.contains("proxy_pass http://pushcart_operations;"), "\(location.1)")
    }
  }

  @Test(arguments: [
    "/api/v1/imports/7/file", "/console/imports/new", "/console/imports/7/file", "/rest/1/lists/2/recipients/7",
  ])
  func `The example of nginx passes on large files as they arrive`(path: String) throws {
    let locations = try House.text("deploy/nginx.conf").matches(of: #/(?m)^  location ~ (.*) \{\n((?:    .*\n)*)  \}$/#)
    let found = try locations.filter { try path.firstMatch(of: Regex(String($0.1))) != nil }
    #expect(found.count == 1)
    #expect(found.allSatisfy { $0.2.contains("client_max_body_size    4g;") })
    #expect(found.allSatisfy { $0.2.contains("proxy_request_buffering off;") })
  }

  @Test func `The release binary is stripped wherever it is built`() throws {
    for file in ["Makefile", "Dockerfile"] {
      let flags = try House.text(file).matches(of: #/-c release.*/#).map { String($0.0) }
      #expect(!flags.isEmpty && flags.allSatisfy { $0.contains("-Xlinker -s") }, "\(file): \(flags)")
    }
  }

  @Test func `Running and testing build with the same flags, so nothing is compiled twice`() throws {
    let makefile = try House.text("Makefile")
    let run = try #require(makefile.firstMatch(of: #/(?m)^run:.*\n((?:\t.*\n)*)/#)?.1)
    #expect(run.contains("swift build --product pushcart\n") && !run.contains("release"), "\(run)")
    for file in [".ci/test", ".ci/run"] {
      let builds = try House.text(file).matches(of: #/\bswift (?:build|test) .*/#).map { String($0.0) }
      #expect(
        !builds.isEmpty && builds.allSatisfy { !$0.contains(#/ (-c|-X\w+|--static-swift-stdlib)\b/#) }, "\(builds)")
    }
  }
}
