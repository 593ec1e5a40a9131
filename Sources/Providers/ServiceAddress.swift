import FoundationEssentials
import Wire

/// The address of a push service, which uses TLS, or of a provider of SMS on this machine, which may not.
struct ServiceAddress: Hashable, Sendable {
  let host: String
  let port: Int
  /// Whether it speaks HTTP/1.1 without TLS.
  var isPlain = false

  /// - Parameter host: in lower case, an IPv6 address without its brackets.
  init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  init(_ address: SMSAddress) {
    host = address.host
    port = address.port
    isPlain = address.isPlain
  }

  /// Reads `https://host[:port]`; nil for anything else.
  init?(url text: String) {
    guard let url = URLComponents(string: text), url.path.isEmpty || url.path == "/" else { return nil }
    self.init(url)
  }

  /// Reads the `https://host[:port]` that a setting has.
  /// - Parameter usual: where the setting has no value.
  /// - Throws: `ProviderError.addressUnusable` with the name of the setting.
  init(_ settings: PushServiceSettings, _ setting: ServiceSetting, or usual: String = "") throws(ProviderError) {
    guard let address = ServiceAddress(url: settings[setting] ?? usual) else {
      throw .addressUnusable(setting: setting.variable)
    }
    self = address
  }

  /// Of an endpoint that a client named.
  init(_ endpoint: PushEndpoint) {
    host = endpoint.host
    port = endpoint.port
  }

  /// Reads `https://host[:port]/path`; nil for anything else.
  static func withPath(url text: String) -> (address: ServiceAddress, path: String)? {
    guard
      let url = URLComponents(string: text), url.path.count > 1, let address = ServiceAddress(url)
    else { return nil }
    return (address, url.percentEncodedPath)
  }

  /// Reads the `https://host[:port]/path` that a setting has.
  /// - Throws: `ProviderError.tokenAddressUnusable` with the name of the setting.
  static func withPath(
    _ settings: PushServiceSettings, _ setting: ServiceSetting
  ) throws(ProviderError) -> (address: ServiceAddress, path: String) {
    guard let address = withPath(url: settings[setting] ?? "") else {
      throw .tokenAddressUnusable(setting: setting.variable)
    }
    return address
  }

  private init?(_ url: URLComponents) {
    guard
      url.scheme?.lowercasedASCII == "https", let host = url.host, !host.isEmpty,
      url.query == nil, url.fragment == nil, url.user == nil
    else { return nil }
    let port = url.port ?? 443
    guard (1...65535).contains(port) else { return nil }
    self.host = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    self.port = port
  }

  /// The pseudo-header `:authority`.
  var authority: String {
    let name = host.contains(":") ? "[\(host)]" : host
    return port == (isPlain ? 80 : 443) ? name : "\(name):\(port)"
  }

  /// `https://host[:port]`
  var origin: String { "\(isPlain ? "http" : "https")://\(authority)" }

  /// Whether the host is an IP address, which TLS does not send as a server name.
  var isNumeric: Bool {
    host.contains(":") || host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
  }
}

/// Errors in the settings of a push service. Outcomes of pushes are values (`Verdict`), never errors.
public enum ProviderError: Error, Hashable, Sendable {
  /// The service's address is not `https://host[:port]`.
  case addressUnusable(setting: String)
  /// The address of a token endpoint is not `https://host[:port]/path`.
  case tokenAddressUnusable(setting: String)
  /// The file of trusted certificates is missing, or is not PEM.
  case caFileUnusable(path: String)
}

extension ProviderError: CustomStringConvertible {
  /// A sentence for the operator.
  public var description: String {
    switch self {
    case .addressUnusable(let setting): "\(setting) must be an address of the form https://host or https://host:port."
    case .tokenAddressUnusable(let setting): "\(setting) must be an address of the form https://host/path."
    case .caFileUnusable(let path):
      "PUSHCART_PROVIDER_CA_FILE must name a readable file of certificates in PEM, and \(path) is none."
    }
  }
}
