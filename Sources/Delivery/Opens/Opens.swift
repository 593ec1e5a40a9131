import Content
public import Postgres
import Registry
public import Wire

/// Takes opens one by one and records them in groups.
///
/// Opens come in by the thousand and each is answered only when it is committed: one statement and one commit serve all that
/// came in while the one before was under way.
public final class Opens: Sendable {
  private let batcher: Batcher<Open, ContactID?>

  public init(_ database: any Querying) {
    let log = OpenLog(database)
    batcher = .ofOpens { customer, opens in
      try await log.record(opens, of: customer)
    }
  }

  /// Records an open.
  /// - Parameter done: called exactly once, when it is committed, on any thread; soon to return. It gets whom the push was for,
  ///   or `nil` if there is no such push, so that nothing was recorded; or `DeliveryError.opensOverflow`, or whatever
  ///   `DatabaseUnavailable` knows when the database is away.
  public func record(_ open: Open, then done: @escaping @Sendable (Result<ContactID?, any Error>) -> Void) {
    batcher.answer(open.link.customer.rawValue, open, then: done)
  }
}

extension Batcher where Item == Open {
  /// Records opens of each customer together: so many that a commit is shared by all who come while one is under way, and no
  /// more than are written in a few seconds.
  package static func ofOpens(_ call: @escaping @Sendable (CustomerID, [Open]) async throws -> [Answer]) -> Batcher {
    Batcher(BatchLimits(batchWeight: 500, worthAnother: 128, items: 40_000), full: DeliveryError.opensOverflow) {
      try await call(CustomerID($0), $1)
    }
  }
}
