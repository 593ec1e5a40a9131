import Crypto
public import FoundationEssentials
import Locking

/// A simulation of Apple's push service: keys and tokens it knows, rules for its replies, and the requests it received.
///
/// It answers as APNs documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedAPNs: SteerableService {
  static let serviceName = "apns"
  /// The environment of a listener, and of a device token.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    case sandbox
  }

  public let traffic: ServiceTraffic<ReceivedRequest>
  public let rules = ReplyRules<Match, APNsRefusal>()
  let streamLimit: Int
  let trustsUnknownKeys: Bool
  private let phoneLog: RequestLog<PhoneEntry>?
  private let file: RequestFile?
  private let state: Mutex<APNsState>
  private let now: @Sendable () -> Date

  /// - Parameters:
  ///   - phoneLog: gets every push that a phone would get.
  ///   - file: gets every request.
  init(
    _ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, file: RequestFile?,
    now: @escaping @Sendable () -> Date
  ) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    streamLimit = settings.streamLimit
    trustsUnknownKeys = settings.trustsUnknownKeys
    self.phoneLog = phoneLog
    self.file = file
    state = Mutex(APNsState(rules: rules, trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// The reply to a request that was received completely.
  func reply(to request: APNsRequest, on connection: inout ConnectionAuthentication) -> Reply {
    let now = now()
    return state.withLock { $0.reply(to: request, on: &connection, now: now) }
  }

  /// Logs a request for tests, in the file of requests and, if it is accepted, for the phone page.
  func log(_ request: APNsRequest, _ reply: Reply, connection: Int, stream: Int) {
    let received = traffic.log.append { number in
      ReceivedRequest(
        number: number, environment: request.environment, connection: connection, stream: stream, at: Date(),
        token: request.token, payload: request.payload, reply: reply, headers: request.headers)
    }
    file?.append(received)
    if received.isAccepted { phoneLog?.append { PhoneEntry(number: $0, request: .apns(received)) } }
  }
}

// MARK: - Keys and tokens

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
}
