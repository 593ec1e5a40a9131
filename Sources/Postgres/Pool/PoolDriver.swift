import Retrying
import Logging
import Metrics

/// Carries out what the pool's state machine decides, on the reactor's thread, and reports the results to it.
final class PoolDriver {
  let configuration: PoolConfiguration
  let logger: Logger
  unowned let reactor: Reactor
  /// Read once for each turn of the reactor.
  var now = MonotonicInstant.now
  /// Arrays that libpq wants with each call.
  var scratch = ParameterScratch()
  var metrics: PoolMetrics
  lazy var listener = Listener(driver: self)

  private var state: PoolState
  /// When the next connection to a standby may be replaced.
  private var replacesStandbyFrom = MonotonicInstant(nanoseconds: .min)
  /// The connections that are up, each at its number.
  private(set) var sessions: [Session?]
  /// Those that were handed something in this turn, to be flushed at its end.
  private var unflushed: [Session] = []
  private var watchers: [Watcher] = []
  private var closers: [UnsafeContinuation<Void, Never>] = []

  init(_ configuration: PoolConfiguration, logger: Logger, reactor: Reactor) {
    self.configuration = configuration
    self.logger = logger
    self.reactor = reactor
    metrics = PoolMetrics(configuration.metricsName, configuration.metrics ?? MetricsSystem.factory)
    state = PoolState(configuration)
    sessions = Array(repeating: nil, count: state.connections.count)
  }

  // MARK: The reactor's turns

  /// Does everything there is to do, after the inbox and before the next wait.
  func work() {
    for case let session? in sessions where session.deadline <= now { session.tick(at: now) }
    for case let session? in sessions {
      let load = session.load
      state.connections[session.id].load = load
      if load.isLong(at: now), state.connections[session.id].phase == .shared, let flow = session.pipeline.flowAtHead {
        state.keepsBusy(flow, at: now)
      }
    }
    state.needsListener = listener.isNeeded
    while let action = state.next(at: now) { perform(action) }
    for session in unflushed {
      session.endBatch()
      session.awaitsFlush = false
    }
    unflushed.removeAll(keepingCapacity: true)
    metrics.update(state)
    if !watchers.isEmpty { informWatchers() }
  }

  /// When there will be something to do though no event occurs.
  var nextDeadline: MonotonicInstant {
    sessions.reduce(state.wakeTime) { next, session in session.map { min(next, $0.deadline) } ?? next }
  }

  var isClosed: Bool { state.phase == .closed }

  private func perform(_ action: PoolState.Action) {
    switch action {
    case .open(let id, let purpose): open(id, purpose)
    case .send(let call, let id):
      session(id).send(call, at: now)
      if !call.isInFlight { left(call) }
    case .lease(let id, let waiter): lease(session(id), to: waiter)
    case .turnAway(let call, let error): turnAway(call, error)
    case .refuse(let waiter, let error): refuse(waiter, error)
    case .passDeadlines(let late):
      for call in late { turnAway(call, state.unservedByDeadline) }
      for case let session? in sessions {
        let next = session.passDeadlines(at: now)
        state.watch(next)
      }
    case .close: break
    }
  }

  /// The state machine names no connection that is not up.
  private func session(_ id: PoolState.ConnectionID) -> Session {
    guard let session = sessions[id] else { preconditionFailure("connection \(id) is not up") }
    return session
  }

  // MARK: Calls

  func enqueue(_ call: Call) {
    call.isTaken = true
    guard call.cancelling == nil else { return call.fail(CancellationError()) }
    if let error = state.enqueue(call, at: now) { turnAway(call, error) }
  }

  /// A call is no longer in flight.
  func left(_ call: Call) { state.left(call, at: now) }

  /// A call that certainly had no effect is to be sent again.
  func resend(_ call: Call) {
    call.session = nil
    guard !call.isFinished else { return }
    switch call.cancelling {
    case nil: state.requeue(call, at: now)
    case .task: call.fail(CancellationError())
    case .deadline, .timeLimit: call.fail(PostgresError.timedOut(statement: call.statement.name))
    }
  }

  /// The call's task was cancelled.
  func cancel(_ call: Call) {
    guard !call.isFinished else { return }
    if call.isInFlight, let session = call.session {
      session.cancel(call)
    } else if call.isTaken {
      call.fail(CancellationError())
    } else {
      call.cancelling = .task
    }
  }

  /// From now on the deadline of a call in flight is watched.
  func watch(_ deadline: MonotonicInstant) { state.watch(deadline) }

  private func turnAway(_ call: Call, _ error: PostgresError) {
    metrics.turnedAway.increment()
    call.fail(error)
  }

  // MARK: Leases

  func enqueue(_ waiter: ConnectionWaiter) {
    waiter.isTaken = true
    guard !waiter.isCancelled else { return waiter.finish(.failure(CancellationError())) }
    if let error = state.enqueue(waiter, at: now) { refuse(waiter, error) }
  }

  private func refuse(_ waiter: ConnectionWaiter, _ error: PostgresError) {
    metrics.turnedAway.increment()
    waiter.finish(.failure(error))
  }

  private func lease(_ session: Session, to waiter: ConnectionWaiter) {
    let lease = Lease(session, id: session.newLease(), reactor: reactor, limit: configuration.statementTimeout)
    waiter.finish(.success(lease))
  }

  /// A leased connection comes back. One whose state is in doubt is closed, and a new one opened when it is needed.
  func release(_ session: Session) {
    guard !session.isLost else { return }
    _ = session.newLease()
    if session.isAtRest { state.returned(session.id) } else { close(session) }
  }

