import Postgres

/// A statement that PostgreSQL has prepared, for a plan that does not know its parameters, within a transaction.
struct Prepared {
  /// Runs it on nulls.
  let execute: String
  /// Of its parameters, as in `{bigint,text}`.
  private let types: String
  private let name: String
  private let statement: Statement
  private let transaction: Transaction

  init(_ statement: Statement, _ transaction: Transaction) async throws {
    let name = "checked_\(UInt64.random(in: 0 ... .max))"
    try await transaction.query(.made("SET LOCAL plan_cache_mode = force_generic_plan"))
    try await transaction.query(.made("PREPARE \(name) AS \(statement.sql)"))
    let types = Statement.made(
      """
      SELECT array_to_string(parameter_types, ', '), cardinality(parameter_types)::int4
      FROM pg_prepared_statements WHERE name = '\(name)'
      """)
    let (list, count) = try await transaction.query(types)[0].decode(String.self, Int32.self)
    let nulls = Array(repeating: "NULL", count: Int(count)).joined(separator: ", ")
    execute = count == 0 ? "EXECUTE \(name)" : "EXECUTE \(name)(\(nulls))"
    self.types = list
    self.name = name
    self.statement = statement
    self.transaction = transaction
  }

  /// What PREPARE does not take, such as ANALYZE; it names no rows.
  static func takes(_ statement: Statement) -> Bool {
    ["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES"].contains { statement.sql.hasPrefix($0) }
  }

  /// The statement's plan, as JSON. It shows the scans of all partitions: nulls would need none of them.
  func plan() async throws -> String {
    try await transaction.query(.made("SET LOCAL enable_partition_pruning = off"))
    return try await transaction.query(.made("EXPLAIN (COSTS OFF, FORMAT JSON) \(execute)"))[0].decode(String.self)
  }

  /// The statement as PostgreSQL understands it, before it is planned.
  func parsed() async throws -> ParseNode {
    try await transaction.query(
      .made("CREATE FUNCTION \(name)(\(types)) RETURNS void BEGIN ATOMIC \(statement.sql); END"))
    let body = Statement.made("SELECT prosqlbody::text FROM pg_proc WHERE proname = '\(name)'")
    return ParseNode(try await transaction.query(body)[0].decode(String.self))
  }
}

extension Statement {
  /// A statement of a test's own.
  static func made(_ sql: String) -> Statement { Statement("house.\(sql.hashValue)", .write, sql) }
}
