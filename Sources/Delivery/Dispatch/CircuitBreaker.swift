import Logging
import Providers
import Registry
import Locking

/// Keeps a mistake from emptying the register: wrong credentials, a wrong topic or the wrong environment look exactly like
/// invalid tokens. It opens once more than a share of a lane's pushes come back so, on all hubs together; then no device is retired any
/// more for the rest of the sendout. Tokens that the push service reports with a date do not count: they are no mistake of ours.
///
/// Counts and state are in the ledger, so that a restart forgets nothing. Batches without such tokens cost nothing.
struct CircuitBreaker: Sendable, Equatable {
  let share: Double
  /// Answers needed before the share says anything.
  let evidence: Int

  /// Whether so many invalid tokens open it.
  func opens(at invalid: Int, of answered: Int) -> Bool {
    answered >= evidence && Double(invalid) > share * Double(answered)
  }
}

/// What a lane's pushes came back with, on all hubs.
struct LaneAnswers: Sendable, Equatable {
  /// Pushes that the push service accepted or refused, in the last batches that were sent.
  var answered: Int
  /// Of these, tokens that it reported as invalid without a date.
  var invalid: Int
  /// Whether the lane's circuit breaker is open.
  var isOpen: Bool
}

// What outcomes say about the app, its credentials and its devices.
extension Dispatch {
  /// Retires devices, or stops doing so, by the share of invalid tokens in the batch and in the whole lane.
  /// - Returns: whether all outcomes of the batch can be written.
  func evaluate(_ result: BatchRun.Result, of run: BatchRun) async -> Bool {
    let (invalid, answered) = (result.invalid, result.answered)
    guard !invalid.isEmpty else { return !result.isIncomplete }
    guard let mayRetire = await mayRetire(invalid, of: answered, run) else { return false }
    if mayRetire {
      guard let settlements = await retire(invalid, of: run) else { return false }
      outcomeWriter.add(settlements)
    } else if let reason = wrongTopic(invalid, of: answered) {
      // None of them can be accepted before somebody corrects the app.
      await refuse(invalid.map(\.push), reason, in: lane.environment, of: run)
    } else {
      outcomeWriter.add(
        invalid.map { run.outcomePolicy.settlement(of: $0, deviceIsKept: false, isBelieved: false) })
    }
    return !result.isIncomplete
  }

  /// Counts the batch's invalid tokens in the ledger, and opens the lane's circuit breaker if the batch alone or the lane has too many.
  /// The batch is counted before the lane is read: of two hubs that do so together, one sees both.
  /// - Returns: whether it is still closed; `nil` if that cannot be known.
  private func mayRetire(_ invalid: [InvalidToken], of answered: Int, _ run: BatchRun) async -> Bool? {
    // The batch's other outcomes are then in the lane's counts.
    guard await outcomeWriter.flush() else { return nil }
    // One statement after the other, so that what was counted is not counted again when the next one is repeated.
    guard
      await persistently("count invalid tokens", { try await ledger.countInvalid(invalid.count, of: run.claim) })
        != nil,
      var answers = await persistently("read the lane's answers", { try await ledger.answers() })
    else { return nil }
    answers.answered += invalid.count
    if !answers.isOpen,
      circuitBreaker.opens(at: invalid.count, of: answered)
        || circuitBreaker.opens(at: answers.invalid, of: answers.answered)
    {
      answers.isOpen = true
      let before = answers.invalid - invalid.count
      guard
        await persistently(
          "open the circuit breaker", { [answers] in try await ledger.openBreaker(answers, retired: before) }) != nil
      else { return nil }
    }
    if answers.isOpen, !isAlarmed.exchange(true, ordering: .relaxed) { await raiseAlarm(invalid, answers) }
    return !answers.isOpen
  }

  /// Tokens of other apps look invalid one by one; if they are most of a batch, the appId is wrong.
  /// - Returns: the push service's reason, if so.
  private func wrongTopic(_ invalid: [InvalidToken], of answered: Int) -> String? {
    let ofOtherApps = invalid.filter { $0.cause == .wrongApp }
    return ofOtherApps.count * 2 > answered ? ofOtherApps.first?.reason : nil
  }

  /// Warns once in a run that the service refuses some pushes until the app is corrected.
  func warn(_ warning: String) async {
    guard !hasWarned.exchange(true, ordering: .relaxed) else { return }
    logger.warning("some pushes are not taken until the app is corrected", metadata: ["reason": "\(warning)"])
    await raiseAlarm(warning)
  }

  /// Raises the app's alarm, however long the database is away.
  func raiseAlarm(_ reason: String) async {
    await persistently("raise the app's alarm") {
      try await PushAppAlarms(dispatcher.database).raise(
        plan.key.customer, app.app, isSandbox: lane.isSandbox, reason: reason)
    }
  }

  private func raiseAlarm(_ invalid: [InvalidToken], _ answers: LaneAnswers) async {
    let environment = lane.environment.rawValue
    guard let retired = await persistently("read the circuit breaker", { try await ledger.retiredBeforeOpening() })
    else { return }
    let reason =
      "\(answers.invalid) of \(answers.answered) pushes to \(app.account.service) (\(environment)) came back as "
      + "\(invalid.first?.reason ?? "invalid"); no device of this sendout is retired any more"
      + (retired > 0 ? ", after up to \(retired) were" : "") + ". Are the app's id and credentials right, "
      + "and the environment of these devices?"
    logger.warning(
      "too many invalid tokens: retirement stopped for this environment", metadata: ["reason": "\(reason)"])
    await raiseAlarm(reason)
  }
}