  // MARK: Connections

  private func open(_ id: PoolState.ConnectionID, _ purpose: PoolState.Purpose) {
    let reactor = reactor
    Connector(configuration: configuration, isShared: purpose == .shared).open { result in
      _ = reactor.post(.perform { $0.opened(id, purpose, result) })
    }
  }

  private func opened(
    _ id: PoolState.ConnectionID, _ purpose: PoolState.Purpose, _ result: Result<LibpqConnection, Connector.Failure>
  ) {
    guard !isClosed else { return }
    switch result {
    case .failure(let failure): failed(id, failure.reason)
    case .success(let connection):
      let session = Session(connection, id, driver: self)
      sessions[id] = session
      state.opened(id)
      if purpose == .shared { reactor.isUp = true }
      if purpose == .listening { listener.opened(session) }
    }
  }

  private func failed(_ id: PoolState.ConnectionID, _ reason: String) {
    // An outage is logged once, however many attempts it takes.
    let level: Logger.Level = state.failed(id, reason, at: now) ? .warning : .debug
    logger.log(level: level, "cannot connect to the database, trying again", metadata: ["reason": "\(reason)"])
  }

  /// The server has answered on a new connection.
  func proved(_ session: Session) {
    if state.proved(session.id) { logger.notice("the database is available again") }
  }

  /// The connection is gone; its calls have been failed already.
  func lost(_ session: Session, _ why: String) {
    let wasProven = state.connections[session.id].isProven
    forget(session)
    guard !isClosed else { return }
    metrics.lost.increment()
    guard wasProven else { return failed(session.id, why) }
    logger.warning("a connection to the database was lost", metadata: ["reason": "\(why)"])
  }

  /// The server has refused to listen, as it is a standby.
  func cannotListen(_ session: Session) {
    // It is logged once, as long as it lasts.
    let shouldLog = state.listensNotBefore.advanced(by: RetryPolicy.standby * 2) < now
    logger.log(level: shouldLog ? .notice : .debug, "the database is a standby and notifies nobody, trying again")
    state.listensNotBefore = now.advanced(by: RetryPolicy.standby)
    close(session)
  }

  /// The server has refused a write, and nothing is pending on the connection.
  func cannotWrite(_ session: Session) {
    guard state.connections[session.id].phase == .shared, replacesStandbyFrom <= now else { return }
    replacesStandbyFrom = now.advanced(by: RetryPolicy.standby)
    close(session)
  }

  /// Closes a connection that is of no more use.
  func close(_ session: Session) {
    session.abandon()
    forget(session)
  }

  private func forget(_ session: Session) {
    sessions[session.id] = nil
    unflushed.removeAll { $0 === session }
    state.closed(session.id)
    reactor.isUp = state.count(.shared) > 0
    listener.lost(session)
  }

  /// Something was handed to libpq for this connection: it is flushed at the end of the turn.
  func needsFlush(_ session: Session) {
    guard !session.awaitsFlush else { return }
    session.awaitsFlush = true
    unflushed.append(session)
  }

  /// Asks the server, from another thread, to cancel what a connection runs.
  func sendCancel(_ cancellation: LibpqCancellation, _ completion: @escaping @Sendable () -> Void) {
    let reactor = reactor
    let isStarted = DedicatedThread.startIfPossible {
      _ = cancellation.send()
      _ = reactor.post(.perform { _ in completion() })
    }
    if !isStarted { _ = reactor.post(.perform { _ in completion() }) }
  }

  // MARK: Watchers

  /// A test that waits for the pool to be in a certain state.
  struct Watcher {
    var condition: @Sendable (PoolStatus) -> Bool
    var continuation: UnsafeContinuation<Void, Never>
  }

  func add(_ watcher: Watcher) { watchers.append(watcher) }

  private func informWatchers() {
    let status = status
    watchers.removeAll { watcher in
      guard watcher.condition(status) else { return false }
      watcher.continuation.resume()
      return true
    }
  }

  var status: PoolStatus {
    let inFlight = sessions.reduce(0) { sum, session in
      guard let session, state.connections[session.id].phase == .shared else { return sum }
      return sum + session.load.callsInFlight
    }
    return PoolStatus(
      sharedConnections: state.count(.shared), dedicatedConnections: state.count(.idle) + state.count(.leased),
      statementsInFlight: inFlight, statementsWaiting: state.calls.count, transactionsWaiting: state.waiting,
      failedAttempts: state.backoff.failures)
  }

  // MARK: The end

  /// Takes no more calls, finishes those there are, then ends.
  func drain(_ closer: UnsafeContinuation<Void, Never>) {
    closers.append(closer)
    state.drain()
    listener.finish()
  }

  /// Ends now; calls in flight fail.
  func stop() {
    let waiting = state.close()
    for call in waiting.calls { call.fail(PostgresError.shutDown) }
    for waiter in waiting.waiters { waiter.finish(.failure(PostgresError.shutDown)) }
  }

  /// The reactor's last act.
  func finish() {
    stop()
    listener.finish()
    for case let session? in sessions { session.lose("the pool was shut down") }
    for watcher in watchers { watcher.continuation.resume() }
    watchers.removeAll()
    for closer in closers { closer.resume() }
    closers.removeAll()
  }
}

extension PostgresError {
  /// The answer to calls after the end.
  static var shutDown: PostgresError { .unavailable("the pool has been shut down") }
}
