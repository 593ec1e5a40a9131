/// What can be wrong with the settings of a push service. Outcomes of a push are values (`Verdict`), never errors.
public enum ProviderError: Error, Hashable, Sendable {
  /// The service's address is not `https://host[:port]`.
  case addressUnusable(setting: String)
  /// The file of trusted certificates is missing, or is not PEM.
  case caFileUnusable(path: String)
}

extension ProviderError: CustomStringConvertible {
  /// A sentence for whoever set it.
  public var description: String {
    switch self {
    case .addressUnusable(let setting): "\(setting) must be an address of the form https://host or https://host:port."
    case .caFileUnusable(let path):
      "PUSHCART_PROVIDER_CA_FILE must name a file of certificates in PEM, and \(path) is none that can be read."
    }
  }
}
