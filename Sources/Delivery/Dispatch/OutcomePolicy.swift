import FoundationEssentials
import Providers
import Wire

/// What an outcome means.
enum OutcomeAction: Sendable, Equatable {
  /// It is written so.
  case settled(Settlement)
  /// Nothing of it was looked at: it is written so, and no attempt is counted.
  case unsent(Settlement)
  /// The app's credentials are refused, for this push and all others to its environment.
  case halts(reason: String)
  /// The token is dead, unless it was registered again after that moment.
  case dead(DeadToken)
}

/// A push whose token the push service says is dead.
struct DeadToken: Sendable, Equatable {
  var outcome: PushOutcome
  var push: QueuedPush
  var environment: APNsEnvironment
  var cause: TokenDeath
  var reason: String
  /// Whether the push service says since when. If not, the moment of sending has to do.
  var isDated: Bool
  /// What the registry compares the token's registration with.
  var moment: Date
}

/// The table from verdicts to consequences (protocols, sections 1 and 2.6), for one sendout.
struct OutcomePolicy: Sendable {
  let policy: UncertainPolicy
  let retrySchedule: RetrySchedule
  /// The share of every delay, 0 to 1: drawn once for a batch, so that pushes put off together come due together.
  let jitter: Double
  let now: @Sendable () -> Date

  func action(of outcome: PushOutcome, for push: QueuedPush, in environment: APNsEnvironment) -> OutcomeAction {
    switch outcome.verdict {
    case .accepted: .settled(settled(.accepted, push, outcome))
    case .retry(let after, let reason):
      .settled(putOff(push, outcome, reason, atLeast: after ?? .zero, inTheEnd: .failed))
    case .tokenDead(let cause, let since, let reason):
      .dead(
        DeadToken(
          outcome: outcome, push: push, environment: environment, cause: cause, reason: reason.forLedger,
          isDated: since != nil, moment: since ?? outcome.sentAt ?? now()))
    case .payloadRefused(let reason): .settled(settled(.failed, push, outcome, reason))
    case .credentialsRefused(let reason): .halts(reason: reason.forLedger)
    case .unsent(let reason): .unsent(settlement(of: push, heldUpBy: .outOfReach(reason: reason.forLedger)))
    case .uncertain(let reason):
      switch policy {
      case .skip: .settled(settled(.uncertain, push, outcome, reason))
      case .resend: .settled(putOff(push, outcome, reason, inTheEnd: .uncertain))
      }
    }
  }

  /// What is written of a push whose token is dead: it has failed; but if the registry kept the device, since it was
  /// registered again in the meantime, the push is tried again.
  func settlement(of dead: DeadToken, deviceIsKept: Bool) -> Settlement {
    deviceIsKept
      ? putOff(dead.push, dead.outcome, dead.reason, inTheEnd: .failed)
      : settled(.failed, dead.push, dead.outcome, dead.reason)
  }

  /// What is written of a push that did not leave, since nothing can be sent to its environment: it waits. Refused credentials
  /// are mended by people: until then it is not given up.
  func settlement(of push: QueuedPush, heldUpBy closureReason: ClosureReason) -> Settlement {
    var settlement = Settlement(device: push.device, state: .waiting, left: false)
    switch closureReason {
    case .refused(let reason):
      settlement.reason = reason
      settlement.delay = Self.mendingTime
    case .outOfReach(let reason):
      settlement.reason = reason
      let left = push.giveUpAt.map { Duration.seconds($0.timeIntervalSince(now())) } ?? retrySchedule.timeout
      let delay = retrySchedule.delay(unsentFor: retrySchedule.timeout - left)
      guard delay <= left else {
        settlement.state = .failed
        return settlement
      }
      settlement.delay = delay
      settlement.timeout = retrySchedule.timeout
    }
    return settlement
  }

  /// How long a run keeps away from pushes whose credentials were refused, if it has others to send.
  private static let mendingTime = Duration.seconds(60)

  private func settled(
    _ state: PushState, _ push: QueuedPush, _ outcome: PushOutcome, _ reason: String? = nil
  ) -> Settlement {
    Settlement(
      device: push.device, state: state, reason: reason?.forLedger, left: outcome.sentAt != nil,
      sentAt: outcome.sentAt)
  }

  /// Waiting, unless it would be due only after it is given up.
  private func putOff(
    _ push: QueuedPush, _ outcome: PushOutcome, _ reason: String, atLeast: Duration = .zero,
    inTheEnd end: PushState
  ) -> Settlement {
    let delay = retrySchedule.delay(after: push.attempts + 1, jitter: jitter, atLeast: atLeast)
    let giveUpAt = push.giveUpAt ?? now().addingTimeInterval(retrySchedule.timeout.inSeconds)
    guard now().addingTimeInterval(delay.inSeconds) <= giveUpAt else { return settled(end, push, outcome, reason) }
    var settlement = settled(.waiting, push, outcome, reason)
    settlement.delay = delay
    settlement.timeout = retrySchedule.timeout
    return settlement
  }
}

extension String {
  /// A push service's word, as the ledger keeps it: nothing PostgreSQL cannot hold, and not without end.
  var forLedger: String { String(filter { $0 != "\0" }.prefix(100)) }
}
