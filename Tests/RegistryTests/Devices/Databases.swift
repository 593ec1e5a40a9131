import Postgres
import Locking

/// Takes every statement and never answers, as a server does that hangs.
struct SilentDatabase: Querying {
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    try await Task.sleep(for: .seconds(1_000_000))
    throw CancellationError()
  }
}

/// Notes the SQLSTATEs of the statements that fail in the databases it watches.
final class FailedStatements: Sendable {
  private let states = Mutex<[String]>([])

  func count(of sqlState: String) -> Int { states.withLock { $0.count { $0 == sqlState } } }

  func passing(_ database: any Querying) -> any Querying { Watched(database: database, failures: self) }

  private struct Watched: Querying {
    let database: any Querying
    let failures: FailedStatements

    func run(
      _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
    ) async throws -> Rows {
      do {
        return try await database.run(statement, parameters, deadline: deadline)
      } catch PostgresError.server(let error) {
        failures.states.withLock { $0.append(error.sqlState) }
        throw PostgresError.server(error)
      }
    }
  }
}
