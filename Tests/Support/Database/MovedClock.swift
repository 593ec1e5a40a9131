public import Foundation
import Postgres

/// The time of day of a test's own database, which stands still until a test moves it.
///
/// Every statement that asks for `now()` or `clock_timestamp()` finds these functions first, by the database's search path. The defaults of columns,
/// and functions with a search path of their own, keep the server's.
public struct MovedClock: Sendable {
  let pool: Pool

  public func move(to moment: Date) async throws {
    try await pool.query(sql: "UPDATE clock.moment SET at = $1::timestamptz", moment)
  }
}

extension TestDatabase {
  /// Runs `body` with connections by which the database has a clock of its own.
  @discardableResult
  public func withMovedClock<Answer: Sendable>(
    _ body: (TestDatabase, MovedClock) async throws -> Answer
  ) async throws -> Answer {
    for sql in [
      "CREATE SCHEMA clock", "CREATE TABLE clock.moment AS SELECT now() AS at", Self.function("now"),
      Self.function("clock_timestamp"), "ALTER DATABASE \(name) SET search_path = clock, pg_catalog, public",
    ] {
      try await query(sql)
    }
    return try await withPool { pool in
      try await body(
        TestDatabase(name: name, connectionString: connectionString, pool: pool, server: server),
        MovedClock(pool: pool))
    }
  }

  private static func function(_ name: String) -> String {
    """
    CREATE FUNCTION clock.\(name)() RETURNS timestamptz LANGUAGE plpgsql STABLE AS
    $$ BEGIN RETURN (SELECT at FROM clock.moment); END $$
    """
  }
}
