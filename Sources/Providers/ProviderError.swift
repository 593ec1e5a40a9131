/// What can be wrong with the settings of a push service. Outcomes of a push are values (`Verdict`), never errors.
public enum ProviderError: Error, Hashable, Sendable {
  /// The service's address is not `https://host[:port]`.
  case addressUnusable(setting: String)
  /// The file of trusted certificates is missing, or is not PEM.
  case caFileUnusable(path: String)
}
