public import Postgres
import Synchronization

/// Counts the statements that pass through it, by name.
public final class CountingDatabase: Querying {
  private let database: any Querying
  private let seen = Mutex<[String: Int]>([:])

  public init(_ database: any Querying) { self.database = database }

  public var counts: [String: Int] { seen.withLock(\.self) }

  public func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    seen.withLock { $0[statement.name, default: 0] += 1 }
    return try await database.run(statement, parameters, deadline: deadline)
  }
}
