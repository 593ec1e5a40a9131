/// Hosts that a setting names.
public struct HostList: Sendable, Hashable, CustomStringConvertible {
  fileprivate struct Pattern: Hashable {
    /// In lower case, an IPv6 address without its brackets; `.example.com` for all names below it.
    var host: String
    /// Nil for `HostList.ports`.
    var port: Int?

    var isWildcard: Bool { host.hasPrefix(".") }

    /// `host` or `host:port`, where a wildcard gets a name before its dot.
    func authority(_ name: String) -> String {
      let host = isWildcard ? name + host : host.contains(":") ? "[\(host)]" : host
      return port.map { "\(host):\($0)" } ?? host
    }
  }

  /// Ports of a host that is named without one.
  public static let ports = [443, 8443]

  private let patterns: [Pattern]

  fileprivate init(_ patterns: [Pattern]) { self.patterns = patterns }

  /// Reads `host`, `host:port`, `*.host` or `*.host:port`, separated by commas. `*.host` stands for all names below the host, and not
  /// for itself.
  /// - Returns: nil if something in the list is none of these.
  public init?(_ list: String) {
    var patterns: [Pattern] = []
    for item in list.lowercasedASCII.split(separator: ",", omittingEmptySubsequences: false) {
      var name = item.drop { $0 == " " }
      while name.last == " " { name.removeLast() }
      let isWildcard = name.hasPrefix("*.")
      if isWildcard { name = name.dropFirst(2) }
      guard let (host, port) = PushEndpoint.parts(String(name)), !isWildcard || HostAddress(host) == nil else {
        return nil
      }
      patterns.append(Pattern(host: isWildcard ? ".\(host)" : host, port: port))
    }
    self.patterns = patterns
  }

  /// - Parameter host: in lower case, an IPv6 address without its brackets.
  public func contains(_ host: String, _ port: Int) -> Bool {
    patterns.contains { pattern in
      guard pattern.port.map({ $0 == port }) ?? Self.ports.contains(port) else { return false }
      return pattern.isWildcard ? host.hasSuffix(pattern.host) : host == pattern.host
    }
  }

  /// The text that `init` reads.
  public var description: String { patterns.map { $0.authority("*") }.joined(separator: ", ") }

  /// An address at the first host.
  fileprivate var example: String { "https://\(patterns[0].authority("example"))" }
}

/// Where endpoints of one push service may lead. Clients name them, so they must not lead into the hub's own network.
public struct EndpointRule: Sendable, Hashable {
  /// The only hosts that are allowed, as the operator named them. These may have private addresses. Nil for the default.
  public var listed: HostList?
  /// The push service's own hosts, which are allowed by default.
  private let known: HostList
  /// Whether other hosts of the internet are allowed by default.
  private let isOpen: Bool
  /// The setting that names the listed hosts.
  private let setting: ServiceSetting

  /// Channel URIs of Windows: by default at Microsoft's hosts alone.
  public static let wns: EndpointRule = EndpointRule(
    known: HostList([.init(host: ".notify.windows.com")]), isOpen: false, setting: .wnsAllowedHosts)

  /// Subscriptions to Web Push: by default at every host of the internet, on the ports `HostList.ports`.
  public static let webPush: EndpointRule = EndpointRule(
    known: HostList([
      .init(host: "updates.push.services.mozilla.com"), .init(host: "fcm.googleapis.com"),
      .init(host: ".push.apple.com"), .init(host: ".notify.windows.com"),
    ]), isOpen: true, setting: .webpushAllowedHosts)

  /// Webhooks and status reports to back ends: by default at every host of the internet, on the ports `HostList.ports`.
  public static let webhook: EndpointRule = EndpointRule(
    known: HostList([]), isOpen: true, setting: .webhookAllowedHosts)

  /// Providers of SMS, whose addresses customers name: by default at every host of the internet, on the ports `HostList.ports`.
  public static let sms: EndpointRule = EndpointRule(known: HostList([]), isOpen: true, setting: .smsAllowedHosts)

  /// Why nothing is sent there, as a sentence's end; nil if its text tells no reason. A name can still lead to a private address,
  /// which is known when it is looked up.
  public func problem(with endpoint: PushEndpoint) -> String? { problem(with: endpoint.host, endpoint.port) }

  /// Why nothing is sent to a host in lower case, or an IPv6 address without its brackets; nil as above.
  public func problem(with host: String, _ port: Int) -> String? {
    if let listed { return listed.contains(host, port) ? nil : "must be at a host that \(setting.variable) names" }
    guard isOpen else {
      return known.contains(host, port) ? nil : "must be at a host of \(known), as \(setting.variable) names no others"
    }
    guard HostList.ports.contains(port) else { return "must be at port 443 or 8443" }
    if let address = HostAddress(host) {
      return address.isPublic ? nil : "must not be a private or reserved address"
    }
    let isLocal = !host.contains(".") || Self.localDomains.contains(where: host.hasSuffix)
    return isLocal ? "must be at a host of the internet" : nil
  }

  /// Whether the operator named the host, which may then have a private address.
  public func isListed(_ host: String, _ port: Int) -> Bool { listed?.contains(host, port) == true }

  /// Whether what this host says of an app's key is believed: the operator or we named it. Another one may be anybody's, and must not
  /// stop an app.
  public func isTrusted(_ host: String, _ port: Int) -> Bool { isListed(host, port) || known.contains(host, port) }

  /// Scheme and host of an endpoint that is allowed, such as `https://example.notify.windows.com`.
  public var example: String { (listed ?? known).example }

  private static let localDomains = [".localhost", ".local", ".internal", ".home.arpa"]
}

/// The rules of all push services whose devices have endpoints, of webhooks, and of providers of SMS.
public struct EndpointRules: Sendable, Hashable {
  public var wns: EndpointRule = .wns
  public var webPush: EndpointRule = .webPush
  public var webhook: EndpointRule = .webhook
  public var sms: EndpointRule = .sms

  public init() {}
}

extension ServiceSetting {
  public static let webhookAllowedHosts = ServiceSetting(
    "webhook-allowed-hosts", .hosts(\.webhook),
    "only hosts that webhooks and status reports can lead to, as in hooks.example.com:8443; these can have private addresses",
    shownFallback: "hosts of the internet, ports 443 and 8443")
}
