import Metrics
import Providers

/// A group of outcomes, divided by what has to be done about them.
struct OutcomePartition: Sendable {
  let outcomes: [PushOutcome]
  var settlements: [Settlement] = []
  /// Invalid tokens, reported with a date and without one.
  var datedInvalid: [InvalidToken] = []
  var undatedInvalid: [InvalidToken] = []
  /// Why some did not leave.
  var unsentReason: String?
  /// Pushes that were refused together with the app's credentials, and why.
  var refused: [QueuedPush] = []
  var refusalReason: String?
  /// Pushes that the push service processed.
  var answered = 0

  init(_ outcomes: [PushOutcome], _ slice: PreparedBatch.Slice, _ outcomePolicy: OutcomePolicy) {
    self.outcomes = outcomes
    for outcome in outcomes {
      let push = slice.pushes[outcome.index]
      switch outcomePolicy.action(of: outcome, for: push, in: slice.environment) {
      case .settled(let settlement):
        settlements.append(settlement)
        answered += 1
      case .invalid(let token):
        if token.isDated { datedInvalid.append(token) } else { undatedInvalid.append(token) }
        answered += 1
      case .unsent(let settlement):
        settlements.append(settlement)
        unsentReason = settlement.reason
      case .refused(let reason):
        refused.append(push)
        refusalReason = reason
      }
    }
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
    case .credentialsRefused: 4
    case .unsent: 5
    case .uncertain: 6
    }
  }
}
