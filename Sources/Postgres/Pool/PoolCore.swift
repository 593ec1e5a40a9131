import DequeModule
import Logging

/// The pool's inner side, on the reactor's thread: which connection takes which call, and when to open more.
///
/// Calls wait in one queue and a connection takes them only when it can send them, so that a lost connection hurts no call
/// that it had not sent, and a slow statement holds up few.
final class PoolCore {
  let configuration: PoolConfiguration
  let logger: Logger
  private unowned let reactor: Reactor
  /// Read once for each turn of the reactor.
  var now = Moment.now
  var scratch = ParameterScratch()

  private(set) var sessions: [Session] = []
  private var shared: [Session] = []
  private var sharedOpening = 0
  private var dirty: [Session] = []
  private var waiting: Deque<Call> = []
  private var backoff = Backoff()
  private var isDraining = false
  private(set) var isClosed = false
  private var enders: [UnsafeContinuation<Void, Never>] = []

  /// Somebody who waits for the pool to be in a certain state.
  struct Watcher {
    var condition: @Sendable (PoolStatus) -> Bool
    var continuation: UnsafeContinuation<Void, Never>
  }

  var watchers: [Watcher] = []
  var lending = Lending()
  lazy var listener = Listener(core: self)

  /// Calls that one shared connection may have in flight. Enough to fill a write and keep the server busy for a while;
  /// not so many that a slow one holds up hundreds.
  static let depth = 128

  init(_ configuration: PoolConfiguration, logger: Logger, reactor: Reactor) {
    self.configuration = configuration
    self.logger = logger
    self.reactor = reactor
  }

  // MARK: The reactor's turns

  func take(_ message: Reactor.Message) {
    switch message {
    case .call(let call): enqueue(call)
    case .cancel(let call): cancel(call)
    case .perform(let body): body(self)
    }
  }

  func work() {
    expire()
    for session in sessions { if session.deadline <= now { session.tick(at: now) } }
    dispatch()
    turnAwaySurplus()
    lend()
    openWhatIsMissing()
    for session in dirty {
      session.endBatch()
      session.isDirty = false
    }
    dirty.removeAll(keepingCapacity: true)
    if !watchers.isEmpty { informWatchers() }
    if isDraining, waiting.isEmpty, lending.isQuiet, shared.allSatisfy({ $0.callsInFlight == 0 }) { isClosed = true }
  }

  var nextDeadline: Moment {
    var next = sessions.lazy.map(\.deadline).min() ?? .distantFuture
    if let call = waiting.first { next = min(next, call.expires) }
    if let borrower = lending.borrowers.first { next = min(next, borrower.expires) }
    if wantsConnections { next = min(next, max(backoff.notBefore, now)) }
    return next
  }

  // MARK: Calls

