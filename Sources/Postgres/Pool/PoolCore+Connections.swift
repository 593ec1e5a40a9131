import Logging
import Metrics

/// The connections: when to open one, what becomes of it, and what when it is gone.
extension PoolCore {
  var wantsConnections: Bool {
    wantsShared || dedicated.wantsConnection(configuration) || listener.wantsConnection
  }

  /// While the server is away, one attempt at a time asks whether it is back.
  var mayOpen: Bool { backoff.lastFailure == nil || sharedOpening + dedicated.opening + listener.opening == 0 }

  var mayOpenShared: Bool {
    shared.count + sharedOpening < configuration.sharedConnections && backoff.lastFailure == nil
  }

  /// One is always kept open, so that the pool knows whether the server is there.
  private var wantsShared: Bool {
    guard !isDraining || !waiting.isEmpty else { return false }
    let open = shared.count + sharedOpening
    guard open > 0 else { return true }
    let isShort = waiting.count > sharedOpening || (wantsAnotherShared && sharedOpening == 0)
    return isShort && open < configuration.sharedConnections
  }

  func openWhatIsMissing() {
    guard wantsConnections, mayOpen, backoff.notBefore <= now else { return }
    if wantsShared {
      sharedOpening += 1
      open(.shared)
    }
    if mayOpen, dedicated.wantsConnection(configuration) {
      dedicated.opening += 1
      open(.lent)
    }
    if mayOpen, listener.wantsConnection {
      listener.opening += 1
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
    case .lent: dedicated.opening -= 1
    case .listening: listener.opening -= 1
    }
    guard !isClosed else { return }
    switch result {
    case .failure(let failure): failedToOpen(failure.reason)
    case .success(let connection): add(Session(connection, purpose, core: self))
    }
  }

  private func failedToOpen(_ reason: String) {
    // An outage is one piece of news, however many attempts it takes.
    let level: Logger.Level = backoff.lastFailure == nil ? .warning : .debug
    logger.log(level: level, "cannot connect to the database", metadata: ["reason": "\(reason)"])
    backoff.failed(reason, at: now)
  }

  private func add(_ session: Session) {
    sessions.append(session)
    switch session.purpose {
    case .shared:
      shared.append(session)
      reactor.isUp = true
    case .lent: dedicated.idle.append(session)
    case .listening: listener.opened(session)
    }
  }

  /// A new connection has answered. That it could be opened says little: a proxy opens connections to nowhere.
  func proved() {
    if backoff.lastFailure != nil { logger.notice("the database is back") }
    backoff.succeeded()
  }

  /// The connection is gone; its calls have been failed already.
  func lost(_ session: Session, _ why: String) {
    remove(session)
    guard !isClosed else { return }
    figures.lost.increment()
    guard session.isProven else { return failedToOpen(why) }
    logger.warning("a connection to the database was lost", metadata: ["reason": "\(why)"])
  }

  func remove(_ session: Session) {
    sessions.removeAll { $0 === session }
    dirty.removeAll { $0 === session }
    switch session.purpose {
    case .shared:
      shared.removeAll { $0 === session }
      reactor.isUp = !shared.isEmpty
    case .lent: dedicated.remove(session)
    case .listening: listener.lost(session)
    }
  }

  /// Something was handed to libpq for this connection: it is flushed at the end of the turn.
  func isDirty(_ session: Session) {
    guard !session.isDirty else { return }
    session.isDirty = true
    dirty.append(session)
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

  // MARK: DedicatedConnections

  func borrow(_ connectionWaiter: ConnectionWaiter) {
    connectionWaiter.isTaken = true
    guard !isDraining else { return connectionWaiter.finish(.failure(PostgresError.shutDown)) }
    guard !connectionWaiter.isCancelled else { return connectionWaiter.finish(.failure(CancellationError())) }
    connectionWaiter.expires = now.advanced(by: configuration.queueTimeout)
    guard dedicated.connectionWaiters.count < configuration.queueLimit else {
      figures.turnedAway.increment()
      let reason = "\(configuration.queueLimit) transactions are waiting already"
      return connectionWaiter.finish(.failure(PostgresError.busy(reason)))
    }
    dedicated.connectionWaiters.append(connectionWaiter)
  }

  /// First come, first served.
  func lend() {
    while let session = dedicated.idle.last, let connectionWaiter = dedicated.connectionWaiters.first {
      dedicated.connectionWaiters.removeFirst()
      guard !connectionWaiter.isFinished else { continue }
      dedicated.idle.removeLast()
      dedicated.lent.append(session)
      let (ticket, limit) = (session.newTicket(), configuration.statementTimeout)
      connectionWaiter.finish(.success(Lease(session, ticket: ticket, reactor: reactor, limit: limit)))
    }
  }

  /// A connection comes back. One whose state is in doubt is closed, and a new one opened when it is needed.
  func giveBack(_ session: Session) {
    guard !session.isLost else { return }
    _ = session.newTicket()
    if session.isAtRest {
      dedicated.returned(session)
    } else {
      session.abandon()
      remove(session)
    }
  }
}
