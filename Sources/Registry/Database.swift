import FoundationEssentials
public import Postgres
import Wire

/// Where statements run: the pool, each alone, or a transaction, all or none.
///
/// Rooms that do not import Postgres can hold one and pass it on to a store, but cannot run a statement on it.
public typealias Database = any Querying

extension Row {
  /// The row as a reply of the API, whose fields have the columns' names: `created_at` is `createdAt`. NULL is an absent field.
  /// - Throws: `DecodingError`, `PostgresError.decoding` if a column is missing or of another type.
  package func reply<Reply: Decodable>(_: Reply.Type = Reply.self) throws -> Reply {
    var members: [UTF8String: JSONValue] = [:]
    for (number, column) in columns.enumerated() {
      let words = column.name.split(separator: "_")
      let name = words.dropFirst().reduce(String(words.first ?? "")) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
      members[UTF8String(name)] = try value(number, column.type)
    }
    return try Reply(from: .object(members))
  }

  private func value(_ number: Int, _ type: PostgresType) throws -> JSONValue? {
    switch type {
    case .bool: try column(number, as: Bool?.self).map { .bool($0) }
    case .int2, .int4, .int8: try column(number, as: Int64?.self).map { .integer($0) }
    case .timestamptz: try column(number, as: Date?.self).map { .string(Timestamp($0).description) }
    case .json: try column(number, as: JSONDocument?.self).map { try JSONValue(json: Array($0.text.utf8), rules: .own) }
    case _ where [String].accepts(type): try column(number, as: [String]?.self).map { .array($0.map { .string($0) }) }
    case _ where [Int64].accepts(type): try column(number, as: [Int64]?.self).map { .array($0.map { .integer($0) }) }
    default: try column(number, as: String?.self).map { .string($0) }
    }
  }
}

/// What a failure of the database means to rooms that do not know PostgreSQL: try again later, and whether it is safe to.
public enum DatabaseUnavailable: Sendable, Equatable {
  /// Nothing was done.
  case nothingDone
  /// Nothing was done: the database is there, but had too much to do, or others were in the way.
  case tooSlow
  /// Nothing was done: the database was at it for longer than it may take.
  case timedOut
  /// Nothing was done: others have locked what it needs.
  case locked
  /// It may have been done or not.
  case outcomeUnknown

  /// - Returns: `nil` for every error that is not the database being away, too slow or too busy.
  public init?(_ error: any Error) {
    guard let error = error as? PostgresError else { return nil }
    switch error {
    case .unknownOutcome: self = .outcomeUnknown
    case .timedOut: self = .timedOut
    case .busy: self = .tooSlow
    case .server(let error) where error.sqlState == ServerError.lockNotAvailable: self = .locked
    case .server(let error) where Self.crowded.contains(error.sqlState): self = .tooSlow
    default:
      guard error.isPassing else { return nil }
      self = .nothingDone
    }
  }

  private static let crowded = [ServerError.serializationFailure, ServerError.deadlockDetected]
}

/// Every statement of this room but those of numbered stores, so that a test can prepare each of them on a real server.
package enum RegistryStatements {
  package static let all: [Statement] =
    CustomerQueries.all + AccessKeyQueries.all + PushAppQueries.all + ContactListQueries.all + HubSecretQueries.all
    + ProviderTokenQueries.all + SealedColumn.registry.flatMap(\.statements) + AuditQueries.all
    + IdempotentReplyQueries.all + UserQueries.all + MembershipQueries.all + SessionQueries.all + SignInQueries.all
    + NotificationQueries.all + AudienceQueries.all + FilterQueries.all
    + ContactQueries.all + ContactSearchQueries.all + ContactStoreQueries.all + ListedContactQueries.all
    + RegisterQueries.all + DeviceQueries.all + ImportedDeviceQueries.all
    + ToldContactQueries.all + DayCountQueries.all + SuppressionQueries.all + RegistryPersonalTables.statements
}
