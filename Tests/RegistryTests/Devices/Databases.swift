import Postgres
import Locking

/// Passes statements on, and counts those whose names begin so.
final class CountingStatements: Querying {
  private let database: any Querying
  private let calls = Mutex(0)

  private let prefix: String

  init(_ database: any Querying, _ prefix: String = "device.register") {
    self.database = database
    self.prefix = prefix
  }

  var count: Int { calls.withLock { $0 } }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    if statement.name.hasPrefix(prefix) { calls.withLock { $0 += 1 } }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}

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
