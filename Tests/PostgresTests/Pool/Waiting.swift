import Postgres
import Support

extension TestDatabase {
  /// The server pauses before it looks, so that a test that polls does not keep a processor busy.
  private static let backends = Statement(
    "test.backends", .read,
    """
    SELECT pid FROM pg_sleep(0.01), pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE $1
      AND ($2 = '' OR state = $2) AND ($3 = '' OR wait_event_type = $3)
    """)

  /// Backends whose current or last statement is like this, and that wait for that kind of event.
  func backends(running pattern: String, state: String = "active", waitingFor event: String = "") async throws -> [Int]
  {
    try await pool.query(Self.backends, pattern, state, event).map { row throws(PostgresError) in
      try row.decode(Int.self)
    }
  }

  /// Returns when that many backends run such a statement, waiting for that kind of event.
  /// - Throws: after five minutes, see `waitUntil`.
  @discardableResult
  func waits(
    untilRunning count: Int, like pattern: String, state: String = "active", waitingFor event: String = ""
  ) async throws -> [Int] {
    var found: [Int] = []
    try await waitUntil(every: .milliseconds(1)) {
      found = try await backends(running: pattern, state: state, waitingFor: event)
      return found.count == count
    }
    return found
  }
}
