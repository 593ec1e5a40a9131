public import Logging
public import ServiceLifecycle

/// Few connections, shared by many tasks.
///
/// A statement outside a transaction travels in the pipeline of a shared connection; transactions, COPY and notifications
/// have connections of their own. Connections are opened when first needed, and again, with back-off, when they are lost.
/// The pool works from its first use on. Run it as a service to have it drained when the program ends; otherwise it ends
/// when it is released.
public final class Pool: Querying, Service {
  let configuration: PoolConfiguration
  let logger: Logger
  private let reactor: Reactor

  /// Opens nothing yet: that happens at the first use, or when the pool is run.
  public init(_ configuration: PoolConfiguration, logger: Logger) {
    self.configuration = configuration
    self.logger = logger
    reactor = Reactor { PoolDriver(configuration, logger: logger, reactor: $0) }
  }

  deinit {
    if !reactor.closeUnused() { _ = reactor.post(.perform { $0.stop() }) }
  }

  /// Keeps a connection open until the service group, or the task, ends.
  ///
  /// On graceful shutdown statements and transactions under way are finished first, on cancellation they are not. When it
  /// returns, every connection is closed.
  public func run() async throws {
    _ = reactor.post(.perform { _ in })
    do {
      try await gracefulShutdown()
      await close()
    } catch {
      _ = reactor.post(.perform { $0.stop() })
      await close()
    }
  }

