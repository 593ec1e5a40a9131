public import FoundationEssentials
public import Wire

/// A named set of contacts to send to.
public struct ContactList: Sendable, Equatable {
  public let id: ListID
  public let customer: CustomerID
  /// For people; unique within the customer.
  public let name: String
  public let createdAt: Date
}
