import Locking

/// A transaction on a connection of its own. Its statements may run from several tasks at once; they reach the server in
/// one pipeline.
public final class Transaction: Querying {
  private enum State { case fresh, begun, ended }

  let lease: Lease
  /// What stands in front of its first statement.
  private let preludes: [Statement]
  private let state = Mutex(State.fresh)

  private static let begin = Statement("transaction.begin", .write, "BEGIN")
  private static let limitLocks = Statement("transaction.limit_locks", .write, "SET LOCAL lock_timeout = '2s'")
  private static let commit = Statement("transaction.commit", .write, "COMMIT")
  private static let rollback = Statement("transaction.rollback", .write, "ROLLBACK")

  init(_ lease: Lease, _ locks: LockWait = .unlimited) {
    self.lease = lease
    preludes = locks == .brief ? [Self.begin, Self.limitLocks] : [Self.begin]
  }

  /// Runs one statement, encoded beforehand. Call `query` instead.
  public func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    try parameters.validate(for: statement)
    _ = try enter(statement.name)
    // BEGIN is sent with the first statement and shares its Sync, which saves a round trip. So is what limits its locks.
    return try await lease.run(statement, parameters, role: .within, after: preludes, deadline: .init(deadline))
  }

  /// COPY … FROM STDIN within this transaction, while no other of its statements runs.
  /// - Returns: the count of rows.
  public func copyIn<Chunks: AsyncSequence & Sendable>(_ sql: String, _ chunks: Chunks) async throws -> Int
  where Chunks.Element == [UInt8] {
    try await beginIfFresh("copy.in")
    return try await lease.copyIn(sql, chunks, isWithinTransaction: true)
  }

  /// COPY … TO STDOUT within this transaction, while no other of its statements runs. It is read to its end; no time limit applies.
  /// - Parameter body: takes each row as the server formats it, newline included. It must not block.
  package func copyOut(_ sql: String, _ body: ([UInt8]) -> Void) async throws {
    try await beginIfFresh("copy.out")
    try await lease.copyOut(sql, body)
  }

  /// Runs many statements in one text, by the simple protocol, while no other statement of this transaction runs: for
  /// migrations. They are not prepared, take no parameters, and cannot be cancelled.
  /// - Parameter name: names the script in errors.
  package func runScript(_ name: String, _ sql: String) async throws {
    try await beginIfFresh(name)
    try await lease.runScript(name, sql)
  }

  private func beginIfFresh(_ statement: String) async throws {
    guard try enter(statement) else { return }
    for prelude in preludes { try await lease.run(prelude, role: .within, isCancellable: false) }
  }

  /// Whether this is the transaction's first statement.
  private func enter(_ statement: String) throws -> Bool {
    try state.withLock { state in
      switch state {
      case .fresh:
        state = .begun
        return true
      case .begun: return false
      case .ended: throw PostgresError.leaseOver(statement)
      }
    }
  }

  /// Whether there is anything to end.
  private func leave() -> Bool {
    state.withLock { state in
      defer { state = .ended }
      return state == .begun
    }
  }

  func commit() async throws {
    defer { lease.release() }
    guard leave() else { return }
    let answer = try await lease.run(Self.commit, role: .commit, isLast: true, isCancellable: false)
    // If a statement failed and the body caught its error, the answer to COMMIT is ROLLBACK.
    guard answer.commandTag == "COMMIT" else { throw PostgresError.rolledBack }
  }

  /// Never fails: a connection that cannot roll back is closed, which rolls back too.
  func rollback() async {
    defer { lease.release() }
    if leave() { _ = try? await lease.run(Self.rollback, role: .within, isLast: true, isCancellable: false) }
  }
}

extension PostgresError {
  /// COMMIT of a transaction in which a statement had failed.
  fileprivate static var rolledBack: PostgresError {
    .server(
      ServerError(
        sqlState: ServerError.inFailedTransaction,
        message: "the transaction was rolled back because one of its statements had failed",
        statement: "transaction.commit"))
  }
}
