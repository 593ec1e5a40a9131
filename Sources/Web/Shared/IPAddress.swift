import NIOCore

/// An IP address. An IPv4 address is the same as its IPv6 form, `::ffff:a.b.c.d`.
struct IPAddress: Hashable, Sendable, CustomStringConvertible {
  fileprivate var bits: UInt128

  /// - Parameter address: nil stands for a client without one, such as of a Unix socket; it becomes `::`.
  init(_ address: SocketAddress?) {
    bits =
      switch address {
      case .v4: Self.mapped | Self.number(Self.bytes(of: address, at: 4, count: 4))
      case .v6: Self.number(Self.bytes(of: address, at: 8, count: 16))
      case .unixDomainSocket, nil: 0
      }
  }

  /// - Returns: nil if the text is not an address.
  init?(_ text: some StringProtocol) {
    guard let address = try? SocketAddress(ipAddress: String(text), port: 0) else { return nil }
    self.init(address)
  }

  /// All addresses that one client has: the address itself, or the network of 64 bits of an IPv6 address.
  var client: IPAddress {
    var client = self
    if !isIPv4 { client.bits &= ~UInt128(UInt64.max) }
    return client
  }

  var description: String {
    let bytes = (0..<16).map { UInt8(truncatingIfNeeded: bits >> (120 - 8 * $0)) }
    let packed = ByteBuffer(bytes: isIPv4 ? bytes[12...] : bytes[...])
    return (try? SocketAddress(packedIPAddress: packed, port: 0))?.ipAddress ?? ""
  }

  fileprivate var isIPv4: Bool { bits >> 32 == Self.mapped >> 32 }

  private static let mapped: UInt128 = 0xFFFF << 32

  /// The address within `sockaddr_in` or `sockaddr_in6`.
  private static func bytes(of address: SocketAddress?, at offset: Int, count: Int) -> ArraySlice<UInt8> {
    address?.withSockAddr { pointer, size in
      Array(UnsafeRawBufferPointer(start: pointer, count: size)[offset..<offset + count])[...]
    } ?? []
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt128 { bytes.reduce(0) { $0 << 8 | UInt128($1) } }
}

/// Addresses and networks, as settings name them.
public struct IPNetworks: Sendable {
  private struct Network {
    let address: UInt128
    let mask: UInt128
  }

  private var networks: [Network] = []

  /// None.
  public init() {}

  /// - Parameter text: addresses and networks, separated by commas, as in `127.0.0.1, 10.0.7.0/29, fd00::1`.
  /// - Returns: nil if any of them is neither.
  public init?(_ text: String) {
    for item in text.split(separator: ",", omittingEmptySubsequences: false).map({ $0.trimming(" ") }) {
      let parts = item.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
      guard let address = parts.first.flatMap({ IPAddress($0) }) else { return nil }
      let size = address.isIPv4 ? 32 : 128
      guard let prefix = parts.count == 1 ? size : Int(parts[1]), (0...size).contains(prefix) else { return nil }
      let mask = UInt128.max << (size - prefix)
      networks.append(Network(address: address.bits & mask, mask: mask))
    }
  }

  func contains(_ address: IPAddress) -> Bool {
    networks.contains { address.bits & $0.mask == $0.address }
  }
}

/// The reverse proxies whose `X-Forwarded-For` is believed. Anybody else could write any address into it.
public struct TrustedProxies: Sendable {
  private var networks = IPNetworks()

  /// Trusts nobody.
  public init() {}

  /// - Parameter text: as of `IPNetworks`.
  public init?(_ text: String) {
    guard let networks = IPNetworks(text) else { return nil }
    self.networks = networks
  }

  func contains(_ address: IPAddress) -> Bool { networks.contains(address) }

  /// Whose request it is: the last address of the chain that is no trusted proxy's.
  /// - Parameters:
  ///   - peer: the other end of the connection.
  ///   - forwarded: the values of `X-Forwarded-For`; each proxy has added the address of its own peer at the end.
  func client(of peer: IPAddress, _ forwarded: @autoclosure () -> [String]) -> IPAddress {
    guard contains(peer) else { return peer }
    var client = peer
    var hops = 0
    for value in forwarded().reversed() {
      // From the end, as a client can write as much in front as it likes.
      var rest = value[...]
      while !rest.isEmpty {
        let text = rest.lastIndex(of: ",").map { rest[rest.index(after: $0)...] } ?? rest
        rest = rest[..<text.startIndex].dropLast()
        let trimmed = text.trimming(" \t")
        if trimmed.isEmpty { continue }
        guard hops < Self.maximumHops, let address = IPAddress(Self.withoutPort(trimmed)) else { return client }
        client = address
        hops += 1
        if !contains(client) { return client }
      }
    }
    return client
  }

  /// No chain of proxies is longer.
  private static let maximumHops = 32

  /// Some proxies write the port along: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
  private static func withoutPort(_ text: Substring) -> Substring {
    if text.hasPrefix("[") { return text.dropFirst().prefix { $0 != "]" } }
    return text.count { $0 == ":" } == 1 ? text.prefix { $0 != ":" } : text
  }
}

extension StringProtocol {
  /// Without any of these characters at either end.
  fileprivate func trimming(_ characters: String) -> SubSequence {
    let tail = drop { characters.contains($0) }
    return tail.lastIndex { !characters.contains($0) }.map { tail[...$0] } ?? tail
  }
}
