import Metrics

/// The queue of calls, and who gets them.
extension PoolCore {
  func enqueue(_ call: Call) {
    call.isTaken = true
    guard !isDraining else { return call.fail(PostgresError.shutDown) }
    guard call.cancelling == nil else { return call.fail(CancellationError()) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    waiting.append(call)
  }

  /// A call that certainly had no effect waits anew, in front of those that have not been sent yet.
  func resend(_ call: Call) {
    call.session = nil
    if call.cancelling != nil { return call.fail(CancellationError()) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    waiting.appendAgain(call)
  }

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

  /// Turns away who has waited too long.
  func expire() {
    while let call = waiting.popExpired(at: now) { turnAway(call, .unavailable(timeoutReason)) }
    while let connectionWaiter = dedicated.connectionWaiters.first,
      connectionWaiter.isFinished || connectionWaiter.expires <= now
    {
      dedicated.connectionWaiters.removeFirst()
      connectionWaiter.finish(.failure(PostgresError.unavailable(timeoutReason)))
    }
  }

  private var timeoutReason: String {
    "no connection was free within \(configuration.queueTimeout)" + (backoff.lastFailure.map { ": \($0)" } ?? "")
  }

  /// Hands waiting calls to the shared connections, each to the one that owes least and is not stuck in a slow statement.
  func dispatch() {
    while let call = waiting.first {
      if call.isFinished {
        waiting.removeFirst()
        continue
      }
      guard let session = bestShared() else { return }
      if session.callsInFlight > 0 {
        wantsAnotherShared = true
        // Better to wait for a connection that is about to be there than behind a statement of unknown length.
        if session.isStuck(at: now), sharedOpening > 0 || mayOpenShared { return }
      }
      waiting.removeFirst()
      session.send(call, at: now)
    }
  }

  /// Not one whose server seems to hang: what waits here can still be turned away, and what was sent cannot.
  private func bestShared() -> Session? {
    var best: Session?
    var leastOwed = Int.max
    for session in shared where session.hasRoom && !session.isStuck(at: now, for: hungAfter) {
      let owed = session.callsInFlight + (session.isStuck(at: now) ? Session.depth : 0)
      guard owed < leastOwed else { continue }
      (best, leastOwed) = (session, owed)
      if owed == 0 { break }
    }
    return best
  }

  /// What is beyond the queue's limit, once the connections have taken what they can: the last to come.
  func turnAwaySurplus() {
    while waiting.count > configuration.queueLimit, let call = waiting.popLast() {
      turnAway(call, .busy("\(configuration.queueLimit) statements are waiting already"))
    }
  }

  private func turnAway(_ call: Call, _ error: PostgresError) {
    guard !call.isFinished else { return }
    figures.turnedAway.increment()
    call.fail(error)
  }
}
