import Postgres
import Support
import Testing

/// Every statement can be routed to one customer's shard, so the same schema can be distributed by customer_id on Citus.
@Suite struct RoutingTests {
  @Test func `Every statement compares customer_id with $1 at each tenant table that it reads`() async throws {
    try await withDatabase { database in
      for statement in StatementTests.all where Prepared.takes(statement) && !Self.ofEverybody.contains(statement.name)
      {
        let tables = try await Self.readOfEverybody(statement, database)
        #expect(tables.isEmpty, "\(statement.name) reads \(tables.sorted()) of everybody")
      }
    }
  }

  /// What a hub asks about all customers, once a second or rarer; Citus asks every shard. `ledger.due`, `notification.due` and `webhook.due` step
  /// from one lane to the next by recursion, which Citus runs for one customer only: there a hub has to ask for each. Without recursion they
  /// would read all that waits in lanes whose service is away, once a second and on every hub.
  private static let ofEverybody: Set = [
    "ledger.due", "sendout.freezing", "sendout.settled", "hybrid.due_reports", "notification.due", "import.due",
    "erasure.due", "activity.due", "webhook.due", "sendout.timed", "series.lacking",
  ]

  @Test func `No statement has a form that Citus refuses`() async throws {
    try await withDatabase { database in
      let rules = try await RoutingRules(database)
      for statement in StatementTests.all where Prepared.takes(statement) {
        let faults = rules.faults(in: try await Self.parsed(statement, database))
        #expect(faults.isEmpty, "\(statement.name): \(faults.map(\.rawValue))")
      }
    }
  }

  @Test(arguments: [
    ("SELECT 1 FROM device JOIN contact USING (contact_id) WHERE token = $1", ["contact", "device"]),
    ("SELECT 1 FROM contact WHERE customer_id = $1::bigint + 1", ["contact"]),
    ("SELECT 1 FROM contact WHERE customer_id = $2::bigint AND contact_id = $1::bigint", ["contact"]),
    ("SELECT 1 FROM contact WHERE customer_id = $1::bigint OR contact_id = 1", ["contact"]),
    (
      """
      SELECT ARRAY(SELECT kind FROM push_credential c WHERE c.customer_id = a.customer_id AND c.push_app_id = a.push_app_id)
      FROM push_app a WHERE customer_id = $1::bigint
      """, ["push_credential"]
    ),
    (
      """
      SELECT 1 FROM contact c CROSS JOIN LATERAL
        (SELECT FROM device d WHERE d.customer_id = c.customer_id AND d.contact_id = c.contact_id OFFSET 0) d
      WHERE c.customer_id = $1::bigint
      """, ["device"]
    ),
    ("UPDATE contact SET title = '' WHERE contact_id = $1::bigint", ["contact"]),
    ("SELECT 1 FROM push WHERE sendout_id = $1::bigint", ["push"]),
    ("DELETE FROM device_event WHERE at < now() AND customer_id > $1::bigint", ["device_event"]),
    (
      "DELETE FROM contact USING list WHERE list.customer_id = $1::bigint AND list.name = contact.title",
      ["contact"]
    ),
    ("SELECT 1 FROM device d JOIN contact c USING (customer_id, contact_id) WHERE c.customer_id = $1::bigint", []),
  ])
  func `A read across customers is detected`(sql: String, tables: [String]) async throws {
    try await withDatabase { database in
      let found = try await Self.readOfEverybody(.made(sql), database)
      #expect(found.sorted() == tables)
    }
  }

