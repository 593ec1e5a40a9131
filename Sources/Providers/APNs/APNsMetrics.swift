import FoundationEssentials
import Metrics

/// The metrics of one pool, with the environment as a dimension.
final class APNsMetrics {
  private struct Kind: Hashable {
    var status: Int
    var reason: String
  }

  private let environment: (String, String)
  private var responses: [Kind: Counter] = [:]
  private let accepted: Counter
  private let lostPushes: Counter
  private let unprocessedPushes: Counter
  private let latency: Metrics.Timer
  private let connections: Meter
  private let streams: Meter
  private var lastStreamCount = 0

  init(_ environment: APNsEnvironment) {
    self.environment = ("environment", environment.rawValue)
    let dimensions = [self.environment]
    accepted = Counter(
      label: "pushcart_apns_responses_total", dimensions: dimensions + [("status", "200"), ("reason", "")])
    lostPushes = Counter(label: "pushcart_apns_lost_total", dimensions: dimensions)
    unprocessedPushes = Counter(label: "pushcart_apns_unprocessed_total", dimensions: dimensions)
    latency = Metrics.Timer(label: "pushcart_apns_response_seconds", dimensions: dimensions)
    connections = Meter(label: "pushcart_apns_connections", dimensions: dimensions)
    streams = Meter(label: "pushcart_apns_open_streams", dimensions: dimensions)
  }

  func answered(_ response: APNsResponse, after seconds: TimeInterval) {
    latency.recordNanoseconds(Int64(max(0, seconds) * 1e9))
    if response.status == 200 { return accepted.increment() }
    // Reasons that Apple has not documented would make an unbounded number of labels.
    let reason = response.reason.map { APNsReason(rawValue: $0)?.rawValue ?? "other" } ?? ""
    let kind = Kind(status: response.status, reason: reason)
    let counter =
      responses[kind]
      ?? Counter(
        label: "pushcart_apns_responses_total",
        dimensions: [environment, ("status", "\(kind.status)"), ("reason", kind.reason)])
    responses[kind] = counter
    counter.increment()
  }

  func lost() { lostPushes.increment() }
  func notProcessed() { unprocessedPushes.increment() }
  func connectionOpened() { connections.increment() }
  func connectionClosed() { connections.decrement() }

  /// Pools share a meter, so each adds the change of its own count.
  func openStreams(_ count: Int) {
    guard count != lastStreamCount else { return }
    streams.increment(by: Double(count - lastStreamCount))
    lastStreamCount = count
  }
}
