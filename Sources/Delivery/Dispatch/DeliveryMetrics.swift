import Metrics
import Providers

/// `pushcart_pushes_total{outcome}`: what push services answered.
enum DeliveryMetrics {
  private static let labels = [
    "accepted", "retry", "token_dead", "payload_refused", "credentials_refused", "unsent", "uncertain",
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
    case .tokenDead: 2
    case .payloadRefused: 3
    case .credentialsRefused: 4
    case .unsent: 5
    case .uncertain: 6
    }
  }
}
