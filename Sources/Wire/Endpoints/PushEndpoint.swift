/// An https address that a client named, to which pushes to its device go: a channel URI of Windows, or the endpoint of a subscription
/// to Web Push. It is read strictly: what another reader could take for another host is refused.
public struct PushEndpoint: Sendable, Hashable {
  /// As it was sent.
  public let url: String
  /// In lower case; an IPv6 address without its brackets.
  public let host: String
  public let port: Int
  /// Path and query, as they were sent; `/` at least.
  public let path: String

  /// Reads `https://host[:port]/path`.
  /// - Throws: `JSONProblem` for anything else.
  public init(url text: String) throws(JSONProblem) {
    guard text.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && !#"\"<>^`{|}#"#.utf8.contains($0) }) else {
      throw JSONProblem("holds a character that no address has")
    }
    let scheme = text.prefix { $0 != ":" }
    guard scheme.lowercased() == "https", text.dropFirst(scheme.count).hasPrefix("://") else {
      throw JSONProblem("must be an address of the form https://host/path")
    }
    let rest = text.dropFirst("https://".count)
    let authority = rest.prefix { $0 != "/" && $0 != "?" }
    guard !authority.contains("@") else { throw JSONProblem("must not hold a user name") }
    guard let (host, port) = Self.parts(authority.lowercased()) else {
      throw JSONProblem("must name a host, and a port of 1 to 65535 if any")
    }
    let path = rest[authority.endIndex...]
    url = text
    self.host = host
    self.port = port ?? 443
    self.path = path.hasPrefix("/") ? String(path) : "/" + path
  }

  /// Host and port of `host[:port]` in lower case; nil for what is neither a domain name nor an IP address in its usual form.
  static func parts(_ authority: String) -> (host: String, port: Int?)? {
    var host = Substring(authority)
    var port: Int?
    let end = host.lastIndex(of: "]") ?? host.startIndex
    if let colon = host[end...].firstIndex(of: ":") {
      let digits = host[host.index(after: colon)...]
      guard (1...5).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
        let number = Int(digits), (1...65535).contains(number)
      else { return nil }
      port = number
      host = host[..<colon]
    }
    if host.hasPrefix("[") {
      guard host.hasSuffix("]") else { return nil }
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
    let labels = host.split(separator: ".", omittingEmptySubsequences: false)
    guard host.utf8.count <= 253, let last = labels.last else { return false }
    let isNumber = last.utf8.allSatisfy { (0x30...0x39).contains($0) } || last.hasPrefix("0x")
    return !isNumber
      && labels.allSatisfy { label in
        (1...63).contains(label.utf8.count)
          && label.utf8.allSatisfy { byte in
            (0x61...0x7A).contains(byte) || (0x30...0x39).contains(byte) || byte == 0x2D || byte == 0x5F
          }
      }
  }
}
