public import Postgres

/// Seals everything under the current master key, so that older ones can be put away.
public struct Rekey: Sendable {
  /// How far it is.
  public struct Progress: Sendable, Equatable {
    /// Sealed anew by this run.
    public var resealed = 0
    /// Sealed under the current key before.
    public var current = 0
    /// Left as they were, since no master key at hand opens them; each named by its place.
    public var unreadable: [String] = []

    public init() {}
  }

  public init(_ database: any Querying, vault: Vault) {
  }

  /// Goes over all sealed values, each on its own, so that it may be stopped and started at any time.
  /// - Parameter report: told after every customer.
  public func run(_ report: @Sendable (Progress) -> Void = { _ in }) async throws -> Progress {
    fatalError()
  }
}
