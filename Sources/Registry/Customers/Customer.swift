public import FoundationEssentials
public import Wire

/// A tenant: everything else belongs to exactly one.
public struct Customer: Sendable, Equatable {
  public let id: CustomerID
  /// For people; not unique.
  public let name: String
  public let createdAt: Date
}
