import Retrying
import FoundationEssentials
import Providers
import Wire

/// What keeps a push service from accepting a push.
public enum FailureCause: Sendable, Hashable {
  /// The token is dead.
  case tokenInvalid
  /// The service does not take the message.
  case payloadRefused
  /// The service refuses the app's credentials, or takes so many tokens for invalid that these are probably wrong.
  case credentialsRefused
  /// The service is away, puts the push off, or did not answer.
  case unavailable
}

/// Why a push did not leave.
enum ClosureReason: Sendable, Equatable {
  /// Its push service cannot be reached for now.
  case unavailable(reason: String)
  /// It refuses the app's credentials, until somebody corrects them.
  case refused(reason: String)

  /// How a run ends that meets it.
  /// - Parameter delay: when to try again.
  func end(after delay: Duration) -> DispatchEnd {
    switch self {
    case .unavailable(let reason): .unavailable(reason: reason, after: delay)
    case .refused(let reason): .refused(reason: reason)
    }
  }
}

/// What an outcome means.
enum OutcomeAction: Sendable, Equatable {
  /// It is written so.
  case settled(Settlement)
  /// The push was not processed: it is written so, and no attempt is counted.
  case unsent(Settlement)
  /// The app's credentials are refused, for this push and all others to its environment.
  case refused(reason: String)
  /// The token is invalid, unless it was registered again after that moment.
  case invalid(InvalidToken)
}

/// A push whose token the push service reports as invalid.
struct InvalidToken: Sendable, Equatable {
  var outcome: PushOutcome
  var push: QueuedPush
  var environment: PushEnvironment
  var cause: InvalidTokenCause
  var reason: String
  /// Whether the push service says since when. If not, `moment` is when the push was sent.
  var isDated: Bool
  /// The registry keeps a device whose token was registered after it.
  var moment: Date
}

/// The table from verdicts to actions, for one sendout.
struct OutcomePolicy: Sendable {
  let policy: UncertainPolicy
  /// The share that chance takes of every delay, 0 to 1. It is one for a batch, so that pushes delayed together become due together.
  let random: Double
  /// Whether another app stands in for pushes that fail.
  var hasFallback = false
  /// Dates what the push service does not date.
  let now: @Sendable () -> Date
  /// The clock by which pushes expire. The moment itself comes from the database.
  var clock: @Sendable () -> ContinuousClock.Instant = { .now }

  /// - Parameter isOnce: whether it leaves once and is not put off.
  func action(
    of outcome: PushOutcome, for push: QueuedPush, in environment: PushEnvironment, isOnce: Bool = false
  ) -> OutcomeAction {
    switch outcome.verdict {
    case .retry(_, let reason, _) where isOnce: .settled(settled(.failed, push, outcome, reason, .unavailable))
    case .uncertain(let reason, _) where isOnce: .settled(settled(.uncertain, push, outcome, reason, .unavailable))
    case .accepted: .settled(settled(.accepted, push, outcome))
    case .retry(let after, let reason, _):
      .settled(retry(push, outcome, reason, atLeast: after ?? .zero, finally: .failed))
    case .tokenInvalid(let cause, let since, let reason):
      .invalid(
        InvalidToken(
          outcome: outcome, push: push, environment: environment, cause: cause, reason: reason.forLedger,
          isDated: since != nil, moment: since ?? outcome.sentAt ?? now()))
    case .payloadRefused(let reason): .settled(settled(.failed, push, outcome, reason, .payloadRefused))
    case .credentialsRefused(let reason): .refused(reason: reason.forLedger)
    case .waitsForCorrection(let reason):
      .settled(correction(of: push, outcome, reason.forLedger, isOnce: isOnce))
    case .unsent(let reason) where outcome.verdict.lacksCapacity: .unsent(withoutPlace(push, reason))
    case .unsent(let reason): .unsent(settlement(of: push, blockedBy: .unavailable(reason: reason.forLedger)))
    // The service answered, though the answer says nothing.
    case .uncertain(let reason, isAnswered: true): .settled(settled(.uncertain, push, outcome, reason, .unavailable))
    case .uncertain(let reason, isAnswered: false):
      switch policy {
      case .skip: .settled(settled(.uncertain, push, outcome, reason, .unavailable))
      case .resend: .settled(retry(push, outcome, reason, finally: .uncertain))
      }
    }
  }

  /// What is written of a push whose token is invalid. It has failed; but it is tried again if the registry kept the device,
  /// because the token was registered again in the meantime.
  /// - Parameter isBelieved: false while too many tokens are reported as invalid.
  func settlement(of token: InvalidToken, deviceIsKept: Bool, isBelieved: Bool = true) -> Settlement {
    deviceIsKept
      ? retry(token.push, token.outcome, token.reason, finally: .failed)
      : settled(.failed, token.push, token.outcome, token.reason, isBelieved ? .tokenInvalid : .credentialsRefused)
  }

