import Crypto
public import FoundationEssentials
import Logging
import NIOCore
import Synchronization

/// A stand-in for Apple's push service: what it knows, what it is told to do, and what has reached it.
///
/// It answers as APNs documents it, over the same HTTP/2; nothing is passed on to any phone but the one on the phone page.
public final class SimulatedAPNs: Sendable {
  /// Where a listener stands, and where a device token is valid.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    case sandbox
  }

  let log: ArrivalLog
  let streamLimit: Int
  private let book: Mutex<APNsRules>
  private let connections = Mutex<[Int: LiveConnection]>([:])
  private let lastConnection = Atomic(0)
  private let now: @Sendable () -> Date

  init(_ settings: SimulatorSettings, now: @escaping @Sendable () -> Date) {
    log = ArrivalLog(keeping: settings.arrivalsKept)
    streamLimit = settings.streamLimit
    book = Mutex(APNsRules(trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// Judges a request that has arrived whole.
  func judge(_ request: APNsRequest, by memory: inout ConnectionMemory) -> Reply {
    let now = now()
    return book.withLock { $0.judge(request, by: &memory, now: now) }
  }
}

// MARK: - What it knows

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
    book.withLock { $0.keys[KeyName(teamID: teamID, keyID: keyID)] = key }
  }

  /// Says where a device token belongs; one that nobody placed is good everywhere, for every topic.
  public func place(token: String, in environment: Environment? = nil, topic: String? = nil) {
    book.withLock {
      $0.tokens[token.lowercased(), default: TokenFacts()].environment = environment
      $0.tokens[token.lowercased(), default: TokenFacts()].topic = topic
    }
  }

  /// Makes a device token dead since then: 410 with that timestamp, as when an app was deleted.
  public func expire(token: String, since: Date) {
    book.withLock { $0.tokens[token.lowercased(), default: TokenFacts()].deadSince = since }
  }

  /// Adds a rule for requests that pass all checks. The first rule that matches decides. Returns its number.
  @discardableResult
  public func rule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    book.withLock { $0.rules.add(match, reply, times: times) }
  }

  /// Takes all rules back.
  public func removeRules() { book.withLock { $0.rules = RuleBook() } }

  /// The rules in force, by number.
  var rules: [RuleBook.Entry] { book.withLock { $0.rules.entries } }
}

// MARK: - What has reached it

extension SimulatedAPNs {
  /// The arrivals remembered, oldest first; refused ones too.
  public var arrivals: [Arrival] { log.kept }

  /// How many requests have arrived since the start.
  public var count: Int { log.count }

  /// Waits until that many requests have arrived since the start, and returns those remembered.
  public func received(count: Int) async -> [Arrival] { await log.received(count: count) }

  /// Connections open now.
  public var openConnections: Int { connections.withLock { $0.count } }

  /// Connections ever opened.
  public var connectionsOpened: Int { lastConnection.load(ordering: .relaxed) }
}

// MARK: - What it can be made to do at once

extension SimulatedAPNs {
  /// Sends GOAWAY on every connection.
  /// - Parameters:
  ///   - lastStream: requests above it are not processed; nil for the highest that has arrived.
  ///   - reason: goes into the frame's debug data as APNs's JSON.
  public func goAway(lastStream: Int? = nil, reason: String? = nil) {
    onEveryConnection { $0.goAway(lastStream: lastStream, reason: reason) }
  }

  /// Cuts every connection, with no word.
  public func cut() {
    onEveryConnection { $0.cut() }
  }

  /// Announces another stream limit on every connection, and refuses what is open beyond it.
  public func limitStreams(to limit: Int) {
    onEveryConnection { $0.limitStreams(to: limit) }
  }

  /// Accepts every request that was left without an answer by `Reply.ignore`.
  public func answerIgnored() {
    onEveryConnection { $0.answerIgnored() }
  }

  private func onEveryConnection(_ body: @escaping @Sendable (APNsServerHandler) -> Void) {
    for connection in connections.withLock({ Array($0.values) }) {
      connection.loop.execute { body(connection.handler.value) }
    }
  }

  func nextConnection() -> Int { lastConnection.add(1, ordering: .relaxed).newValue }

  func opened(_ number: Int, _ connection: LiveConnection) {
    connections.withLock { $0[number] = connection }
  }

  func closed(_ number: Int) {
    connections.withLock { $0[number] = nil }
  }
}

/// A connection of a client, and the event loop that guards it.
struct LiveConnection: Sendable {
  let loop: any EventLoop
  let handler: NIOLoopBound<APNsServerHandler>
}
