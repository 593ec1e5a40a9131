import FoundationEssentials
import Metrics

/// What operators see of one pool; `environment` tells sandbox from production.
final class APNsMetrics {
  private struct Kind: Hashable {
    var status: Int
    var reason: String
  }

  private let environment: (String, String)
  private var responses: [Kind: Counter] = [:]
  private let accepted: Counter
  private let lostPushes: Counter
  private let turnedBackPushes: Counter
  private let latency: Metrics.Timer
  private let connections: Meter
  private let streams: Meter
  private var streamsShown = 0

  init(_ environment: APNsEnvironment) {
    self.environment = ("environment", environment.rawValue)
    let dimensions = [self.environment]
    accepted = Counter(
      label: "pushcart_apns_responses_total", dimensions: dimensions + [("status", "200"), ("reason", "")])
    lostPushes = Counter(label: "pushcart_apns_lost_total", dimensions: dimensions)
    turnedBackPushes = Counter(label: "pushcart_apns_turned_back_total", dimensions: dimensions)
    latency = Metrics.Timer(label: "pushcart_apns_response_seconds", dimensions: dimensions)
    connections = Meter(label: "pushcart_apns_connections", dimensions: dimensions)
    streams = Meter(label: "pushcart_apns_open_streams", dimensions: dimensions)
  }

  func answered(_ answer: APNsAnswer, after seconds: TimeInterval) {
    latency.recordNanoseconds(Int64(max(0, seconds) * 1e9))
    if answer.status == 200 { return accepted.increment() }
    // A word that Apple has not documented would be a label without end.
    let reason = answer.reason.map { APNsReason(rawValue: $0)?.rawValue ?? "other" } ?? ""
    let kind = Kind(status: answer.status, reason: reason)
    let counter =
      responses[kind]
      ?? Counter(
        label: "pushcart_apns_responses_total",
        dimensions: [environment, ("status", "\(kind.status)"), ("reason", kind.reason)])
    responses[kind] = counter
    counter.increment()
  }

  func lost() { lostPushes.increment() }
  func turnedBack() { turnedBackPushes.increment() }
  func connectionOpened() { connections.increment() }
  func connectionClosed() { connections.decrement() }

  /// Several pools share a meter: each adds its own change.
  func openStreams(_ count: Int) {
    guard count != streamsShown else { return }
    streams.increment(by: Double(count - streamsShown))
    streamsShown = count
  }
}