  /// What is written of a push that did not leave: it waits. It does not expire while
  /// credentials are refused, since people have to correct those. Where it has a fallback, it fails instead, so that the fallback goes at once.
  func settlement(of push: QueuedPush, blockedBy closureReason: ClosureReason) -> Settlement {
    var settlement = Settlement(push: push.number, batch: push.batch, state: .waiting, left: false)
    switch closureReason {
    case .refused(let reason):
      settlement.reason = reason
      settlement.cause = .credentialsRefused
      if hasFallback {
        settlement.state = .failed
      } else {
        settlement.delay = wait(of: push, RetryPolicy.refusedCredentials)
      }
    case .unavailable(let reason):
      settlement.reason = reason
      settlement.cause = .unavailable
      let left = timeLeft(push)
      let delay = wait(of: push, Self.delay(unsentFor: RetryPolicy.pushes.giveUpAfter - left))
      guard delay <= left else {
        settlement.state = .failed
        return settlement
      }
      settlement.delay = delay
      settlement.timeout = RetryPolicy.pushes.giveUpAfter
    }
    return settlement
  }

  /// What is written of a push for which its customer has no place at the moment. Nothing was tried, so it waits as long as its message lasts.
  private func withoutPlace(_ push: QueuedPush, _ reason: String) -> Settlement {
    var settlement = Settlement(push: push.number, batch: push.batch, state: .waiting, left: false)
    settlement.reason = reason.forLedger
    settlement.cause = .unavailable
    settlement.delay = wait(of: push, RetryPolicy.withoutPlace.delay(after: 1, random: random))
    return settlement
  }

  /// What is written of a push that waits until people correct something about the app. It is tried again after a minute, two, four, up to
  /// a quarter of an hour, and does not expire before its message. Where it has a fallback, it fails instead.
  private func correction(
    of push: QueuedPush, _ outcome: PushOutcome, _ reason: String, isOnce: Bool
  ) -> Settlement {
    var settlement = settled(hasFallback || isOnce ? .failed : .waiting, push, outcome, reason, .credentialsRefused)
    guard settlement.state == .waiting else { return settlement }
    let delay = RetryPolicy.pushes.delay(
      after: push.attempts + 1, atLeast: RetryPolicy.refusedCredentials, random: random)
    settlement.delay = wait(of: push, delay)
    return settlement
  }

  private func settled(
    _ state: PushState, _ push: QueuedPush, _ outcome: PushOutcome, _ reason: String? = nil,
    _ cause: FailureCause? = nil
  ) -> Settlement {
    Settlement(
      push: push.number, batch: push.batch, state: state, reason: reason?.forLedger, left: outcome.sentAt != nil,
      sentAt: outcome.sentAt, cause: cause)
  }

  /// How long until the push expires.
  private func timeLeft(_ push: QueuedPush) -> Duration {
    push.giveUpAt.map { $0 - clock() } ?? RetryPolicy.pushes.giveUpAfter
  }

  /// The delay of a push that could not leave: as long as it has waited so far, on any hub, within limits.
  private static func delay(unsentFor waited: Duration) -> Duration {
    min(max(RetryPolicy.pushes.first, waited), RetryPolicy.longestUnsent)
  }

  /// A delay that ends with the message's life: then the push is due, and settled as expired.
  private func wait(of push: QueuedPush, _ delay: Duration) -> Duration {
    guard let end = push.messageExpiresAt else { return delay }
    return min(delay, .seconds(max(0, end.timeIntervalSince(now()))))
  }

  /// Waiting for another attempt; in its final state if that would be due after the push expires.
  private func retry(
    _ push: QueuedPush, _ outcome: PushOutcome, _ reason: String, atLeast: Duration = .zero,
    finally end: PushState
  ) -> Settlement {
    let delay = wait(
      of: push, RetryPolicy.pushes.delay(after: push.attempts + 1, atLeast: atLeast, random: random))
    guard delay <= timeLeft(push) else { return settled(end, push, outcome, reason, .unavailable) }
    var settlement = settled(.waiting, push, outcome, reason, .unavailable)
    settlement.delay = delay
    settlement.timeout = RetryPolicy.pushes.giveUpAfter
    return settlement
  }
}

extension InvalidTokenCause {
  /// What the device is retired with.
  var invalidationType: InvalidationType {
    switch self {
    case .unregistered, .wrongApp: .refused
    case .wrongEnvironment: .wrongEnvironment
    case .optedOut: .optedOut
    }
  }
}

extension String {
  /// A push service's reason as the ledger keeps it: at most 100 Unicode scalars, and without U+0000, which PostgreSQL refuses.
  var forLedger: String {
    guard utf8.count > 100 || utf8.contains(0) else { return self }
    return String(String.UnicodeScalarView(unicodeScalars.lazy.filter { $0 != "\0" }.prefix(100)))
  }
}
