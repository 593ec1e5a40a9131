import DequeModule

/// The connections that are lent, one connectionWaiter at a time, and who waits for one.
struct DedicatedConnections {
  var idle: [Session] = []
  var lent: [Session] = []
  var opening = 0
  var connectionWaiters: Deque<ConnectionWaiter> = []

  /// Nobody holds or awaits a connection.
  var isQuiet: Bool { lent.isEmpty && connectionWaiters.isEmpty }

  func wantsConnection(_ configuration: PoolConfiguration) -> Bool {
    connectionWaiters.count > idle.count + opening && idle.count + lent.count + opening < configuration.lentConnections
  }

  mutating func returned(_ session: Session) {
    lent.removeAll { $0 === session }
    idle.append(session)
  }

  mutating func remove(_ session: Session) {
    lent.removeAll { $0 === session }
    idle.removeAll { $0 === session }
  }

  mutating func finish() {
    for connectionWaiter in connectionWaiters { connectionWaiter.finish(.failure(PostgresError.shutDown)) }
    connectionWaiters.removeAll()
  }
}

/// Somebody who waits for a connection of their own.
///
/// `@unchecked Sendable`: set up by the caller, handed over through the inbox's lock, then used on the reactor's thread alone.
final class ConnectionWaiter: @unchecked Sendable {
  var continuation: UnsafeContinuation<Lease, any Error>?
  var expires = MonotonicInstant.distantFuture
  var isTaken = false
  var isCancelled = false
  private(set) var isFinished = false

  func finish(_ outcome: Result<Lease, any Error>) {
    guard !isFinished else { return }
    isFinished = true
    continuation.take()?.resume(with: outcome)
  }

  /// A cancellation can overtake the request in the inbox.
  func cancel() {
    if isTaken { finish(.failure(CancellationError())) } else { isCancelled = true }
  }
}
