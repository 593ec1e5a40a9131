/// A connection of one's own, until it is given back.
final class Lease: Sendable {
  let session: Session
  private let reactor: Reactor
  /// How long each statement may run.
  private let limit: Duration

  init(_ session: Session, reactor: Reactor, limit: Duration) {
    self.session = session
    self.reactor = reactor
    self.limit = limit
  }

  /// The same connection with another limit; only one of the two is to be given back.
  func limited(to limit: Duration) -> Lease { Lease(session, reactor: reactor, limit: limit) }

  /// Runs one statement.
  /// - Parameters:
  ///   - prelude: a statement that nobody waits for, sent in front and under the same Sync.
  ///   - isCancellable: whether the end of the task cancels the statement on the server.
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer = ParameterBuffer(), role: Call.Role,
    after prelude: Statement? = nil,
    isCancellable: Bool = true
  ) async throws -> Rows {
    let call = Call(statement, parameters, role: role, limit: limit)
    let first = prelude.map { Call($0, ParameterBuffer(), role: .begin, limit: limit) }
    let session = session
    return try await reactor.run(call, isCancellable: isCancellable) { core in
      call.isTaken = true
      if let first { session.send(first, at: core.now) }
      if call.cancelling != nil { call.fail(CancellationError()) } else { session.send(call, at: core.now) }
    }
  }

  /// Runs many statements by the simple protocol. It cannot be cancelled, nor does it time out by itself.
  func runScript(_ name: String, _ sql: String) async throws {
    let script = ScriptRun(name: name, sql: sql)
    let session = session
    try await withUnsafeThrowingContinuation { continuation in
      script.continuation = continuation
      perform { core in if core == nil { script.failed(.shutDown) } else { session.begin(script) } }
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
