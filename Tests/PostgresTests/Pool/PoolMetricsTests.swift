import MetricsTestKit
import Support
import Testing

@testable import Postgres

@Suite struct PoolMetricsTests {
  @Test func `Each statement's time and failures are counted under its name`() async throws {
    let metrics = TestMetrics()
    try await withDatabase { database in
      try await database.withPool({ $0.metrics = metrics }) { pool in
        let divide = Statement("test.divide", .read, "SELECT 1 / $1::int8")
        for divisor in [1, 2, 3] { try await pool.query(divide, divisor) }
        await #expect(throws: PostgresError.self) { try await pool.query(divide, 0) }
        await #expect(throws: PostgresError.self) { try await pool.transaction { try await $0.query(divide, 0).count } }
      }
    }
    let time = try metrics.expectTimer("pushcart_database_statement_seconds", [("statement", "test.divide")])
    #expect(time.values.count == 5)
    let failures = try metrics.expectCounter(
      "pushcart_database_statement_failures_total", [("statement", "test.divide"), ("reason", "22012")])
    #expect(failures.totalValue == 2)
  }

  @Test func `Lost connections are counted, and what was lost with them`() async throws {
    let metrics = TestMetrics()
    try await withDatabase { database in
      try await database.withPool({
        $0.metrics = metrics
        $0.sharedConnections = 1
      }) { pool in
        let own = Statement("test.own", .write, "SELECT pg_terminate_backend(pg_backend_pid()), pg_sleep(3600)")
        await #expect(throws: PostgresError.self) { try await pool.query(own) }
      }
    }
    #expect(try metrics.expectCounter("pushcart_database_connections_lost_total").totalValue == 1)
    let reason = [("statement", "test.own"), ("reason", "connection_lost")]
    #expect(try metrics.expectCounter("pushcart_database_statement_failures_total", reason).totalValue == 1)
  }
}
