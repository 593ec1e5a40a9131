/// A customer, as `pushcart customer` prints it. The REST API has no customers: each key belongs to one.
public struct CustomerReply: Codable, Sendable, Equatable {
  public var customerId: CustomerID
  public var name: String
  public var createdAt: Timestamp

  public init(customerId: CustomerID, name: String, createdAt: Timestamp) {
    self.customerId = customerId
    self.name = name
    self.createdAt = createdAt
  }
}
