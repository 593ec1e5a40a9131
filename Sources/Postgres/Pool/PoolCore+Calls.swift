import Metrics

/// The queue of calls, and who gets them.
extension PoolCore {
  func enqueue(_ call: Call) {
    call.isTaken = true
    guard !isDraining else { return call.fail(PostgresError.shutDown) }
    guard call.cancelling == nil else { return call.fail(CancellationError()) }
    guard call.deadline > now else { return turnAway(call, .unavailable(deadlineReason)) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    watchDeadline(of: call)
    waiting.append(call)
  }

  /// A call that certainly had no effect waits anew, in front of those that have not been sent yet.
  func resend(_ call: Call) {
    call.session = nil
    guard !call.isFinished else { return }
    if call.cancelling != nil { return call.fail(CancellationError()) }
    call.expires = now.advanced(by: configuration.queueTimeout)
    watchDeadline(of: call)
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
    passDeadlines()
    while let call = waiting.popExpired(at: now) { turnAway(call, .unavailable(timeoutReason)) }
    while let connectionWaiter = dedicated.connectionWaiters.first,
      connectionWaiter.isFinished || connectionWaiter.expires <= now
    {
      dedicated.connectionWaiters.removeFirst()
      connectionWaiter.finish(.failure(PostgresError.unavailable(timeoutReason)))
    }
  }

  private var timeoutReason: String { "no connection was free within \(configuration.queueTimeout)" + failureReason }
  private var deadlineReason: String { "no connection was free before the deadline" + failureReason }
  private var failureReason: String { backoff.lastFailure.map { ": \($0)" } ?? "" }

  // MARK: Deadlines

  /// From now on the call's deadline is watched, wherever the call is.
  func watchDeadline(of call: Call) { earliestDeadline = min(earliestDeadline, call.deadline) }

  /// Answers every call whose deadline has passed. All calls are looked at, but only when one may be late; that costs less
  /// than an ordered queue that each call enters and leaves.
  private func passDeadlines() {
    guard earliestDeadline <= now else { return }
    earliestDeadline = .distantFuture
    waiting.removeAll { call in
      guard !call.isFinished, call.deadline > now else {
        turnAway(call, .unavailable(deadlineReason))
        return true
      }
      watchDeadline(of: call)
      return false
    }
    for session in sessions { earliestDeadline = min(earliestDeadline, session.passDeadlines(at: now)) }
    earliestDeadline = max(earliestDeadline, now.advanced(by: Self.deadlineAccuracy))
  }

  /// By how much a call may outlive its deadline, so that many deadlines in a row are looked at together.
  private static let deadlineAccuracy = Duration.milliseconds(10)

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
