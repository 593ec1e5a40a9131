public import Postgres

/// Where statements run: the pool, each alone, or a transaction, all or none.
///
/// Rooms that do not import Postgres can hold one and pass it on to a store, but cannot run a statement on it.
public typealias Database = any Querying

/// What a failure of the database means to rooms that do not know PostgreSQL: try again later, and whether it is safe to.
public enum DatabaseUnavailable: Sendable, Equatable {
  /// Nothing was done.
  case nothingDone
  /// Nothing was done: the database is there, but had too much to do, or others were in the way.
  case tooSlow
  /// Nothing was done: others have locked what it needs.
  case locked
  /// It may have been done or not.
  case outcomeUnknown

  /// - Returns: `nil` for every error that is not the database being away, too slow or too busy.
  public init?(_ error: any Error) {
    guard let error = error as? PostgresError else { return nil }
    switch error {
    case .unknownOutcome: self = .outcomeUnknown
    case .timedOut, .busy: self = .tooSlow
    case .server(let error) where error.sqlState == ServerError.lockNotAvailable: self = .locked
    case .server(let error) where Self.crowded.contains(error.sqlState): self = .tooSlow
    default:
      guard error.isPassing else { return nil }
      self = .nothingDone
    }
  }

  private static let crowded = [ServerError.serializationFailure, ServerError.deadlockDetected]
}

/// Every statement of this room, so that a test can prepare each of them on a real server.
package enum RegistryStatements {
  package static let all: [Statement] =
    CustomerQueries.all + AccessKeyQueries.all + PushAppQueries.all + ContactListQueries.all + HubSecretQueries.all
    + ProviderTokenQueries.all + RekeyQueries.all + AuditQueries.all + IdempotentReplyQueries.all
    + NotificationQueries.all + AudienceQueries.all
    + ContactQueries.all + RegisterQueries.all + DeviceQueries.all
}
