/// An address of IPv4 or IPv6.
public struct HostAddress: Sendable, Hashable {
  /// Four bytes, or sixteen, in the order of the network.
  public let bytes: [UInt8]

  /// - Parameter bytes: four, or sixteen.
  public init(bytes: [UInt8]) { self.bytes = bytes }

  /// Reads four decimal numbers without leading zeros, or the text of IPv6 (RFC 4291, section 2.2); nil for anything else.
  public init?(_ text: String) {
    guard let bytes = text.contains(":") ? Self.version6(text) : Self.version4(text[...]) else { return nil }
    self.bytes = bytes
  }

  private static func version4(_ text: Substring) -> [UInt8]? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 4 else { return nil }
    let bytes = parts.compactMap { part in
      (1...3).contains(part.utf8.count) && (part == "0" || part.first != "0") && part.first != "+" ? UInt8(part) : nil
    }
    return bytes.count == 4 ? bytes : nil
  }

  private static func version6(_ text: String) -> [UInt8]? {
    let halves = text.split(separator: "::", omittingEmptySubsequences: false)
    guard halves.count <= 2 else { return nil }
    var sides: [[UInt8]] = []
    for (index, half) in halves.enumerated() {
      var bytes: [UInt8] = []
      let groups = half.isEmpty && halves.count == 2 ? [] : half.split(separator: ":", omittingEmptySubsequences: false)
      for (place, group) in groups.enumerated() {
        if group.contains("."), place == groups.count - 1, index == halves.count - 1 {
          guard let embedded = version4(group) else { return nil }
          bytes += embedded
        } else {
          guard (1...4).contains(group.utf8.count), group.first != "+", let number = UInt16(group, radix: 16) else {
            return nil
          }
          bytes += [UInt8(number >> 8), UInt8(truncatingIfNeeded: number)]
        }
      }
      sides.append(bytes)
    }
    let count = sides.reduce(0) { $0 + $1.count }
    guard sides.count == 2 ? count < 16 : count == 16 else { return nil }
    return sides[0] + [UInt8](repeating: 0, count: 16 - count) + (sides.count == 2 ? sides[1] : [])
  }

  /// Whether it is one of the internet's, which anybody may be told to connect to. Networks of private, shared, local or special use
  /// are not (IANA's special-purpose address registries), nor are those of IPv6 that lead to an address of IPv4.
  public var isPublic: Bool {
    let networks = bytes.count == 4 ? Self.special4 : Self.special6
    if networks.contains(where: { contains($0.address, prefix: $0.prefix) }) { return false }
    // 2000::/3 is all of IPv6 that is given out.
    return bytes.count == 4 || bytes[0] & 0xE0 == 0x20
  }

  private func contains(_ network: [UInt8], prefix: Int) -> Bool {
    for (index, byte) in network.enumerated() {
      let bits = min(8, max(0, prefix - index * 8))
      let mask = UInt8(truncatingIfNeeded: 0xFF00 >> bits)
      if bytes[index] & mask != byte & mask { return false }
    }
    return true
  }

  private static let special4: [(address: [UInt8], prefix: Int)] = [
    ([0, 0, 0, 0], 8),  // this network, unspecified
    ([10, 0, 0, 0], 8), ([172, 16, 0, 0], 12), ([192, 168, 0, 0], 16),  // private
    ([100, 64, 0, 0], 10),  // shared by customers of a carrier
    ([127, 0, 0, 0], 8),  // loopback
    ([169, 254, 0, 0], 16),  // link-local, and clouds' metadata
    ([192, 0, 0, 0], 24),  // protocol assignments
    ([192, 0, 2, 0], 24), ([198, 51, 100, 0], 24), ([203, 0, 113, 0], 24),  // documentation
    ([192, 88, 99, 0], 24),  // 6to4 relays
    ([198, 18, 0, 0], 15),  // benchmarks
    ([224, 0, 0, 0], 4),  // multicast
    ([240, 0, 0, 0], 4),  // reserved, broadcast
  ]

  /// Those within 2000::/3. Outside are unspecified, loopback, IPv4-mapped, NAT64, unique local, link-local and multicast addresses.
  private static let special6: [(address: [UInt8], prefix: Int)] = [
    ([0x20, 0x01, 0x00, 0x00], 23),  // protocol assignments, Teredo among them
    ([0x20, 0x01, 0x0D, 0xB8], 32), ([0x3F, 0xFF, 0x00], 20),  // documentation
    ([0x20, 0x02], 16),  // 6to4, which holds an address of IPv4
  ]
}
