import FoundationEssentials
import Metrics

/// The metrics of one pool, with service and environment as dimensions.
final class ProviderMetrics {
  private struct Kind: Hashable {
    var status: Int
    var reason: String
  }

  private let dimensions: [(String, String)]
  private var responses: [Kind: Counter] = [:]
  private let accepted: Counter
  private let lostPushes: Counter
  private let unprocessedPushes: Counter
  private let latency: Metrics.Timer
  private let connections: Meter
  private let streams: Meter
  private var lastStreamCount = 0

  init(service: String, environment: PushEnvironment) {
    dimensions = [("service", service), ("environment", environment.rawValue)]
    accepted = Counter(
      label: "pushcart_provider_responses_total", dimensions: dimensions + [("status", "200"), ("reason", "")])
    lostPushes = Counter(label: "pushcart_provider_lost_total", dimensions: dimensions)
    unprocessedPushes = Counter(label: "pushcart_provider_unprocessed_total", dimensions: dimensions)
    latency = Metrics.Timer(label: "pushcart_provider_response_seconds", dimensions: dimensions)
    connections = Meter(label: "pushcart_provider_connections", dimensions: dimensions)
    streams = Meter(label: "pushcart_provider_open_streams", dimensions: dimensions)
  }

  /// - Parameter reason: one of the service's documented words, or empty.
  func answered(status: Int, reason: String, after seconds: TimeInterval) {
    latency.recordNanoseconds(Int64(max(0, seconds) * 1e9))
    // A service can say with 200, too, that it refuses a message.
    if status == 200, reason.isEmpty { return accepted.increment() }
    let kind = Kind(status: status, reason: reason)
    let counter =
      responses[kind]
      ?? Counter(
        label: "pushcart_provider_responses_total",
        dimensions: dimensions + [("status", "\(kind.status)"), ("reason", kind.reason)])
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
