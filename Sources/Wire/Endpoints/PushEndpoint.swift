/// An https address that a client named for pushes to its device: a channel URI of Windows, or the endpoint of a subscription to Web
/// Push. It is read strictly: what another reader could take for another host is refused.
public struct PushEndpoint: Sendable, Hashable {
  /// As it was sent.
  public let url: String
  /// In lower case; an IPv6 address without its brackets.
  public let host: String
  public let port: Int
  /// Path and query, as they were sent; `/` at least.
  public let path: String

  /// Reads `https://host[:port]/path`. It is read for each push to a browser, and so by bytes.
  /// - Throws: `JSONProblem` for anything else.
  public init(url text: String) throws(JSONProblem) {
    let bytes = Array(text.utf8)
    guard bytes.allSatisfy(Self.isOfAddress) else { throw JSONProblem("holds a character that no address has") }
    let start = Self.scheme.count
    guard bytes.count >= start, zip(bytes, Self.scheme).allSatisfy({ Self.lowercased($0) == $1 }) else {
      throw JSONProblem("must be an address of the form https://host/path")
    }
    let end = bytes[start...].firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? bytes.endIndex
    let authority = bytes[start..<end]
    guard !authority.contains(UInt8(ascii: "@")) else { throw JSONProblem("must not hold a user name") }
    guard let (host, port) = Self.parts(String(decoding: authority.map(Self.lowercased), as: UTF8.self)) else {
      throw JSONProblem("must name a host, and a port of 1 to 65535 if any")
    }
    url = text
    self.host = host
    self.port = port ?? 443
    let path = String(decoding: bytes[end...], as: UTF8.self)
    self.path = bytes[end...].first == UInt8(ascii: "/") ? path : "/" + path
  }

  private static let scheme = Array("https://".utf8)

  private static func lowercased(_ byte: UInt8) -> UInt8 { (0x41...0x5A).contains(byte) ? byte | 0x20 : byte }

  /// Visible ASCII, without the characters that end or quote an address, and the fragment's.
  private static func isOfAddress(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "\""), UInt8(ascii: "#"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "\\"),
      UInt8(ascii: "^"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
      false
    default: (0x21..<0x7F).contains(byte)
    }
  }

  /// Host and port of `host[:port]` in lower case; nil for what is neither a domain name nor an IP address in its usual form.
  static func parts(_ authority: String) -> (host: String, port: Int?)? {
    var host = Substring(authority)
    var port: Int?
    let end = host.utf8.lastIndex(of: UInt8(ascii: "]")) ?? host.startIndex
    if let colon = host.utf8[end...].firstIndex(of: UInt8(ascii: ":")) {
      let digits = host[colon...].utf8.dropFirst()
      guard (1...5).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(Substring(digits)), (1...65535).contains(number)
      else { return nil }
      port = number
      host = host[..<colon]
    }
    if host.utf8.first == UInt8(ascii: "[") {
      guard host.utf8.last == UInt8(ascii: "]") else { return nil }
      let address = String(host.dropFirst().dropLast())
      guard HostAddress(address)?.bytes.count == 16 else { return nil }
      return (address, port)
    }
    guard isName(host) || HostAddress(String(host)) != nil else { return nil }
    return (String(host), port)
  }

  /// Labels of letters, digits, hyphens and underscores (RFC 1034, section 3.5). The last one has a letter: `127.1` and `0x7f000001`
  /// are addresses to some resolvers.
  private static func isName(_ host: Substring) -> Bool {
    let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
    guard host.utf8.count <= 253, let last = labels.last else { return false }
    let isNumber = last.allSatisfy { (0x30...0x39).contains($0) } || last.starts(with: [0x30, 0x78])
    return !isNumber
      && labels.allSatisfy { label in
        (1...63).contains(label.count)
          && label.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
          }
      }
  }
}