  @Test(arguments: [
    (
      """
      INSERT INTO list (customer_id, name) VALUES ($1::bigint, 'a')
      ON CONFLICT (customer_id, name) DO UPDATE SET created_at = now()
      """, RoutingFault.mutableOnConflict
    ),
    (
      """
      INSERT INTO list AS l (customer_id, name) VALUES ($1::bigint, 'a')
      ON CONFLICT (customer_id, name) DO UPDATE SET created_at = excluded.created_at
        WHERE l.created_at < now() - interval '1 day'
      """, .mutableOnConflict
    ),
    (
      """
      WITH added AS (INSERT INTO list (customer_id, name) VALUES ($1::bigint, 'a')
        ON CONFLICT (customer_id, name) DO UPDATE SET created_at = current_timestamp RETURNING list_id)
      SELECT list_id FROM added
      """, .mutableOnConflict
    ),
    ("UPDATE list SET created_at = coalesce(created_at, now()) WHERE customer_id = $1::bigint", .mutableInCase),
    ("UPDATE list SET name = CASE WHEN now() > created_at THEN 'b' END WHERE customer_id = $1::bigint", .mutableInCase),
    ("DELETE FROM list WHERE customer_id = $1::bigint AND coalesce(created_at, now()) < now()", .mutableInCase),
    ("UPDATE list SET created_at = date_trunc('day', created_at) WHERE customer_id = $1::bigint", .stableOfColumn),
    ("UPDATE list SET created_at = created_at + interval '1 day' WHERE customer_id = $1::bigint", .stableOfColumn),
    ("UPDATE list SET name = created_at::text WHERE customer_id = $1::bigint", .stableOfColumn),
    (
      """
      WITH gone AS (DELETE FROM list WHERE customer_id = $1::bigint AND created_at + interval '1 day' < now() RETURNING 1)
      SELECT 1 FROM gone
      """, .stableOfColumn
    ),
    ("UPDATE list SET name = random()::text WHERE customer_id = $1::bigint", .volatileInChange),
    ("UPDATE list SET created_at = now() WHERE customer_id = $1::bigint RETURNING now()", .mutableReturned),
    (
      """
      UPDATE list SET created_at = coalesce(created_at, clock.at) FROM (SELECT now() AS at) AS clock
      WHERE customer_id = $1::bigint
      """, .unfencedMoments
    ),
    ("INSERT INTO list (customer_id, name) VALUES ($1::bigint, (SELECT 'a'))", .subqueryInValues),
    ("SELECT list_id, nextval('list_list_id_seq') FROM list WHERE customer_id = $1::bigint", .numberedRead),
    (
      """
      WITH found AS (SELECT ctid FROM list WHERE customer_id = $1::bigint LIMIT 1)
      UPDATE list SET name = 'a' FROM found WHERE customer_id = $1::bigint AND list.ctid = found.ctid
      """, .rowPlace
    ),
    ("UPDATE list SET customer_id = $2::bigint WHERE customer_id = $1::bigint", .customerChanged),
    ("INSERT INTO list (customer_id, name) VALUES ($2::bigint, $1::text)", .customerNotGiven),
    ("UPDATE list SET name = CASE name WHEN 'a' THEN 'b' END WHERE customer_id = $1::bigint", .simpleCase),
    ("SELECT CASE name WHEN 'a' THEN 1 END FROM list WHERE customer_id = $1::bigint", .simpleCase),
    ("SELECT l AS list FROM list l WHERE customer_id = $1::bigint", .wholeRow),
    ("SELECT to_json(l) FROM list l WHERE customer_id = $1::bigint", .wholeRow),
    ("SELECT one FROM (SELECT list_id FROM list WHERE customer_id = $1::bigint) AS one", .wholeRow),
    (
      """
      WITH changed AS (UPDATE list l SET name = 'a' WHERE customer_id = $1::bigint RETURNING l AS list)
      SELECT (list).list_id FROM changed
      """, .wholeRow
    ),
    (
      "INSERT INTO list (customer_id, name) SELECT list_id, name || 'b' FROM list WHERE customer_id = $1::bigint",
      .customerNotGiven
    ),
  ])
  func `A form that Citus refuses is detected`(sql: String, fault: RoutingFault) async throws {
    try await withDatabase { database in
      let rules = try await RoutingRules(database)
      let parsed = try await Self.parsed(.made(sql), database)
      #expect(rules.faults(in: parsed) == [fault])
    }
  }

  @Test(arguments: [
    """
    INSERT INTO list (customer_id, name, created_at) SELECT c.customer_id, original_id, now() FROM contact c
    WHERE customer_id = $1::bigint
    ON CONFLICT (customer_id, name) DO UPDATE SET created_at = excluded.created_at, name = coalesce(excluded.name, 'a')
    """,
    """
    UPDATE list SET created_at = coalesce(created_at, clock.at) FROM (SELECT now() AS at OFFSET 0) AS clock
    WHERE customer_id = $1::bigint AND created_at < now() - interval '1 day'
    """,
    "UPDATE list SET created_at = least(created_at, now()) WHERE customer_id = $1::bigint RETURNING created_at",
    "UPDATE customer SET created_at = coalesce(created_at, now()) WHERE customer_id = $1::bigint",
    "SELECT coalesce(created_at, now()) FROM list WHERE customer_id = $1::bigint",
    "SELECT to_json(one) FROM (SELECT list_id FROM list WHERE customer_id = $1::bigint) AS one",
    """
    WITH known AS MATERIALIZED (SELECT list_id FROM list WHERE customer_id = $1::bigint)
    SELECT nextval('list_list_id_seq') FROM known
    """,
  ])
  func `A form that Citus accepts is not reported`(sql: String) async throws {
    try await withDatabase { database in
      let rules = try await RoutingRules(database)
      let parsed = try await Self.parsed(.made(sql), database)
      #expect(rules.faults(in: parsed).isEmpty)
    }
  }

  /// The tenant tables whose rows the statement's plan does not limit to customer `$1`.
  private static func readOfEverybody(_ statement: Statement, _ database: TestDatabase) async throws -> Set<String> {
    let plan = try await database.pool.transaction { try await Prepared(statement, $0).plan() }
    let parents = try await Schema.parents(database)
    let careless = try PlannedScan.all(in: plan).filter { !$0.isOfOneCustomer }.map { parents[$0.table] ?? $0.table }
    return try await Schema.tenantTables(database).intersection(careless)
  }

  private static func parsed(_ statement: Statement, _ database: TestDatabase) async throws -> ParseNode {
    try await database.pool.transaction { try await Prepared(statement, $0).parsed() }
  }
}
