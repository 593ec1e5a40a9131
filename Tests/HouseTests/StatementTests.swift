import Content
import Delivery
import Postgres
import Registry
import Sendouts
import Support
import Testing

@Suite struct StatementTests {
  static let all = RegistryStatements.all + ContentStatements.all + DeliveryStatements.all + SendoutStatements.all

  @Test func `Every statement's name is its own, and short enough for PostgreSQL`() {
    let names = Self.all.map(\.name)
    #expect(Set(names).count == names.count)
    for name in names {
      #expect(name.utf8.count <= 63)
      #expect(name.wholeMatch(of: #/[a-z_]+\.[a-z_]+/#) != nil, "\(name)")
    }
  }

  @Test func `PostgreSQL accepts every statement`() async throws {
    try await withDatabase { database in
      for statement in Self.all where !Self.isUtility(statement) {
        await #expect(throws: Never.self, "\(statement.name)") {
          try await database.pool.transaction { _ = try await Self.prepare(statement, $0) }
        }
      }
    }
  }

  @Test func `Every statement touches the rows of one customer only`() async throws {
    try await withDatabase { database in
      let tenants = try await Schema.tenantTables(database)
      for statement in Self.all where !Self.isUtility(statement) {
        let tables = try await Self.readOfEverybody(statement, database.pool).intersection(tenants)
        #expect(tables.isEmpty, "\(statement.name) reads \(tables.sorted()) of everybody")
      }
      let careless = Self.statement("SELECT 1 FROM device JOIN contact USING (contact_id) WHERE token = $1")
      #expect(try await Self.readOfEverybody(careless, database.pool) == ["device", "contact"])
    }
  }

  @Test func `A statement that says it only reads does`() async throws {
    try await withDatabase { database in
      for statement in Self.all where statement.effect == .read {
        let state = try await database.pool.transaction { transaction in
          let execute = try await Self.prepare(statement, transaction)
          try await transaction.query(Self.statement("SET TRANSACTION READ ONLY"))
          do {
            try await transaction.query(Self.statement(execute))
            return ""
          } catch PostgresError.server(let error) {
            return error.sqlState
          }
        }
        // It is run on nulls, which it may refuse; 25006 is "cannot execute … in a read-only transaction".
        #expect(state != "25006", "\(statement.name)")
      }
    }
  }

  /// The tables of which the statement's plan does not ask for one customer.
  private static func readOfEverybody(_ statement: Statement, _ pool: Pool) async throws -> Set<String> {
    let plan = try await pool.transaction { transaction in
      let execute = try await prepare(statement, transaction)
      return try await transaction.query(Self.statement("EXPLAIN (COSTS OFF) \(execute)"))
        .map { try $0.decode(String.self) }
    }
    return Set(scans(in: plan).filter { !$0.conditions.contains("customer_id = ") }.map(\.table))
  }

  /// What PREPARE does not take, such as ANALYZE; it names no rows.
  private static func isUtility(_ statement: Statement) -> Bool {
    !["SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "VALUES"].contains { statement.sql.hasPrefix($0) }
  }

  private static func statement(_ sql: String) -> Statement { Statement("house.\(sql.hashValue)", .write, sql) }

  /// Prepares a statement as PostgreSQL knows it, for a plan that does not know its parameters, and gives the EXECUTE that
  /// runs it on nulls.
  private static func prepare(_ statement: Statement, _ transaction: Transaction) async throws -> String {
    let name = "checked_\(UInt64.random(in: 0 ... .max))"
    try await transaction.query(Self.statement("SET LOCAL plan_cache_mode = force_generic_plan"))
    try await transaction.query(Self.statement("PREPARE \(name) AS \(statement.sql)"))
    let types = Self.statement(
      "SELECT cardinality(parameter_types)::int4 FROM pg_prepared_statements WHERE name = '\(name)'")
    let count = try await transaction.query(types)[0].decode(Int32.self)
    let nulls = Array(repeating: "NULL", count: Int(count)).joined(separator: ", ")
    return count == 0 ? "EXECUTE \(name)" : "EXECUTE \(name)(\(nulls))"
  }

  /// The tables that a plan reads, each with the lines of conditions that stand below it.
  private static func scans(in plan: [String]) -> [(table: String, conditions: String)] {
    var scans: [(table: String, conditions: String)] = []
    var isInScan = false
    for line in plan {
      if let scan = line.firstMatch(of: #/Scan (?:Backward )?(?:using \w+ )?on (\w+)/#) {
        scans.append((String(scan.1), ""))
        isInScan = true
      } else if line.contains("->") {
        isInScan = false
      } else if isInScan {
        scans[scans.count - 1].conditions += line
      }
    }
    return scans
  }
}
