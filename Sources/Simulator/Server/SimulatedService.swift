import FoundationEssentials
import Logging
import Wire

/// A push service that the Simulator stands in for: the requests it received, and orders to its connections.
public protocol SimulatedService: Sendable {
  /// A request that was received completely, and the reply to it.
  associatedtype ReceivedRequest: Sendable

  /// What this service received, and from which connections.
  var traffic: ServiceTraffic<ReceivedRequest> { get }
}

/// The requests that a simulated service received, and its connections. `SimulatedService` says what can be asked of them.
public final class ServiceTraffic<ReceivedRequest: Sendable>: Sendable {
  let log: RequestLog<ReceivedRequest>
  let connections = ConnectionTable()
  /// Most open streams of a connection.
  let streamLimit: Int
  /// The clock by which tokens expire.
  let now: @Sendable () -> Date
  private let phoneLog: RequestLog<PhoneEntry>?

  init(_ context: SimulatorContext, of service: PushServiceName) {
    log = RequestLog(keeping: context.settings.requestsKept)
    streamLimit = context.settings.streamLimits[service] ?? 100
    now = context.now
    phoneLog = context.phoneLog
  }

  /// Shows what a phone gets.
  func show(_ request: any ShownRequest) {
    phoneLog?.append { PhoneEntry(number: $0, request: request) }
  }
}

/// What all simulated services are made with.
struct SimulatorContext: Sendable {
  let settings: SimulatorSettings
  /// Gets every push that a phone would get; nil without a phone page.
  let phoneLog: RequestLog<PhoneEntry>?
  let logger: Logger
  let now: @Sendable () -> Date
}

// MARK: - Received requests

extension SimulatedService {
  /// The last requests, oldest first; refused ones too.
  public var requests: [ReceivedRequest] { traffic.log.kept }

  /// How many requests were received since the start.
  public var count: Int { traffic.log.count }

  /// Waits until that many requests were received since the start, and returns those kept.
  public func received(count: Int) async -> [ReceivedRequest] { await traffic.log.received(count: count) }

  /// Connections open now.
  public var openConnections: Int { traffic.connections.open }

  /// Connections ever opened.
  public var connectionsOpened: Int { traffic.connections.opened }

  /// Streams that clients opened beyond the limit which they had acknowledged. Each ended its connection.
  public var streamsBeyondLimit: Int { traffic.connections.streamsBeyondLimit }
}

// MARK: - Orders to all connections

extension SimulatedService {
  /// Sends GOAWAY on every connection.
  /// - Parameters:
  ///   - lastStream: requests above it are not processed; nil for the highest that was received.
  ///   - reason: goes into the frame's debug data, in the service's form.
  public func goAway(lastStream: Int? = nil, reason: String? = nil) {
    traffic.connections.order(.goAway(lastStream: lastStream, reason: reason))
  }

  /// Closes every connection without a GOAWAY.
  public func cut() {
    traffic.connections.order(.cut)
  }

  /// Announces another stream limit on every connection, and refuses the open streams beyond it.
  public func limitStreams(to limit: Int) {
    traffic.connections.order(.limitStreams(limit))
  }

  /// Accepts every request that has no reply because of the reply `ignore`.
  public func answerIgnored() {
    traffic.connections.order(.answerIgnored)
  }
}
