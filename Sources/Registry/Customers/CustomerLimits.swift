public import Postgres
public import Wire

/// What a customer's settings say about when and how often contacts are reached.
public struct CustomerLimits: Sendable, Equatable {
  public let quietHours: QuietHours?
  public let caps: [Cap]
  /// Of contacts whose own is not known.
  public let timeZone: String

  public init(_ settings: CustomerSettings) {
    quietHours = settings.quietHours
    caps = settings.caps
    timeZone = settings.timeZone
  }

  /// Whether messages of this purpose have any.
  public func concern(_ purpose: MessagePurpose) -> Bool {
    quietHours != nil && purpose == .marketing || caps.contains { $0.concerns(purpose) }
  }
}

/// Remembers customers' limits for a few seconds, as each message asks for them; a change is heard of at once (`CacheRefresh`).
public final class CustomerLimitsCache: Sendable {
  private let database: any Querying
  private let known: SharedCache<CustomerID, CustomerLimits>

  public init(_ database: any Querying) {
    self.database = database
    known = SharedCache(capacity: 1000, lifetime: .seconds(5))
  }

  /// The customer's limits, if they are at hand.
  public func cached(_ customer: CustomerID) -> CustomerLimits? { known.cached(customer) }

  /// - Throws: `RegistryError.customerUnknown`.
  public func limits(_ customer: CustomerID) async throws -> CustomerLimits {
    try await known.value(customer) { [database] in
      guard let found = try await Customers(database).find(customer) else {
        throw RegistryError.customerUnknown(customer)
      }
      return CustomerLimits(found.settings)
    }
  }

  /// Forgets everything.
  public func flush() { known.flush() }
}
