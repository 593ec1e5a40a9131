public import FoundationEssentials
import Logging
import Wire

/// A push service that the Simulator stands in for: the requests it received, rules for its replies, and orders to its connections.
public protocol SimulatedService: Sendable {
  /// What it reads of a request.
  associatedtype Details: Sendable
  /// A refusal in its own terms.
  associatedtype Refusal: Sendable & Hashable

  /// What this service received, from which connections, and by which rules it replies.
  var traffic: ServiceTraffic<Details, Refusal> { get }
}

/// A simulated service with a token endpoint.
public protocol TokenIssuingService: SimulatedService {}

/// The requests that a simulated service received, its connections and its rules. `SimulatedService` says what can be asked of them.
public final class ServiceTraffic<Details: Sendable, Refusal: Sendable & Hashable>: Sendable {
  let requests: RequestLog<ReceivedRequest<Details, Refusal>>
  let connections = ConnectionTable()
  /// Rules for requests, but not for those for access tokens.
  let rules: ReplyRules<Refusal>
  /// Unused by services that issue no access tokens.
  let tokenEndpoint: TokenEndpoint<Refusal>
  /// Most open streams of a connection.
  let streamLimit: Int
  /// Whether senders that are not registered are accepted without a check of their signature.
  let trustsUnknownKeys: Bool
  /// The clock by which tokens expire.
  let now: @Sendable () -> Date
  private let phoneLog: RequestLog<PhoneEntry>?

  init(_ context: SimulatorContext, of service: PushServiceName, ignoresCase: Bool) {
    requests = RequestLog(keeping: context.settings.requestsKept)
    rules = ReplyRules(ignoresCase: ignoresCase)
    tokenEndpoint = TokenEndpoint(context)
    streamLimit = context.settings.streamLimits[service] ?? 100
    trustsUnknownKeys = context.settings.trustsUnknownKeys
    now = context.now
    phoneLog = context.phoneLog
  }

  /// Logs a request and the reply to it.
  /// - Parameter isTest: whether nothing was to be delivered.
  @discardableResult
  func log(
    _ request: IncomingRequest, _ details: Details, _ reply: SimulatedReply<Refusal>, isTest: Bool = false
  ) -> ReceivedRequest<Details, Refusal> {
    requests.append { number in
      ReceivedRequest(
        number: number, at: Date(), reply: reply, isAccepted: reply.isAccepted && !isTest, details: details,
        request: request)
    }
  }

  /// Shows what a phone gets.
  /// - Parameters:
  ///   - token: the device's, as it is shown.
  ///   - push: what is shown, given its number over all services.
  func show(on phone: PhoneKind, _ token: String, _ push: @escaping @Sendable (Int) -> PhonePush) {
    phoneLog?.append { PhoneEntry(number: $0, phone: phone, token: token, makePush: push) }
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

/// A request that was received completely, and the reply to it; token requests are apart.
@dynamicMemberLookup
public struct ReceivedRequest<Details: Sendable, Refusal: Sendable & Hashable>: Sendable {
  /// 1, 2, 3, … since the start.
  public let number: Int
  public let at: Date
  public let reply: SimulatedReply<Refusal>
  /// Whether a phone would get it: it is accepted, at once or after a delay, and was no test.
  public let isAccepted: Bool
  let details: Details
  let request: IncomingRequest

  /// The number of its connection: 1, 2, 3, …
  public var connection: Int { request.connection }
  /// Its stream on that connection: 1, 3, 5, …; requests of HTTP/1.1 are counted alike.
  public var stream: Int { request.stream }
  /// The whole body.
  public var payload: [UInt8] { request.body }

  /// The first value of a header; names are in lower case.
  public func header(_ name: String) -> String? { request.header(name) }

  /// What its service read of it.
  public subscript<Value>(dynamicMember member: KeyPath<Details, Value>) -> Value { details[keyPath: member] }
}

// MARK: - Received requests

extension SimulatedService {
  /// How a request is answered.
  public typealias Reply = SimulatedReply<Refusal>
  public typealias ReceivedRequest = Simulator.ReceivedRequest<Details, Refusal>

  /// The last requests, oldest first; refused ones too.
  public var requests: [ReceivedRequest] { traffic.requests.kept }

  /// How many requests were received since the start.
  public var count: Int { traffic.requests.count }

  /// Waits until that many requests were received since the start, and returns those kept.
  public func received(count: Int) async -> [ReceivedRequest] { await traffic.requests.received(count: count) }

  /// Connections open now.
  public var openConnections: Int { traffic.connections.open }

  /// Connections ever opened.
  public var connectionsOpened: Int { traffic.connections.opened }

  /// Streams that clients opened beyond the limit which they had acknowledged. Each ended its connection.
  public var streamsBeyondLimit: Int { traffic.connections.streamsBeyondLimit }
}

// MARK: - Rules

extension SimulatedService {
  /// Adds a rule for requests that pass all checks, but not for those for access tokens. The first that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number.
  @discardableResult
  public func rule(_ match: RequestMatch = .any, _ reply: Reply, times: Int? = nil) -> Int {
    traffic.rules.add(match, reply, times: times)
  }

  /// Removes all rules, those for token requests too.
  public func removeRules() {
    traffic.rules.removeAll()
    traffic.tokenEndpoint.rules.removeAll()
  }
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

// MARK: - Requests for access tokens

extension TokenIssuingService {
  /// Adds a rule for token requests that pass all checks. The first that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number, among those for token requests.
  @discardableResult
  public func tokenRule(_ match: RequestMatch = .any, _ reply: Reply, times: Int? = nil) -> Int {
    traffic.tokenEndpoint.rules.add(match, reply, times: times)
  }

  /// How many token requests were received since the start.
  public var tokenRequestCount: Int { traffic.tokenEndpoint.requests.count }

  /// The last token requests, oldest first; refused ones too.
  public var tokenRequests: [ReceivedTokenRequest<Refusal>] { traffic.tokenEndpoint.requests.kept }

  /// Waits until that many token requests were received since the start, and returns those kept.
  public func receivedTokenRequests(count: Int) async -> [ReceivedTokenRequest<Refusal>] {
    await traffic.tokenEndpoint.requests.received(count: count)
  }

  /// Makes all access tokens issued so far expire.
  public func expireAccessTokens() { traffic.tokenEndpoint.expireAll() }
}
