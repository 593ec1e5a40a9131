/// Where a statement can run: on the pool, each alone, or on a transaction, all or none.
public protocol Querying: Sendable {
  /// Runs one statement with its parameters, encoded beforehand. Call `query` instead.
  func run(_ statement: Statement, _ parameters: ParameterBuffer) async throws -> Rows
}

extension Querying {
  /// Runs one statement and gives its rows.
  /// - Throws: `PostgresError`, or `CancellationError` when the task was cancelled and the statement had no effect.
  @discardableResult
  public func query<each Value: PostgresEncodable>(
    _ statement: Statement, _ values: repeat each Value
  ) async throws -> Rows {
    try await run(statement, ParameterBuffer(repeat each values))
  }
}
