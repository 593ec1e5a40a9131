package import Postgres

/// What is done together or not at all: a transaction, for callers that do not know PostgreSQL.
///
/// Every store can be made upon one, and then takes part in it.
public struct UnitOfWork: Sendable {
  package let transaction: any Querying

  package init(_ transaction: any Querying) { self.transaction = transaction }
}
