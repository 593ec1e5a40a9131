/// A connection of one's own, until it is given back.
final class Lease: Sendable {
  let session: Session
  let reactor: Reactor
  /// How long each statement may run.
  let limit: Duration

  init(_ session: Session, reactor: Reactor, limit: Duration) {
    self.session = session
    self.reactor = reactor
    self.limit = limit
  }

  /// - Parameter isCancellable: whether the end of the task cancels the statement on the server.
  func run(
    _ statement: Statement, _ parameters: ParameterBuffer = ParameterBuffer(), role: Call.Role,
    isCancellable: Bool = true
  ) async throws -> Rows {
    let call = Call(statement, parameters, role: role, limit: limit)
    let session = session
    return try await reactor.run(call, isCancellable: isCancellable) { core in
      call.isTaken = true
      if call.cancelling != nil { call.fail(CancellationError()) } else { session.send(call, at: core.now) }
    }
  }

  /// Sends a statement that nobody waits for, in front of the next one.
  func runInFront(_ statement: Statement, role: Call.Role) {
    let call = Call(statement, ParameterBuffer(), role: role, limit: limit)
    let session = session
    _ = reactor.post(
      .perform { core in
        call.isTaken = true
        session.send(call, at: core.now)
      })
  }

  /// Runs many statements by the simple protocol. It cannot be cancelled, nor does it time out by itself.
  func runScript(_ name: String, _ sql: String) async throws {
    let script = ScriptRun(name: name, sql: sql)
    let session = session
    try await withUnsafeThrowingContinuation { continuation in
      script.continuation = continuation
      if !reactor.post(.perform { _ in session.run(script) }) {
        continuation.resume(throwing: PostgresError.connectionLost(statement: name))
      }
    }
  }

  /// - Parameter isClean: whether the connection is as it was when it was lent, and so can be lent again.
  func giveBack(isClean: Bool) {
    let session = session
    _ = reactor.post(.perform { $0.giveBack(session, isClean: isClean) })
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
          continuation.resume(throwing: PostgresError.unavailable("the pool has been shut down"))
        }
      }
    } onCancel: {
      if isCancellable { _ = post(.cancel(call)) }
    }
  }
}
