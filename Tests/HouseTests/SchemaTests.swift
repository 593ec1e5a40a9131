import DataInOut
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import Pushcart

/// The migrated schema.
enum Schema {
  /// Tables that belong to no customer. On Citus they are reference tables.
  static let shared: Set<String> = [
    "customer", "hub_secret", "schema_migration", "console_user", "membership", "console_session", "password_link",
    "sign_in_attempt",
  ]

  static func tables(_ database: TestDatabase) async throws -> Set<String> {
    let rows = try await database.query(
      "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace")
    return Set(try rows.map { try $0.decode(String.self) })
  }

  /// The table that each partition is of, by their names.
  static func parents(_ database: TestDatabase) async throws -> [String: String] {
    let rows = try await database.query(
      """
      SELECT c.relname::text, p.relname::text
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_class p ON p.oid = i.inhparent
      WHERE c.relnamespace = 'partitions'::regnamespace AND c.relkind = 'r'
      """)
    return Dictionary(uniqueKeysWithValues: try rows.map { try $0.decode(String.self, String.self) })
  }

  static func tenantTables(_ database: TestDatabase) async throws -> Set<String> {
    try await tables(database).subtracting(shared)
  }
}

@Suite struct SchemaTests {
  @Test func `Every table, view and column has a comment`() async throws {
    try await withDatabase { database in
      let silent = try await database.query(
        """
        SELECT c.oid::regclass::text || coalesce('.' || a.attname, '')
        FROM pg_class c
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE c.relkind IN ('r', 'p', 'v', 'm') AND c.relnamespace IN ('public'::regnamespace, 'report'::regnamespace)
          AND (col_description(c.oid, a.attnum) IS NULL OR obj_description(c.oid, 'pg_class') IS NULL)
        """)
      #expect(try silent.map { try $0.decode(String.self) } == [])
    }
  }

  @Test func `Every column that is sealed is sealed anew for a new master key`() async throws {
    try await withDatabase { database in
      let sealed = try await database.query(
        """
        SELECT c.relname || '.' || a.attname
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace AND a.atttypid = 'bytea'::regtype
          AND col_description(c.oid, a.attnum) LIKE '%AES-256-GCM%'
        """)
      #expect(
        Set(try sealed.map { try $0.decode(String.self) }) == Set(SealedColumn.all.map { "\($0.table).\($0.column)" }))
    }
  }

  @Test func `Every column has a default, or a statement that writes it`() async throws {
    try await withDatabase { database in
      let functions = try await database.query(
        "SELECT prosrc FROM pg_proc WHERE pronamespace = 'public'::regnamespace"
      ).map { try $0.decode(String.self) }
      let statements = StatementTests.all.filter { $0.effect == .write }.map(\.sql)
      let writes = (functions + statements + DataInOutStatements.copies).map { sql in
        Set(sql.matches(of: #/\w+/#).map { String($0.output) })
      }
      let columns = try await database.query(
        """
        SELECT c.relname::text, a.attname::text
        FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
          AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.atthasdef AND a.attidentity = ''
        """)
      for column in columns {
        let (table, name) = try column.decode(String.self, String.self)
        #expect(writes.contains { $0.contains(table) && $0.contains(name) }, "\(table).\(name)")
      }
      #expect(columns.count > 100)
    }
  }

  @Test func `The schema has every platform, with its name, and every kind of credential`() async throws {
    try await withDatabase { database in
      let customer = try await database.customer()
      let comment = try await database.query(
        """
        SELECT col_description(attrelid, attnum) FROM pg_attribute
        WHERE attrelid = 'push_app'::regclass AND attname = 'app_type'
        """)[0].decode(String.self)
      for type in AppType.allCases {
        let name = try await database.query("SELECT report.platform($1::int2)", type.rawValue)[0].decode(String?.self)
        #expect(name == type.platform)
        #expect(comment.contains("\(type.rawValue) \(type.platform)"), "\(comment)")
        try await database.query(
          "INSERT INTO push_app (customer_id, app_id, app_type, name) VALUES ($1, 'com.acme.app', $2::int2, 'Acme')",
          customer.rawValue, type.rawValue)
      }
      for kind in PushCredentialKind.allCases {
        try await database.query(
          """
          INSERT INTO push_credential (customer_id, push_app_id, kind, sealed, master_key_id, fingerprint)
          SELECT customer_id, push_app_id, $2, ''::bytea, 'k', 'f' FROM push_app WHERE customer_id = $1 AND app_type = 1
          """, customer.rawValue, kind.rawValue)
      }
    }
  }

  @Test func `The primary key of every tenant table begins with customer_id`() async throws {
    try await withDatabase { database in
      let rows = try await database.query(
        """
        SELECT c.relname::text, a.attname::text
        FROM pg_class c
        LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
        WHERE c.relkind IN ('r', 'p') AND c.relnamespace = 'public'::regnamespace
        """)
      for row in rows {
        let (table, first) = try row.decode(String.self, String?.self)
        if !Schema.shared.contains(table) { #expect(first == "customer_id", "\(table)") }
      }
      #expect(rows.count > 10)
    }
  }

  @Test func `Unique and foreign keys of tenant tables stay within one customer`() async throws {
    try await withDatabase { database in
      let rows = try await database.query(
        """
        SELECT c.conrelid::regclass::text, c.conname::text,
          EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) AND a.attname = 'customer_id')
        FROM pg_constraint c
        WHERE c.contype IN ('u', 'p', 'f') AND c.connamespace = 'public'::regnamespace
        """)
      for row in rows {
        let (table, name, isWithin) = try row.decode(String.self, String.self, Bool.self)
        if !Schema.shared.contains(table) { #expect(isWithin, "\(name)") }
      }
    }
  }

  @Test func `The report role can read reports and nothing else`() async throws {
    try await withDatabase { database in
      let open = try await database.query(
        """
        SELECT c.oid::regclass::text FROM pg_class c
        WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S') AND c.relnamespace = 'public'::regnamespace
          AND has_table_privilege('pushcart_report', c.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE')
        """)
      #expect(try open.map { try $0.decode(String.self) } == [])
      let views = try await database.query(
        """
        SELECT has_table_privilege('pushcart_report', c.oid, 'SELECT'), has_table_privilege('pushcart_report', c.oid, 'INSERT')
        FROM pg_class c WHERE c.relkind = 'v' AND c.relnamespace = 'report'::regnamespace
        """)
      for view in views {
        let (reads, writes) = try view.decode(Bool.self, Bool.self)
        #expect(reads && !writes)
      }
      #expect(views.count >= 8)
    }
  }

  @Test func `The first column of every report is customer_id`() async throws {
    try await withDatabase { database in
      let rows = try await database.query(
        """
        SELECT a.attname::text FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = 1
        WHERE c.relkind = 'v' AND c.relnamespace = 'report'::regnamespace
        """)
      #expect(try rows.allSatisfy { try $0.decode(String.self) == "customer_id" })
    }
  }
}
