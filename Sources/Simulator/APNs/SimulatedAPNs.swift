import Crypto
public import FoundationEssentials
import Logging
import NIOCore
import Synchronization

/// A simulation of Apple's push service: keys and tokens it knows, rules for its replies, and the requests it received.
///
/// It answers as APNs documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedAPNs: Sendable {
  /// The environment of a listener, and of a device token.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    case sandbox
  }

  let log: RequestLog
  let streamLimit: Int
  private let state: Mutex<APNsState>
  private let connections = Mutex<[Int: LiveConnection]>([:])
  private let lastConnection = Atomic(0)
  private let now: @Sendable () -> Date

  init(_ settings: SimulatorSettings, now: @escaping @Sendable () -> Date) {
    log = RequestLog(keeping: settings.requestsKept)
    streamLimit = settings.streamLimit
    state = Mutex(APNsState(trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// The reply to a request that was received completely.
  func reply(to request: APNsRequest, on connection: inout ConnectionAuthentication) -> Reply {
    let now = now()
    return state.withLock { $0.reply(to: request, on: &connection, now: now) }
  }
}

// MARK: - Keys, tokens and rules

extension SimulatedAPNs {
  /// Registers a team's key, so that its signatures are verified.
  /// - Parameters:
  ///   - signingKey: the `.p8` file's text; only its public half is kept.
  ///   - topics: the bundle ids the key may send to; nil for any.
  ///   - environments: where the key is valid.
  /// - Throws: if `signingKey` is no P-256 key in PEM.
  public func trust(
    teamID: String, keyID: String, signingKey: String, topics: Set<String>? = nil,
    environments: Set<Environment> = Set(Environment.allCases)
  ) throws {
    let publicKey = try P256.Signing.PrivateKey(pemRepresentation: signingKey).publicKey
    let key = TrustedKey(publicKey: publicKey, topics: topics, environments: environments)
    state.withLock { $0.keys[KeyName(teamID: teamID, keyID: keyID)] = key }
  }

  /// Restricts a device token to an environment and a topic; others are valid everywhere.
  public func restrict(token: String, to environment: Environment? = nil, topic: String? = nil) {
    state.withLock {
      $0.tokens[token.lowercased(), default: KnownToken()].environment = environment
      $0.tokens[token.lowercased(), default: KnownToken()].topic = topic
    }
  }

  /// Makes a device token invalid: it gets 410 with that timestamp, as after an app was deleted.
  public func expire(token: String, since: Date) {
    state.withLock { $0.tokens[token.lowercased(), default: KnownToken()].invalidSince = since }
  }

  /// Adds a rule for requests that pass all checks. The first rule that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number.
  @discardableResult
  public func rule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    state.withLock { $0.rules.add(match, reply, times: times) }
  }

  /// Removes all rules.
  public func removeRules() { state.withLock { $0.rules = ReplyRules() } }

  /// The rules in force, by number.
  var rules: [ReplyRules.Entry] { state.withLock { $0.rules.entries } }
}

// MARK: - Received requests

extension SimulatedAPNs {
  /// The last requests, oldest first; refused ones too.
  public var requests: [ReceivedRequest] { log.kept }

  /// How many requests were received since the start.
  public var count: Int { log.count }

  /// Waits until that many requests were received since the start, and returns those kept.
  public func received(count: Int) async -> [ReceivedRequest] { await log.received(count: count) }

  /// Connections open now.
  public var openConnections: Int { connections.withLock { $0.count } }

  /// Connections ever opened.
  public var connectionsOpened: Int { lastConnection.load(ordering: .relaxed) }
}

// MARK: - Orders to all connections

extension SimulatedAPNs {
  /// Sends GOAWAY on every connection.
  /// - Parameters:
  ///   - lastStream: requests above it are not processed; nil for the highest that was received.
  ///   - reason: goes into the frame's debug data as APNs' JSON.
  public func goAway(lastStream: Int? = nil, reason: String? = nil) {
    onEveryConnection { $0.goAway(lastStream: lastStream, reason: reason) }
  }

  /// Closes every connection without a GOAWAY.
  public func cut() {
    onEveryConnection { $0.cut() }
  }

  /// Announces another stream limit on every connection, and refuses the open streams beyond it.
  public func limitStreams(to limit: Int) {
    onEveryConnection { $0.limitStreams(to: limit) }
  }

  /// Accepts every request that has no reply because of `Reply.ignore`.
  public func answerIgnored() {
    onEveryConnection { $0.answerIgnored() }
  }

  private func onEveryConnection(_ body: @escaping @Sendable (APNsServerHandler) -> Void) {
    for connection in connections.withLock({ Array($0.values) }) {
      connection.loop.execute { body(connection.handler.value) }
    }
  }

  func nextConnectionNumber() -> Int { lastConnection.add(1, ordering: .relaxed).newValue }

  func opened(_ number: Int, _ connection: LiveConnection) {
    connections.withLock { $0[number] = connection }
  }

  func closed(_ number: Int) {
    connections.withLock { $0[number] = nil }
  }
}

/// A client's connection, and the event loop that its handler belongs to.
struct LiveConnection: Sendable {
  let loop: any EventLoop
  let handler: NIOLoopBound<APNsServerHandler>
}
