/// The sole use of a connection, until it is released.
final class Lease: Sendable {
  let session: Session
  /// Sent with every statement: a task that is late must not get into the next holder's transaction.
  let id: Int
  private let reactor: Reactor
  /// How long each statement may run.
  private let limit: Duration

  init(_ session: Session, id: Int, reactor: Reactor, limit: Duration) {
    self.session = session
    self.id = id
    self.reactor = reactor
    self.limit = limit
  }

  /// A lease of this connection with another limit. Only one of the two is to be released.
  func limited(to limit: Duration) -> Lease {
    Lease(session, id: id, reactor: reactor, limit: limit)
  }

  /// Runs one statement.
  /// - Parameters:
  ///   - preludes: statements sent in front of the lease's first one, under the same Sync, whose results are ignored.
  ///   - isLast: whether nothing but the release may follow.
  ///   - isCancellable: whether the end of the task cancels the statement on the server.
  ///   - deadline: when the caller is answered at the latest.
  @discardableResult
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer = ParameterBuffer(), role: Call.Role,
    after preludes: [Statement] = [], isLast: Bool = false, isCancellable: Bool = true,
    deadline: MonotonicInstant = .distantFuture
  ) async throws -> Rows {
    let call = Call(statement, parameters, role: role, limit: limit, deadline: deadline)
    let (session, id, limit) = (session, id, limit)
    return try await reactor.run(call, isCancellable: isCancellable) { driver in
      call.isTaken = true
      guard id == session.leaseID else { return call.fail(PostgresError.leaseOver(statement.name)) }
      // Of statements that several tasks send at once, the reactor alone knows which is the first.
      if !session.hasBegun {
        session.hasBegun = true
        for prelude in preludes {
          session.send(Call(prelude, ParameterBuffer(), role: .begin, limit: limit), at: driver.now)
        }
      }
      if call.cancelling != nil || call.deadline <= driver.now {
        call.fail(call.cancelling != nil ? CancellationError() : call.deadlineError)
        session.endSegment()
      } else {
        driver.watch(call.deadline)
        session.send(call, at: driver.now)
      }
      if isLast { _ = session.newLease() }
    }
  }

  /// Runs many statements by the simple protocol. They can be neither cancelled nor timed out.
  func runScript(_ name: String, _ sql: String) async throws {
    let script = ScriptOperation(name: name, sql: sql)
    let (session, id) = (session, id)
    try await withUnsafeThrowingContinuation { continuation in
      script.continuation = continuation
      perform { driver in if driver == nil { script.failed(.shutDown) } else { session.begin(script, id) } }
    }
  }

  /// Has the reactor's thread run `body`: with `nil`, and here, if the reactor has ended.
  func perform(_ body: @escaping @Sendable (PoolDriver?) -> Void) {
    if !reactor.post(.perform { body($0) }) { body(nil) }
  }

  /// Ends the lease. A connection that is not in the state in which it was leased is closed.
  func release() {
    let session = session
    perform { $0?.release(session) }
  }
}

extension PostgresError {
  /// A statement came after the connection was released, or after its transaction had ended.
  static func leaseOver(_ statement: String) -> PostgresError {
    .misuse("\(statement): the transaction has ended already")
  }
}

extension Reactor {
  /// Hands a call over, suspends until it is answered, and passes on the task's cancellation.
  func run(
    _ call: Call, isCancellable: Bool = true, _ handOver: (@Sendable (PoolDriver) -> Void)? = nil
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

/// A caller that waits for a lease.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class ConnectionWaiter: @unchecked Sendable, FlowMember {
  /// Whose transaction it is; 0 for the hub's own.
  let flow: Int64
  /// Whether the connection may be held for long, as by a freeze or a COPY.
  let isLong: Bool
  var continuation: UnsafeContinuation<Lease, any Error>?
  /// Where it waits in the pool, and which connection it holds.
  var place = FlowPlace()
  var expires = MonotonicInstant.distantFuture
  /// Whether the reactor has taken it from the inbox: a cancellation can overtake it there.
  var isTaken = false
  private(set) var isCancelled = false
  private(set) var isFinished = false

  init(flow: Int64 = 0, isLong: Bool = false) {
    self.flow = flow
    self.isLong = isLong
  }

  /// A turn.
  var cost: Int { FlowTable<ConnectionWaiter>.turn }

  func finish(_ outcome: Result<Lease, any Error>) {
    guard !isFinished else { return }
    isFinished = true
    continuation.take()?.resume(with: outcome)
  }

  /// The caller's task was cancelled.
  func cancel() {
    if isTaken { finish(.failure(CancellationError())) } else { isCancelled = true }
  }
}
