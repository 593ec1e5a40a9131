public import Postgres
public import Wire

/// Tells about the contacts that an audience names.
public struct Audiences: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// How many of these original ids no contact of the customer has; an id given twice counts once.
  public func unknownOriginalIDs(_ customer: CustomerID, among ids: [String]) async throws -> Int {
    try await database.query(AudienceQueries.unknownOriginalIDs, customer.rawValue, ids)[0].decode(Int.self)
  }
}
