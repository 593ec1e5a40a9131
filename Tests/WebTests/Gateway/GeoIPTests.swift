import Foundation
import Operations
import Support
import Testing
import Wire

@testable import Web

@Suite struct GeoIPTests {
  @Test func `A phone learns its address and country, and a proxy's word counts only where it is trusted`() async throws
  {
    let file = try MaxMindFile([
      ("::ffff:192.0.2.0", 96 + 24, "country", "NL", "Netherlands"), ("2001:db8::", 32, "country", "SE", "Sweden"),
      ("::ffff:198.51.100.0", 96 + 24, "registered_country", "JP", "Japan"),
    ])
    defer { file.remove() }
    let countries = try #require(CountryDatabase(file.path))
    var settings = WebServerSettings()
    settings.trustedProxies = try #require(TrustedProxies("127.0.0.1"))
    try await withTestWebServer([GeoIPRoutes(countries: countries)], settings: settings) { server in
      for (address, body) in [
        ("192.0.2.7", #"{"Ip":"192.0.2.7","CountryCode":"NL","CountryName":"Netherlands"}"#),
        ("2001:db8::1", #"{"Ip":"2001:db8::1","CountryCode":"SE","CountryName":"Sweden"}"#),
        ("198.51.100.255", #"{"Ip":"198.51.100.255","CountryCode":"JP","CountryName":"Japan"}"#),
        ("198.51.101.0", #"{"Ip":"198.51.101.0","CountryCode":null,"CountryName":null}"#),
      ] {
        let reply = try await server.send("GET", "/v1.0/geoip", headers: [("X-Forwarded-For", address)])
        #expect(reply.status == 200 && reply.text == body)
      }
    }
    try await withTestWebServer([GeoIPRoutes(countries: countries)]) { server in
      let reply = try await server.send("GET", "/v1.0/geoip", headers: [("X-Forwarded-For", "192.0.2.7")])
      #expect(reply.text == #"{"Ip":"127.0.0.1","CountryCode":null,"CountryName":null}"#)
    }
  }

  @Test func `Without a file the country is null, and a request that is refused learns nothing`() async throws {
    try await withTestWebServer([GeoIPRoutes(countries: nil)]) { server in
      let reply = try await server.send("GET", "/v1.0/geoip")
      #expect(reply.text == #"{"Ip":"127.0.0.1","CountryCode":null,"CountryName":null}"#)
    }
    let refusing = GeoIPRoutes(countries: nil) { _, _ in throw HTTPErrorResponse.unauthorized }
    try await withTestWebServer([refusing]) { server in
      let reply = try await server.send("GET", "/v1.0/geoip")
      #expect(reply.status == 401)
    }
  }

  @Test func `A file that is absent, of another form or cut off is no database, or knows nothing`() throws {
    #expect(CountryDatabase("/nonexistent.mmdb") == nil)
    let file = try MaxMindFile([("::ffff:192.0.2.0", 96 + 24, "country", "NL", "Netherlands")])
    defer { file.remove() }
    let whole = try Data(contentsOf: URL(filePath: file.path))
    let address = try #require(IPAddress("192.0.2.7"))
    #expect(
      CountryDatabase(file.path)?.country(of: address) == CountryDatabase.Country(code: "NL", name: "Netherlands"))
    for count in [0, 1, 100, whole.count / 2] {
      try whole.prefix(count).write(to: URL(filePath: file.path))
      #expect(CountryDatabase(file.path) == nil, "\(count)")
    }
    // The tree is gone: what the rest says of it cannot be true.
    try whole.dropFirst(600).write(to: URL(filePath: file.path))
    #expect(CountryDatabase(file.path)?.country(of: address).code == nil)
  }
}

/// A small file in MaxMind's format (MaxMind DB File Format Specification, version 2.0), with records of 24 bits.
private struct MaxMindFile {
  let path: String

  /// - Parameter networks: a network's address in IPv6 form and its bits, and which kind of country it has, with code and name.
  init(_ networks: [(address: String, bits: Int, kind: String, code: String, name: String)]) throws {
    // A node has two records: another node, or what is known. Negative numbers stand for the latter.
    var nodes: [[Int?]] = [[nil, nil]]
    var data: [UInt8] = []
    for network in networks {
      let offset = data.count
      let names = Self.map([("en", Self.text(network.name))])
      data += Self.map([(network.kind, Self.map([("iso_code", Self.text(network.code)), ("names", names)]))])
      var (node, bytes) = (0, Self.bytes(network.address))
      if network.address.hasPrefix("::ffff:") { bytes = [UInt8](repeating: 0, count: 12) + bytes[12...] }
      for bit in 0..<network.bits {
        let side = Int(bytes[bit / 8] >> (7 - bit % 8) & 1)
        if bit == network.bits - 1 {
          nodes[node][side] = -1 - offset
        } else if let next = nodes[node][side] {
          node = next
        } else {
          nodes.append([nil, nil])
          nodes[node][side] = nodes.count - 1
          node = nodes.count - 1
        }
      }
    }
    var file: [UInt8] = []
    for record in nodes.joined() {
      let value = record.map { $0 >= 0 ? $0 : nodes.count + 16 - 1 - $0 } ?? nodes.count
      file += [UInt8(value >> 16), UInt8(value >> 8 & 0xFF), UInt8(value & 0xFF)]
    }
    file += [UInt8](repeating: 0, count: 16) + data + [0xAB, 0xCD, 0xEF] + Array("MaxMind.com".utf8)
    file += Self.map([
      ("node_count", Self.number(6, nodes.count, bytes: 4)), ("record_size", Self.number(5, 24, bytes: 2)),
      ("ip_version", Self.number(5, 6, bytes: 2)), ("database_type", Self.text("Test")), ("languages", [0x00, 0x04]),
      ("binary_format_major_version", Self.number(5, 2, bytes: 2)),
      ("binary_format_minor_version", Self.number(5, 0, bytes: 2)),
      ("build_epoch", [0x08, 0x02] + [UInt8](repeating: 1, count: 8)),
      ("description", Self.map([])),
    ])
    path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).mmdb").path
    try Data(file).write(to: URL(filePath: path))
  }

  func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static func text(_ text: String) -> [UInt8] { [2 << 5 | UInt8(text.utf8.count)] + Array(text.utf8) }

  private static func number(_ type: UInt8, _ value: Int, bytes: Int) -> [UInt8] {
    [type << 5 | UInt8(bytes)] + (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * (bytes - 1 - $0))) }
  }

  private static func map(_ members: [(String, [UInt8])]) -> [UInt8] {
    [7 << 5 | UInt8(members.count)] + members.flatMap { text($0.0) + $0.1 }
  }

  private static func bytes(_ address: String) -> [UInt8] {
    var bytes = in6_addr()
    precondition(inet_pton(AF_INET6, address, &bytes) == 1)
    return withUnsafeBytes(of: bytes) { Array($0) }
  }
}