  private func enqueue(_ call: Call) {
    call.isTaken = true
    guard !isDraining, !isClosed else { return call.fail(PostgresError.unavailable("the pool has been shut down")) }
    guard call.cancelling == nil else { return call.fail(CancellationError()) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    waiting.append(call)
  }

  /// A call that certainly had no effect goes first, as it has waited longest.
  func resend(_ call: Call) {
    call.session = nil
    if call.cancelling != nil { return call.fail(CancellationError()) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    waiting.prepend(call)
  }

  private func cancel(_ call: Call) {
    guard !call.isFinished else { return }
    if call.isInFlight, let session = call.session {
      session.cancel(call)
    } else if call.isTaken {
      call.fail(CancellationError())
    } else {
      call.cancelling = .task
    }
  }

  private func expire() {
    while let call = waiting.first, call.isFinished || call.expires <= now {
      waiting.removeFirst()
      call.fail(PostgresError.unavailable(timeoutReason))
    }
    while let borrower = lending.borrowers.first, borrower.isFinished || borrower.expires <= now {
      lending.borrowers.removeFirst()
      borrower.finish(.failure(PostgresError.unavailable(timeoutReason)))
    }
  }

  private var timeoutReason: String {
    "no connection was free within \(configuration.queueTimeout)" + (backoff.lastFailure.map { ": \($0)" } ?? "")
  }

  private func dispatch() {
    while let call = waiting.first {
      if call.isFinished {
        waiting.removeFirst()
        continue
      }
      guard let session = leastOwing(), session.callsInFlight < Self.depth else { return }
      if session.callsInFlight > 0 { wantsAnotherShared = true }
      waiting.removeFirst()
      session.send(call, at: now)
    }
  }

  /// What is beyond the queue's limit, once the connections have taken what they can: the last to come.
  private func turnAwaySurplus() {
    while waiting.count > configuration.queueLimit, let call = waiting.popLast() {
      call.fail(PostgresError.unavailable("\(configuration.queueLimit) statements are waiting already"))
    }
  }

  private func leastOwing() -> Session? {
    var best: Session?
    var least = Int.max
    for session in shared where session.callsInFlight < least {
      (best, least) = (session, session.callsInFlight)
      if least == 0 { break }
    }
    return best
  }

  /// Something was handed to libpq for this connection: it is flushed at the end of the turn.
  func isDirty(_ session: Session) {
    guard !session.isDirty else { return }
    session.isDirty = true
    dirty.append(session)
  }

  // MARK: Connections

  /// Set when a call had to be sent behind another one, with connections still to be opened.
  private var wantsAnotherShared = false

  private var sharedMissing: Bool {
    guard !isDraining || !waiting.isEmpty else { return false }
    let open = shared.count + sharedOpening
    return open == 0 || ((wantsAnotherShared || !waiting.isEmpty) && open < configuration.sharedConnections)
  }

  private var wantsConnections: Bool {
    sharedMissing || lending.wantsConnection(configuration) || listener.wantsConnection
  }

  private func openWhatIsMissing() {
    guard wantsConnections, backoff.notBefore <= now else { return }
    // While the server is away, one attempt at a time asks whether it is back.
    if backoff.lastFailure != nil, sharedOpening + lending.opening + (listener.isOpening ? 1 : 0) > 0 { return }
    if sharedMissing {
      sharedOpening += 1
      open(.shared)
    }
    if lending.wantsConnection(configuration) {
      lending.opening += 1
      open(.lent)
    }
    if listener.wantsConnection {
      listener.isOpening = true
      open(.listening)
    }
    wantsAnotherShared = false
  }

  private func open(_ purpose: Session.Purpose) {
    let reactor = reactor
    Connector(configuration: configuration).open { result in
      _ = reactor.post(.perform { $0.opened(result, purpose) })
    }
  }

  private func opened(_ result: Result<LibpqConnection, Connector.Failure>, _ purpose: Session.Purpose) {
    switch purpose {
    case .shared: sharedOpening -= 1
    case .lent: lending.opening -= 1
    case .listening: listener.isOpening = false
    }
    guard !isClosed else { return }
    switch result {
    case .failure(let failure):
      backoff.failed(failure.reason, at: now)
      logger.warning("cannot connect to the database", metadata: ["reason": "\(failure.reason)"])
    case .success(let connection):
      backoff.succeeded()
      let session = Session(connection, purpose, core: self)
      sessions.append(session)
      logger.debug("connected to the database", metadata: ["backend": "\(connection.backendID)"])
      switch purpose {
      case .shared:
        shared.append(session)
        reactor.isUp = !shared.isEmpty
      case .lent: lending.idle.append(session)
      case .listening: listener.opened(session)
      }
    }
  }

  /// The connection is gone; its calls have been failed already.
  func lost(_ session: Session, _ why: String) {
    forget(session)
    logger.log(
      level: isDraining ? .debug : .warning, "a connection to the database was lost", metadata: ["reason": "\(why)"])
  }

  func forget(_ session: Session) {
    sessions.removeAll { $0 === session }
    dirty.removeAll { $0 === session }
    switch session.purpose {
    case .shared:
      shared.removeAll { $0 === session }
      reactor.isUp = !shared.isEmpty
    case .lent: lending.remove(session)
    case .listening: listener.lost(session)
    }
  }

  /// Asks the server, from another thread, to cancel what a connection runs.
  func sendCancel(_ cancellation: LibpqCancellation, _ completion: @escaping @Sendable () -> Void) {
    let reactor = reactor
    DedicatedThread.start {
      _ = cancellation.send()
      _ = reactor.post(.perform { _ in completion() })
    }
  }

  private func informWatchers() {
    let status = status
    watchers.removeAll { watcher in
      guard watcher.condition(status) else { return false }
      watcher.continuation.resume()
      return true
    }
  }

  var status: PoolStatus {
    PoolStatus(
      sharedConnections: shared.count, lentConnections: lending.idle.count + lending.lent.count,
      statementsInFlight: shared.reduce(0) { $0 + $1.callsInFlight }, statementsWaiting: waiting.count,
      borrowersWaiting: lending.borrowers.count)
  }

  // MARK: Ending

  /// Takes no more calls, finishes those there are, then ends.
  func drain(_ ender: UnsafeContinuation<Void, Never>?) {
    if let ender { enders.append(ender) }
    guard !isDraining else { return }
    isDraining = true
    listener.finish()
  }

  /// Ends now; calls in flight fail.
  func stop() {
    isDraining = true
    isClosed = true
  }

  /// The reactor's last act.
  func finish() {
    isClosed = true
    listener.finish()
    for session in sessions { session.lose("the pool was shut down") }
    for call in waiting { call.fail(PostgresError.unavailable("the pool has been shut down")) }
    waiting.removeAll()
    lending.finish()
    for watcher in watchers { watcher.continuation.resume() }
    watchers.removeAll()
    for ender in enders { ender.resume() }
    enders.removeAll()
  }

  // MARK: Lending

  private func lend() {
    while let session = lending.idle.last, let borrower = lending.borrowers.first {
      lending.borrowers.removeFirst()
      guard !borrower.isFinished else { continue }
      lending.idle.removeLast()
      lending.lent.append(session)
      borrower.finish(.success(Lease(session, reactor: reactor, limit: configuration.statementTimeout)))
    }
  }

  func borrow(_ borrower: Borrower) {
    borrower.isTaken = true
    guard !isDraining, !isClosed else {
      return borrower.finish(.failure(PostgresError.unavailable("the pool has been shut down")))
    }
    guard !borrower.isCancelled else { return borrower.finish(.failure(CancellationError())) }
    borrower.expires = now.advanced(by: configuration.queueTimeout)
    lending.borrowers.append(borrower)
  }

  /// A connection comes back. One whose state is in doubt is closed, and a new one opened when it is needed.
  func giveBack(_ session: Session) {
    guard !session.isLost else { return }
    if session.isAtRest {
      lending.returned(session)
    } else {
      session.abandon()
      forget(session)
    }
  }
}
