import Postgres
public import Wire

/// Memory of large replies that are on their way to clients, limited for each customer and for all. Make one for each process.
public final class ReplyBudget: Sendable {
  /// Replies with more bytes are large. Smaller ones are not counted.
  public static let large = 256 << 10

  private let budget = ByteBudget<CustomerID>(key: 8 << 20, all: 32 << 20)

  public init() {}

  /// Takes the memory of a reply, until what is returned is released. A customer's first may be of any size.
  /// - Returns: nil for a reply that is not large.
  /// - Throws: what `DatabaseUnavailable` recognizes, when the customer, or all together, have too many on their way.
  public func reserve(_ bytes: Int, for customer: CustomerID) throws -> (any AnyObject & Sendable)? {
    bytes > Self.large ? try budget.reserve(bytes, for: customer) : nil
  }
}
