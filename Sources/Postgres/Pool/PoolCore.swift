import Logging
import Metrics

/// The pool's inner side, on the reactor's thread: which connection takes which call, and when to open more.
///
/// Calls wait in one queue, and a connection takes them only when it can send them; so a lost connection harms no call that
/// it had not sent.
final class PoolCore {
  let configuration: PoolConfiguration
  let logger: Logger
  unowned let reactor: Reactor
  /// Read once for each turn of the reactor.
  var now = MonotonicInstant.now
  /// Arrays that libpq wants with each call.
  var scratch = ParameterScratch()

  /// All connections that are up.
  var sessions: [Session] = []
  /// Those that statements outside transactions share.
  var shared: [Session] = []
  var sharedOpening = 0
  /// Those that were handed something in this turn, to be flushed at its end.
  var dirty: [Session] = []
  /// Calls for the shared connections, oldest first.
  var waiting = CallQueue()
  /// No later than the first deadline of any call, waiting or in flight.
  var earliestDeadline = MonotonicInstant.distantFuture
  /// Set when a call had to be sent behind another, with connections still to be opened.
  var wantsAnotherShared = false
  var backoff = ReconnectBackoff()
  var dedicated = DedicatedConnections()
  lazy var listener = Listener(core: self)
  var figures: PoolFigures
  /// Nanoseconds of `PoolConfiguration.hungAfter`.
  let hungAfter: Int64

  private var watchers: [Watcher] = []
  private(set) var isDraining = false
  private(set) var isClosed = false
  private var enders: [UnsafeContinuation<Void, Never>] = []

  init(_ configuration: PoolConfiguration, logger: Logger, reactor: Reactor) {
    self.configuration = configuration
    self.logger = logger
    self.reactor = reactor
    figures = PoolFigures(configuration.metrics ?? MetricsSystem.factory)
    hungAfter = configuration.hungAfter.wholeNanoseconds
  }

  // MARK: The reactor's turns

  func take(_ message: Reactor.Message) {
    switch message {
    case .call(let call): enqueue(call)
    case .cancel(let call): cancel(call)
    case .perform(let body): body(self)
    }
  }

  /// Does all there is to do, after the inbox and before the next wait.
  func work() {
    expire()
    for session in sessions where session.deadline <= now { session.tick(at: now) }
    dispatch()
    turnAwaySurplus()
    lend()
    openWhatIsMissing()
    for session in dirty {
      session.endBatch()
      session.isDirty = false
    }
    dirty.removeAll(keepingCapacity: true)
    figures.show(self)
    if !watchers.isEmpty { informWatchers() }
    if isDraining, waiting.isEmpty, dedicated.isQuiet, shared.allSatisfy({ $0.callsInFlight == 0 }) { isClosed = true }
  }

  /// When there will be something to do though nothing comes in.
  var nextDeadline: MonotonicInstant {
    var next = MonotonicInstant.distantFuture
    for session in sessions { next = min(next, session.deadline) }
    next = min(next, waiting.expires, earliestDeadline)
    if let connectionWaiter = dedicated.connectionWaiters.first { next = min(next, connectionWaiter.expires) }
    if wantsConnections, mayOpen { next = min(next, max(backoff.notBefore, now)) }
    return next
  }

  // MARK: Looking on

  /// Somebody who waits for the pool to be in a certain state.
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
    PoolStatus(
      sharedConnections: shared.count, lentConnections: dedicated.idle.count + dedicated.lent.count,
      statementsInFlight: shared.reduce(0) { $0 + $1.callsInFlight }, statementsWaiting: waiting.count,
      connectionWaitersCount: dedicated.connectionWaiters.count, failedAttempts: backoff.failures)
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
    while let call = waiting.popLast() { call.fail(PostgresError.shutDown) }
    dedicated.finish()
    for watcher in watchers { watcher.continuation.resume() }
    watchers.removeAll()
    for ender in enders { ender.resume() }
    enders.removeAll()
  }
}

extension PostgresError {
  /// The answer to whoever comes after the end.
  static var shutDown: PostgresError { .unavailable("the pool has been shut down") }
}
