import Content
public import Postgres
public import Wire

/// Takes opens one by one and records them in groups.
///
/// Opens come in by the thousand and each is answered only when it is committed: one statement and one commit serve all that
/// came in while the one before was under way.
public final class Opens: Sendable {
  private let gatherer: Gatherer<CustomerID, Open, ContactID?>

  public init(_ database: any Querying) {
    let log = OpenLog(database)
    gatherer = Gatherer(group: 500, limit: 20_000, full: DeliveryError.opensOverflow) { customer, opens in
      try await log.record(opens, of: customer)
    }
  }

  /// Records an open, and returns when it is committed.
  /// - Returns: whom the push was for; `nil` if there is no such push, so that nothing was recorded.
  /// - Throws: `DeliveryError.opensOverflow`, and whatever `Outage` knows when the database is away.
  public func record(_ open: Open) async throws -> ContactID? {
    try await gatherer.answer(open.link.customer, open)
  }
}
