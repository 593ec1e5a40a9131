import Postgres
public import Wire

/// What there is still to do for a sendout.
public struct RemainingWork: Sendable, Equatable {
  /// How long until a batch may be claimed; zero if one may now, `nil` if none is queued.
  public var nextClaim: Duration?
  /// How long until a lease runs out; `nil` if nothing is claimed.
  public var nextLeaseEnd: Duration?
  /// Whether batches are held.
  public var isHeld: Bool

  /// Whether every push has its outcome.
  public var isDone: Bool { nextClaim == nil && nextLeaseEnd == nil && !isHeld }
}

extension Ledger {
  /// What there is still to do.
  public func outlook(_ key: SendoutKey) async throws -> RemainingWork {
    let (claim, lease, isHeld) = try await database.query(
      LedgerQueries.outlook, key.customer.rawValue, key.sendout.rawValue)[0].decode(
        Double?.self, Double?.self, Bool.self)
    return RemainingWork(
      nextClaim: claim.map { .seconds($0) }, nextLeaseEnd: lease.map { .seconds($0) }, isHeld: isHeld)
  }

  /// The customer's sendouts of which dead hubs have something in hand, whatever state they are in.
  public func lost(_ customer: CustomerID) async throws -> [SendoutKey] {
    try await database.query(LedgerQueries.lost, customer.rawValue).map {
      SendoutKey(customer, SendoutID(try $0.decode(Int64.self)))
    }
  }

  /// Takes back what dead hubs had in hand.
  /// - Returns: how many batches, and how many of their pushes may have left.
  @discardableResult
  public func requeueLost(_ key: SendoutKey, _ policy: UncertainPolicy) async throws -> (batches: Int, pushes: Int) {
    try await database.query(
      LedgerQueries.requeueLost, key.customer.rawValue, key.sendout.rawValue, policy.rawValue)[0].decode(
        Int.self, Int.self)
  }
}
