/// Where a statement can run: on the pool, each alone, or on a transaction, all or none.
public protocol Querying: Sendable {
  /// Runs one statement with its parameters, encoded beforehand. Call `query` instead.
  ///
  /// - Parameter deadline: when the call ends at the latest, to within some ten milliseconds; nil for the pool's own limits.
  ///   All waiting counts, for a connection and for the server. A statement given up is cancelled on the server.
  /// - Throws: once the deadline has passed, `PostgresError.unavailable` or `.busy` if no connection took the statement,
  ///   `PostgresError.unknownOutcome` for a write that was sent, and `PostgresError.timedOut` for a read, which had no effect. In a
  ///   transaction nothing has an effect before COMMIT, so it is `timedOut` there.
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows

  /// Runs `body` in one transaction, for statements that belong together, or that need settings of their own: in the one that this is, or else
  /// in one of the customer's.
  func inTransaction<Answer: Sendable>(
    of customer: Int64, _ body: @Sendable (any Querying) async throws -> Answer
  ) async throws -> Answer

  /// Where tasks run best that do little but send statements here and read what comes of them: on the thread that both pass through.
  /// Each wake-up of another thread takes longer than the work that it is for. `nil` for anywhere.
  var executor: (any TaskExecutor)? { get }
}

extension Querying {
  public var executor: (any TaskExecutor)? { nil }

  /// Of a database that has no transactions of its own.
  public func inTransaction<Answer: Sendable>(
    of customer: Int64, _ body: @Sendable (any Querying) async throws -> Answer
  ) async throws -> Answer {
    try await body(self)
  }

  /// Runs one statement with its parameters, encoded beforehand, within the pool's own limits.
  public func run(_ statement: Statement, _ parameters: ParameterBuffer) async throws -> Rows {
    try await run(statement, parameters, deadline: nil)
  }

  /// Runs one statement and gives its rows.
  /// - Parameter deadline: when the call ends at the latest; nil for the pool's own limits. See `run`.
  /// - Throws: `PostgresError`, or `CancellationError` when the task was cancelled and the statement had no effect.
  @discardableResult
  public func query<each Value: PostgresEncodable>(
    _ statement: Statement, _ values: repeat each Value, deadline: ContinuousClock.Instant? = nil
  ) async throws -> Rows {
    try await run(statement, ParameterBuffer(repeat each values), deadline: deadline)
  }

  /// This database, where every call ends within that time. It is for requests, whose senders would rather try again than wait.
  public func limited(to limit: Duration) -> any Querying { TimeLimited(database: self, limit: limit) }
}

/// Gives each call a deadline, unless it has an earlier one.
private struct TimeLimited: Querying {
  let database: any Querying
  let limit: Duration

  var executor: (any TaskExecutor)? { database.executor }

  func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    let end = ContinuousClock.now + limit
    return try await database.run(statement, parameters, deadline: deadline.map { min($0, end) } ?? end)
  }

  func inTransaction<Answer: Sendable>(
    of customer: Int64, _ body: @Sendable (any Querying) async throws -> Answer
  ) async throws -> Answer {
    try await database.inTransaction(of: customer) { try await body($0.limited(to: limit)) }
  }
}
