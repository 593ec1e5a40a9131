import Metrics
import Providers
import Wire

/// A group of outcomes, divided by what has to be done about them.
struct OutcomePartition: Sendable {
  let outcomes: [PushOutcome]
  var settlements: [Settlement] = []
  /// Invalid tokens, reported with a date and without one.
  var datedInvalid: [InvalidToken] = []
  var undatedInvalid: [InvalidToken] = []
  /// Pushes that were refused together with the app's credentials, and why.
  var refused: [QueuedPush] = []
  var refusalReason: String?
  /// Pushes that the push service answered.
  var answered = 0

  init(_ outcomes: [PushOutcome], _ slice: PreparedBatch.Slice, _ outcomePolicy: OutcomePolicy) {
    self.outcomes = outcomes
    for outcome in outcomes {
      let push = slice.pushes[outcome.index]
      switch outcomePolicy.action(
        of: outcome, for: push, in: slice.environment, isOnce: slice.leavingOnce.contains(outcome.index))
      {
      case .settled(var settlement):
        if settlement.state == .accepted, !slice.reduced.isEmpty || !outcome.reductions.isEmpty {
          settlement.reason = outcome.reductions.union(slice.reduced[outcome.index] ?? []).description
        }
        settlements.append(settlement)
        if case .uncertain(_, isAnswered: false) = outcome.verdict { continue }
        answered += 1
      case .invalid(let token):
        if token.isDated { datedInvalid.append(token) } else { undatedInvalid.append(token) }
        answered += 1
      case .unsent(let settlement): settlements.append(settlement)
      case .refused(let reason):
        refused.append(push)
        refusalReason = reason
      }
    }
  }
}

/// What a slice's outcomes say about the push service itself.
struct ServiceAvailability: Sendable {
  enum Finding: Sendable, Equatable {
    /// It looked at a push.
    case available
    case unknown
    /// No push was sent, none was answered, or all were put off: `retryAfter` is the longest time that it asked for of all pushes.
    case unavailable(reason: String, retryAfter: Duration)
  }

  private var answered = 0
  /// Of these, pushes that it put off, and the longest time that it asked for of all pushes, not of one alone.
  private var postponed = 0
  private var retryAfter = Duration.zero
  private var reason: String?
  /// Why some did not leave.
  private var unsentReason: String?
  /// Pushes that it did not answer though they left, and why.
  private var lost = 0
  private var lostReason: String?

  /// Fewer put off or lost say more about their devices than about the service.
  private static let evidence = 10

  /// Records the verdict on a push.
  mutating func record(_ verdict: Verdict) {
    switch verdict {
    // That its customer has no place says nothing of the service.
    case .unsent where verdict.lacksCapacity: break
    case .unsent(let reason): unsentReason = reason.forLedger
    case .credentialsRefused: break
    case .uncertain(let reason, isAnswered: false):
      lost += 1
      lostReason = reason.forLedger
    case .retry(let after, let why, let appliesToService):
      answered += 1
      postponed += 1
      if appliesToService { retryAfter = max(retryAfter, after ?? .zero) }
      reason = why.forLedger
    default: answered += 1
    }
  }

  /// Adds what was seen of the same service before.
  mutating func add(_ before: ServiceAvailability) {
    answered += before.answered
    postponed += before.postponed
    retryAfter = max(retryAfter, before.retryAfter)
    reason = reason ?? before.reason
    unsentReason = unsentReason ?? before.unsentReason
    lost += before.lost
    lostReason = lostReason ?? before.lostReason
  }

  /// Whether some pushes were put off or lost.
  var isEvidence: Bool { postponed > 0 || lost > 0 }

  func finding(by evidence: OutageEvidence) -> Finding {
    if answered > postponed { return .available }
    if evidence != .none, answered >= Self.evidence, let reason {
      return .unavailable(reason: reason, retryAfter: retryAfter)
    }
    if evidence == .anyFailure, answered == 0, let reason = unsentReason ?? (lost >= Self.evidence ? lostReason : nil) {
      return .unavailable(reason: reason, retryAfter: .zero)
    }
    return .unknown
  }
}

/// `pushcart_pushes_total{outcome}`: what push services answered.
enum DeliveryMetrics {
  private static let labels = [
    "accepted", "retry", "token_invalid", "payload_refused", "credentials_refused", "unsent", "uncertain",
  ]
  private static let counters = labels.map { Counter(label: "pushcart_pushes_total", dimensions: [("outcome", $0)]) }

  static func count(_ outcomes: [PushOutcome]) {
    var counts = [Int](repeating: 0, count: labels.count)
    for outcome in outcomes { counts[place(outcome.verdict)] += 1 }
    for (counter, count) in zip(counters, counts) where count > 0 { counter.increment(by: count) }
  }

  private static func place(_ verdict: Verdict) -> Int {
    switch verdict {
    case .accepted: 0
    case .retry: 1
    case .tokenInvalid: 2
    case .payloadRefused: 3
    case .credentialsRefused, .waitsForCorrection: 4
    case .unsent: 5
    case .uncertain: 6
    }
  }
}
