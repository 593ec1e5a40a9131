import Postgres
import Support
import Testing

@testable import Outbox

@Suite struct PostQueueTests {
  /// Blocks of 8 KB that a statement may look at. All that waits has some 1,500.
  private static let limit = 300

  @Test func `What waits costs nothing while some of it is posted, on a new table and on an old one`() async throws {
    try await withDatabase { database in
      try await database.pool.transaction(limit: .seconds(600)) { transaction in
        // As the hub's pool has it.
        try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
        try await transaction.query(sql: "SET LOCAL random_page_cost = 1.1")
        let executions = [
          (PostQueries.begin, "(1, 'message_status', 'app', 16)"),
          (PostQueries.postpone, "(1, 'message_status', 'app', 1, 7, 'Accepted', 30, 0)"),
          (PostQueries.end, "(1, 'message_status', 'app', 1, 8, 'Accepted')"),
        ]
        for (number, (statement, arguments)) in executions.enumerated() {
          try await transaction.query(sql: "PREPARE statement_\(number) AS \(statement.sql)")
          // Its plan is made, and stays.
          try await transaction.query(sql: "EXECUTE statement_\(number)\(arguments)")
        }
        try await transaction.query(
          sql:
            """
            INSERT INTO outbox (customer_id, kind, receiver, sendout_id, item_no, event, not_before)
            SELECT 1, 'message_status', 'app', 1, n, 'Accepted', CASE WHEN n < 100 THEN now() ELSE now() + interval '1 hour' END
              FROM generate_series(1, 100000) AS n
            """)
        for age in ["new", "old"] {
          for (number, (statement, arguments)) in executions.enumerated() {
            let blocks = try await transaction.blocks("EXECUTE statement_\(number)\(arguments)")
            #expect(blocks <= Self.limit, "\(age) table: \(statement.name)")
          }
          try await transaction.query(sql: "ANALYZE outbox")
        }
      }
    }
  }
}
