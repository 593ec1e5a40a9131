public import Postgres
public import Wire

/// Says which apps need somebody's attention.
public struct PushAppAlarms: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Marks the app as in need of attention. An alarm raised before gets the new reason and keeps its moment.
  /// - Parameter reason: a sentence for people, or the push service's own word.
  public func raise(_ customer: CustomerID, _ app: PushAppID, reason: String) async throws {
    try await database.query(PushAppQueries.raiseAlarm, customer.rawValue, app.rawValue, reason)
  }

  /// Says that all is well again.
  public func clear(_ customer: CustomerID, _ app: PushAppID) async throws {
    try await database.query(PushAppQueries.clearAlarm, customer.rawValue, app.rawValue)
  }
}
