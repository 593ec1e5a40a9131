import Postgres
import Support
import Testing
import Wire

@testable import Outbox

/// Statements on events and deliveries cost by what is due, whatever webhooks have been told before and are yet to be told, and however many
/// have nothing due.
@Suite struct EventBacklogTests {
  private typealias Queries = EventWebhookQueries

  /// Statements that hubs run again and again, with what they are run with here.
  private static let frequent: [(statement: Statement, arguments: String)] = [
    (Queries.due, ""), (Queries.target, "(%, 1)"), (Queries.begin, "(%, 1, 8)"),
    (Queries.assemble, "(%, 1, gen_random_uuid(), '{push.accepted}')"), (Queries.events, "(%, 1, '{5,6,7}')"),
    (Queries.taken, "(%, 1, 5)"), (Queries.failed, "(%, 1, 5, 500, 'HTTP500', 5, false, 'It answers 500.')"),
    (Queries.unmade, "(%, 1, 5, 'It cannot be read.', 5, 12)"), (Queries.postpone, "(%, 1, 5, 5)"),
  ]

  /// A delivery has five events, and six deliveries wait.
  private static let backlog = [
    """
    INSERT INTO webhook (customer_id, webhook_id, url, events, secret)
    SELECT %, n, 'https://hooks.example.com', '{push.accepted}', '\\x00' FROM generate_series(1, 20000) AS n
    """,
    """
    INSERT INTO webhook_delivery (customer_id, webhook_id, message_id, event, state)
    SELECT %, 1, gen_random_uuid(), 'push.accepted', CASE WHEN n BETWEEN 3 AND 8 THEN 'waiting' ELSE 'delivered' END
      FROM generate_series(1, 10000) AS n
    """,
    """
    INSERT INTO webhook_event (customer_id, webhook_id, event, delivery_id)
    SELECT %, 1, 'push.accepted', CASE WHEN n <= 50000 THEN 1 + (n - 1) / 5 END FROM generate_series(1, 60000) AS n
    """,
  ]

  /// Most rows that a statement may read: 500 events, a few times each.
  private static let limit = 5000

  @Test func `Neither 50,000 events that were told nor 10,000 that wait cost anything, on new tables and on old`()
    async throws
  {
    try await withDatabase { database in
      let customer = try await database.customer().description
      try await database.pool.transaction(limit: .seconds(600)) { transaction in
        // As the hub's pool has it.
        try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
        try await transaction.query(sql: "SET LOCAL random_page_cost = 1.1")
        try await transaction.query(sql: "SET LOCAL statement_timeout = 0")
        for (number, (statement, arguments)) in Self.frequent.enumerated() {
          try await transaction.query(sql: "PREPARE frequent_\(number) AS \(statement.sql)")
          // Its plan is made, and stays.
          try await transaction.query(sql: "EXECUTE frequent_\(number)\(arguments.replacing("%", with: customer))")
        }
        for sql in Self.backlog { try await transaction.query(sql: sql.replacing("%", with: customer)) }
        try await check("new")
        try await transaction.query(sql: "ANALYZE webhook, webhook_delivery, webhook_event")
        try await check("old")

        func check(_ age: String) async throws {
          for (number, (statement, arguments)) in Self.frequent.enumerated() {
            // Each finds what the others have found.
            try await transaction.query(sql: "SAVEPOINT before")
            let before = try await rowsRead()
            try await transaction.query(sql: "EXECUTE frequent_\(number)\(arguments.replacing("%", with: customer))")
            let rows = try await rowsRead() - before
            try await transaction.query(sql: "ROLLBACK TO before")
            #expect(rows <= Self.limit, "\(age) table: \(statement.name) reads \(rows) rows")
          }
        }

        /// In this transaction, also by what an EXPLAIN leaves out of its sums.
        func rowsRead() async throws -> Int {
          try await transaction.query(
            sql: """
              SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0)::int8 FROM pg_stat_xact_user_tables
               WHERE relname IN ('webhook', 'webhook_delivery', 'webhook_event')
              """)[0].decode(Int.self)
        }
      }
    }
  }
}