  /// Takes no more statements, finishes those under way, and closes every connection.
  public func close() async {
    if reactor.closeUnused() { return }
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        if !reactor.post(.perform { $0.drain(continuation) }) { continuation.resume() }
      }
    } onCancel: {
      _ = reactor.post(.perform { $0.stop() })
    }
  }

  public var executor: (any TaskExecutor)? { reactor }

  /// Whether a connection is up now: for `/readyz`.
  public var isReady: Bool { reactor.isUp }

  /// What the pool is doing now.
  public var status: PoolStatus {
    get async {
      await withUnsafeContinuation { continuation in
        if !reactor.post(.perform { continuation.resume(returning: $0.status) }) {
          continuation.resume(returning: .closed)
        }
      }
    }
  }

  /// Returns when the pool meets the condition: for tests.
  package func waits(until condition: @escaping @Sendable (PoolStatus) -> Bool) async {
    await withUnsafeContinuation { continuation in
      let watcher = PoolDriver.Watcher(condition: condition, continuation: continuation)
      if !reactor.post(.perform { $0.add(watcher) }) { continuation.resume() }
    }
  }

  /// Runs one statement, encoded beforehand, on a shared connection. Call `query` instead.
  public func run(
    _ statement: Statement, _ parameters: ParameterBuffer, deadline: ContinuousClock.Instant?
  ) async throws -> Rows {
    try parameters.validate(for: statement)
    let role: Call.Role = statement.effect == .read ? .read : .write
    return try await reactor.run(
      Call(
        statement, parameters, role: role, limit: configuration.statementTimeout, deadline: MonotonicInstant(deadline)))
  }

  /// Runs `body` between BEGIN and COMMIT on a connection of its own; rolls back when it throws or is cancelled.
  ///
  /// Customers take turns for connections, and each has a share of them (`PoolState.Shares`).
  /// - Parameters:
  ///   - customer: whose transaction it is; `nil` for the hub's own, which has no share to keep to.
  ///   - limit: how long each statement may run before it is cancelled from here, when that is longer than usual.
  ///     The body sets the server's own `statement_timeout`.
  ///   - isLong: whether it takes long as a rule, and so leaves some connections to short ones; by default, whether it has a limit.
  ///   - locks: how long what others have locked is waited for.
  /// - Throws: what `body` throws; `PostgresError.unknownOutcome` when the connection was lost while COMMIT was under way;
  ///   any other error means that the transaction had no effect.
  public func transaction<Answer: Sendable>(
    of customer: Int64? = nil, limit: Duration? = nil, isLong: Bool? = nil, locks: LockWait = .unlimited,
    _ body: @Sendable (Transaction) async throws -> Answer
  ) async throws -> Answer {
    var lease = try await leaseConnection(of: customer, isLong: isLong ?? (limit != nil))
    if let limit { lease = lease.limited(to: limit) }
    let transaction = Transaction(lease, locks)
    let answer: Answer
    do {
      answer = try await body(transaction)
      try Task.checkCancellation()
    } catch {
      await transaction.rollback()
      throw error
    }
    try await transaction.commit()
    return answer
  }

  public func inTransaction<Answer: Sendable>(
    of customer: Int64, _ body: @Sendable (any Querying) async throws -> Answer
  ) async throws -> Answer {
    try await transaction(of: customer) { try await body($0) }
  }

  /// COPY … FROM STDIN: sends the chunks, and returns the count of rows once the server has committed them.
  ///
  /// Chunks may cut rows anywhere. They are pulled no faster than the server takes them; no time limit applies. When `chunks`
  /// throws, or the task is cancelled, the server discards everything.
  /// - Throws: what `chunks` throws; `PostgresError`; `CancellationError`.
  public func copyIn<Chunks: AsyncSequence & Sendable>(_ sql: String, _ chunks: Chunks) async throws -> Int
  where Chunks.Element == [UInt8] {
    let lease = try await leaseConnection(isLong: true)
    defer { lease.release() }
    return try await lease.copyIn(sql, chunks, isWithinTransaction: false)
  }

  /// COPY … TO STDOUT, a chunk (one row) at a time, at the reader's pace.
  public func copyOut(_ sql: String) -> CopyOut { CopyOut(self, sql) }

  /// The notifications on these channels, from a connection of their own.
  public func notifications(on channels: [String]) -> Notifications { Notifications(self, channels) }

  /// A connection of the caller's own.
  /// - Parameter isLong: whether it may be held for long.
  func leaseConnection(of customer: Int64? = nil, isLong: Bool = false) async throws -> Lease {
    let waiter = ConnectionWaiter(flow: customer ?? 0, isLong: isLong)
    return try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        waiter.continuation = continuation
        if !reactor.post(.perform { $0.enqueue(waiter) }) {
          continuation.resume(throwing: PostgresError.shutDown)
        }
      }
    } onCancel: {
      _ = reactor.post(.perform { _ in waiter.cancel() })
    }
  }

  func subscribe(_ subscription: Subscription) {
    if !reactor.post(.perform { $0.listener.add(subscription) }) { subscription.finish() }
  }

  func unsubscribe(_ subscription: Subscription) {
    _ = reactor.post(.perform { $0.listener.remove(subscription) })
  }
}

/// How long a transaction waits for what others have locked.
public enum LockWait: Sendable {
  /// As long as its statements may run.
  case unlimited
  /// Two seconds for each lock; then it fails with `ServerError.lockNotAvailable`. It is for requests, which the client can repeat, and for
  /// steps that are tried again: who waits holds one of the few connections that there are.
  case brief
}

/// A snapshot of what a pool is doing.
public struct PoolStatus: Sendable, Equatable {
  /// Connections shared by statements outside transactions.
  public var sharedConnections: Int
  /// Connections for transactions and COPY, leased or ready to be.
  public var dedicatedConnections: Int
  /// Statements on shared connections, sent and not answered.
  public var statementsInFlight: Int
  /// Statements that wait for a shared connection.
  public var statementsWaiting: Int
  /// Transactions and COPYs that wait for a connection.
  public var transactionsWaiting: Int
  /// Connections that could not be opened, or were lost before the server answered a statement, since it last did.
  public var failedAttempts: Int

  static let closed = PoolStatus(
    sharedConnections: 0, dedicatedConnections: 0, statementsInFlight: 0, statementsWaiting: 0, transactionsWaiting: 0,
    failedAttempts: 0)
}
