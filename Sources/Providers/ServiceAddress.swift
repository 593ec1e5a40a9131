import FoundationEssentials

/// Where a push service listens: always by TLS.
struct ServiceAddress: Hashable, Sendable {
  let host: String
  let port: Int

  /// `https://host[:port]`, and nothing behind it.
  init?(url text: String) {
    guard
      let url = URLComponents(string: text), url.scheme?.lowercased() == "https",
      let host = url.host, !host.isEmpty,
      url.path.isEmpty || url.path == "/", url.query == nil, url.fragment == nil, url.user == nil
    else { return nil }
    let port = url.port ?? 443
    guard (1...65535).contains(port) else { return nil }
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    self.port = port
  }

  /// The pseudo-header `:authority`.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == 443 ? name : "\(name):\(port)"
  }

  /// An IP address: TLS names hosts only.
  var isNumeric: Bool {
    host.contains(":") || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
  }
}
