/// A named SQL statement, prepared once per connection under its name.
///
/// The name appears in errors, logs and metrics, so it reads `<noun>.<verb>`, as in `device.register`.
public struct Statement: Sendable {
  /// What a statement may do, and so whether it may share a round trip.
  public enum Effect: Sendable {
    /// Only reads: a SELECT that locks nothing and calls no function that writes. Neighbouring reads travel under one Sync:
    /// one write to the server, one answer from it. If one of them fails, those behind it never ran and are sent again.
    case read
    /// May change something. Each write ends with a Sync of its own, so it commits, or fails, alone. It must not be a procedure
    /// that commits by itself: what is reported of a lost connection would be wrong.
    case write
  }

  /// Its name in errors, logs, metrics and `pg_prepared_statements`.
  public let name: String
  /// Whether it may share a round trip.
  public let effect: Effect
  /// One statement, parameters written `$1`, `$2`, ….
  public let sql: String
  /// Whether it is of a tenant's table: then its first parameter is the customer, whose turn it takes in the pool.
  let isTenants: Bool

  /// - Parameters:
  ///   - name: unique in the process, at most 63 bytes (longer names are truncated by PostgreSQL).
  ///   - sql: one statement, parameters written `$1`, `$2`, … with their types cast where PostgreSQL cannot infer them.
  public init(_ name: String, _ effect: Effect, _ sql: String) {
    self.name = name
    self.effect = effect
    self.sql = sql
    isTenants = sql.contains("customer_id")
  }
}

/// Statements are the same if name and text are.
extension Statement: Hashable {
  public static func == (left: Statement, right: Statement) -> Bool { left.name == right.name && left.sql == right.sql }
  public func hash(into hasher: inout Hasher) { hasher.combine(name) }
}
