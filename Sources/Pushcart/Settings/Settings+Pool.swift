import Logging
import Postgres

extension Settings {
  /// Connections to the database for as long as `body` runs: for commands that do one thing and end.
  func withPool<Answer: Sendable>(_ body: (Pool) async throws -> Answer) async throws -> Answer {
    let pool = Pool(database, logger: Logger(label: "postgres"))
    do {
      let answer = try await body(pool)
      await pool.close()
      return answer
    } catch {
      await pool.close()
      throw error
    }
  }
}
