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
    var isComplete = !result.isIncomplete
    for environment in APNsEnvironment.allCases {
      let invalid = result.invalid.filter { $0.environment == environment }
      let answered = result.answered[environment] ?? 0
      let (mayRetire, hasOpened) = circuitBreakers.withLock { circuitBreakers in
        let wasOpen = circuitBreakers[environment]?.isOpen ?? false
        let mayRetire = circuitBreakers[environment]?.record(answered: answered, invalid: invalid.count) ?? true
        return (mayRetire, !mayRetire && !wasOpen)
      }
      if hasOpened { await raiseAlarm(invalid, of: answered, in: environment) }
      if !mayRetire, let reason = wrongTopic(invalid, of: answered) {
        // None of them can be accepted before somebody corrects the app.
        refuse(invalid.map(\.push), reason, in: environment, of: run)
      } else if mayRetire {
        if let settlements = await retire(invalid, of: run) {
          outcomeWriter.add(settlements, room: 0)
        } else {
          isComplete = false
        }
      } else {
        outcomeWriter.add(invalid.map { run.outcomePolicy.settlement(of: $0, deviceIsKept: false) }, room: 0)
      }
    }
    return isComplete
  }

  /// Tokens of other apps look invalid one by one; if they are most of a batch, the appId is wrong.
  /// - Returns: the push service's reason, if so.
  private func wrongTopic(_ invalid: [InvalidToken], of answered: Int) -> String? {
    let foreign = invalid.filter { $0.cause == .wrongApp }
    return foreign.count * 2 > answered ? foreign.first?.reason : nil
  }

  private func raiseAlarm(_ invalid: [InvalidToken], of answered: Int, in environment: APNsEnvironment) async {
    let reason =
      "\(invalid.count) of \(answered) pushes to APNs' \(environment.rawValue) environment came back as "
      + "\(invalid.first?.reason ?? "invalid") at once; no device was retired for it. Are appId, teamId and keyId of this "
      + "app, and the devices of this environment?"
    logger.warning(
      "too many invalid tokens: retirement stopped for this environment",
      metadata: ["environment": "\(environment.rawValue)", "reason": "\(reason)"])
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("raise the app's alarm") {
      try await alarms.raise(self.order.key.customer, self.order.app, reason: reason)
    }
  }

  /// Ends the app's alarm when pushes were accepted and nothing is wrong any more.
  func clearAlarm() async {
    guard hasAccepted.load(ordering: .relaxed), !environmentStatus.hasRefused,
      circuitBreakers.withLock({ $0.values.allSatisfy { !$0.isOpen } })
    else { return }
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("clear the app's alarm") { try await alarms.clear(self.order.key.customer, self.order.app) }
  }
}
