/// Where Web Push may send: `PUSHCART_WEBPUSH_ALLOWED_HOSTS`. Clients name the hosts, so what they name must not lead into the hub's own
/// network.
public struct WebPushHosts: Sendable, Hashable {
  private struct Pattern: Hashable {
    /// In lower case; `.example.com` for all names below it.
    var host: String
    /// Nil for any port that is allowed without a list.
    var port: Int?
  }

  /// Ports that endpoints can have, unless a list names others.
  public static let ports = [443, 8443]
  /// Push services of browsers: what they say of an app's key is believed.
  private static let known = [
    Pattern(host: "fcm.googleapis.com"), Pattern(host: "updates.push.services.mozilla.com"),
    Pattern(host: ".push.apple.com"), Pattern(host: ".notify.windows.com"),
  ]

  private var listed: [Pattern] = []

  /// Every host of the internet, on the usual ports.
  public init() {}

  /// Only the hosts of a list: `host`, `host:port` or `*.host`, separated by commas. These may have private addresses.
  /// - Returns: nil if something in the list is none of these.
  public init?(_ list: String) {
    for item in list.split(separator: ",") {
      let text = item.filter { $0 != " " }.lowercased()
      let isWildcard = text.hasPrefix("*.")
      let name = isWildcard ? String(text.dropFirst(2)) : text
      guard let (host, port) = WebPushEndpoint.parts(name) else { return nil }
      let hasPort = !name.hasSuffix("]") && name.split(separator: "]").last?.contains(":") == true
      listed.append(Pattern(host: isWildcard ? ".\(host)" : host, port: hasPort ? port : nil))
    }
    guard !listed.isEmpty else { return nil }
  }

  /// Why nothing is sent there, as a sentence's end; nil if its text tells no reason. A name can still lead to a private address,
  /// which is known when it is looked up.
  public func problem(with endpoint: WebPushEndpoint) -> String? {
    if !listed.isEmpty {
      return isListed(endpoint.host, endpoint.port)
        ? nil : "is at a host that PUSHCART_WEBPUSH_ALLOWED_HOSTS does not name"
    }
    guard Self.ports.contains(endpoint.port) else { return "must be at port 443 or 8443" }
    if let address = HostAddress(endpoint.host) {
      return address.isPublic ? nil : "must not be a private or reserved address"
    }
    let name = endpoint.host
    let isLocal = !name.contains(".") || Self.localDomains.contains(where: name.hasSuffix)
    return isLocal ? "must be at a host of the internet" : nil
  }

  /// Whether the operator named the host, which may then have a private address.
  public func isListed(_ host: String, _ port: Int) -> Bool { Self.contains(listed, host, port) }

  /// Whether what this host says of an app's key is believed: the operator or we named it. Another one may be anybody's, and must not
  /// stop an app.
  public func isTrusted(_ host: String, _ port: Int) -> Bool {
    isListed(host, port) || Self.contains(Self.known, host, port)
  }

  private static func contains(_ patterns: [Pattern], _ host: String, _ port: Int) -> Bool {
    patterns.contains { pattern in
      guard pattern.port.map({ $0 == port }) ?? ports.contains(port) else { return false }
      return pattern.host.hasPrefix(".") ? host.hasSuffix(pattern.host) : host == pattern.host
    }
  }

  private static let localDomains = [".localhost", ".local", ".internal", ".home.arpa"]
}
