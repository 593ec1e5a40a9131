import Logging
import Providers
import Registry
import Synchronization

/// Keeps a mistake from emptying the register: wrong credentials, a wrong topic or the wrong environment look exactly like
/// invalid tokens. It opens once more than a share of the pushes of one app in one environment come back so; then no device is
/// retired for the rest of the run. Tokens that the push service reports with a date do not count: they are no mistake of ours.
struct CircuitBreaker: Sendable, Equatable {
  let share: Double
  /// Answers needed before the share says anything.
  let evidence: Int
  private(set) var isOpen = false
  private(set) var answered = 0
  private(set) var invalid = 0

  init(share: Double, evidence: Int) {
    self.share = share
    self.evidence = evidence
  }

  /// Records a batch's answers; both the batch alone and all batches together can open it.
  /// - Returns: whether the devices of the batch's invalid tokens may be retired.
  mutating func record(answered: Int, invalid: Int) -> Bool {
    self.answered += answered
    self.invalid += invalid
    isOpen = isOpen || isTooMuch(invalid, of: answered) || isTooMuch(self.invalid, of: self.answered)
    return !isOpen
  }

  private func isTooMuch(_ invalid: Int, of answered: Int) -> Bool {
    answered >= evidence && Double(invalid) > share * Double(answered)
  }
}

// What the outcomes of a whole batch say about the app's credentials and its devices.
extension Dispatch {
  /// Retires devices, or stops doing so, by the batch's share of invalid tokens.
  /// - Returns: whether all outcomes of the batch can be written.
  func evaluate(_ result: BatchRun.Result, of run: BatchRun) async -> Bool {
    let (invalid, answered) = (result.invalid, result.answered)
    let (mayRetire, hasOpened) = circuitBreaker.withLock { circuitBreaker in
      let wasOpen = circuitBreaker.isOpen
      let mayRetire = circuitBreaker.record(answered: answered, invalid: invalid.count)
      return (mayRetire, !mayRetire && !wasOpen)
    }
    if hasOpened { await raiseAlarm(invalid, of: answered) }
    if mayRetire {
      guard let settlements = await retire(invalid, of: run) else { return false }
      outcomeWriter.add(settlements, room: 0)
    } else if let reason = wrongTopic(invalid, of: answered) {
      // None of them can be accepted before somebody corrects the app.
      refuse(invalid.map(\.push), reason, in: lane.environment, of: run)
    } else {
      outcomeWriter.add(invalid.map { run.outcomePolicy.settlement(of: $0, deviceIsKept: false) }, room: 0)
    }
    return !result.isIncomplete
  }

  /// Tokens of other apps look invalid one by one; if they are most of a batch, the appId is wrong.
  /// - Returns: the push service's reason, if so.
  private func wrongTopic(_ invalid: [InvalidToken], of answered: Int) -> String? {
    let foreign = invalid.filter { $0.cause == .wrongApp }
    return foreign.count * 2 > answered ? foreign.first?.reason : nil
  }

  private func raiseAlarm(_ invalid: [InvalidToken], of answered: Int) async {
    let environment = lane.environment.rawValue
    let reason =
      "\(invalid.count) of \(answered) pushes to \(app.account.service) (\(environment)) came back as "
      + "\(invalid.first?.reason ?? "invalid") at once; no device was retired for it. Are the app's id and credentials right, "
      + "and the environment of these devices?"
    logger.warning(
      "too many invalid tokens: retirement stopped for this environment", metadata: ["reason": "\(reason)"])
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("raise the app's alarm") {
      try await alarms.raise(self.order.key.customer, self.app.app, reason: reason)
    }
  }
}
