/// A connection of one's own, until it is given back.
final class Lease: Sendable {
  let session: Session
  /// Shown with all that is handed over: a task that is late must not meet the next connectionWaiter's transaction.
  let ticket: Int
  private let reactor: Reactor
  /// How long each statement may run.
  private let limit: Duration

  init(_ session: Session, ticket: Int, reactor: Reactor, limit: Duration) {
    self.session = session
    self.ticket = ticket
    self.reactor = reactor
    self.limit = limit
  }

  /// The same connection with another limit; only one of the two is to be given back.
  func limited(to limit: Duration) -> Lease {
    Lease(session, ticket: ticket, reactor: reactor, limit: limit)
  }

  /// Runs one statement.
  /// - Parameters:
  ///   - prelude: a statement that nobody waits for, sent in front and under the same Sync.
  ///   - isLast: whether nothing but giving back may follow.
  ///   - isCancellable: whether the end of the task cancels the statement on the server.
  ///   - deadline: when the caller is answered at the latest.
  @discardableResult
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer = ParameterBuffer(), role: Call.Role,
    after prelude: Statement? = nil, isLast: Bool = false, isCancellable: Bool = true,
    deadline: MonotonicInstant = .distantFuture
  ) async throws -> Rows {
    let call = Call(statement, parameters, role: role, limit: limit, deadline: deadline)
    let first = prelude.map { Call($0, ParameterBuffer(), role: .begin, limit: limit) }
    let (session, ticket) = (session, ticket)
    return try await reactor.run(call, isCancellable: isCancellable) { core in
      call.isTaken = true
      guard ticket == session.ticket else { return call.fail(PostgresError.leaseOver(statement.name)) }
      if let first { session.send(first, at: core.now) }
      if call.cancelling != nil || call.deadline <= core.now {
        call.fail(call.cancelling != nil ? CancellationError() : call.deadlineError)
        session.endSegment()
      } else {
        core.watchDeadline(of: call)
        session.send(call, at: core.now)
      }
      if isLast { _ = session.newTicket() }
    }
  }

  /// Runs many statements by the simple protocol. It cannot be cancelled, nor does it time out by itself.
  func runScript(_ name: String, _ sql: String) async throws {
    let script = ScriptOperation(name: name, sql: sql)
    let (session, ticket) = (session, ticket)
    try await withUnsafeThrowingContinuation { continuation in
      script.continuation = continuation
      perform { core in if core == nil { script.failed(.shutDown) } else { session.begin(script, ticket) } }
    }
  }

  /// Has the reactor's thread run `body`: with `nil`, and here, if the reactor has ended.
  func perform(_ body: @escaping @Sendable (PoolCore?) -> Void) {
    if !reactor.post(.perform { body($0) }) { body(nil) }
  }

  /// Ends the lease. A connection that is not as it was when it was lent is closed.
  func giveBack() {
    let session = session
    perform { $0?.giveBack(session) }
  }
}

extension PostgresError {
  /// What came after the connection had been given back, or its transaction been ended.
  static func leaseOver(_ statement: String) -> PostgresError {
    .misuse("\(statement): the transaction has ended already")
  }
}

extension Reactor {
  /// Hands a call over, suspends until it is answered, and passes on the task's cancellation.
  func run(
    _ call: Call, isCancellable: Bool = true, _ handOver: (@Sendable (PoolCore) -> Void)? = nil
  ) async throws -> Rows {
    try await withTaskCancellationHandler {
      try await withUnsafeThrowingContinuation { continuation in
        call.continuation = continuation
        if !post(handOver.map { .perform($0) } ?? .call(call)) {
          continuation.resume(throwing: PostgresError.shutDown)
        }
      }
    } onCancel: {
      if isCancellable { _ = post(.cancel(call)) }
    }
  }
}
