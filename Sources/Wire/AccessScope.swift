/// What an access key opens. Each scope opens what the one before it opens, and more.
public enum AccessScope: String, Sendable, Hashable, Codable, CaseIterable {
  /// Ships inside an app: may register and invalidate devices, never reads.
  case device
  /// All of Carma REST.
  case backend
  /// Management too.
  case admin
}
