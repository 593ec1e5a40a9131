import FoundationEssentials
import Synchronization
import Wire

/// A simulation of Huawei's Push Kit (REST v1 for clients, v2 for service accounts), with the token endpoint of Huawei's sign-in.
///
/// It answers as Huawei documents it, over HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedHMS: SimulatedService, SteerableService {
  static let serviceName = "hms"
  public let traffic: ServiceTraffic<ReceivedRequest>
  let streamLimit: Int
  private let tokenLog: RequestLog<ReceivedTokenRequest>
  private let phoneLog: RequestLog<PhoneEntry>?
  private let state: Mutex<HMSServerState>
  private let now: @Sendable () -> Date

  /// - Parameter phoneLog: gets every push that a phone would get.
  init(_ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, now: @escaping @Sendable () -> Date) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    tokenLog = RequestLog(keeping: settings.requestsKept)
    streamLimit = settings.hmsStreamLimit
    self.phoneLog = phoneLog
    state = Mutex(HMSServerState(trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// The reply to a message that was received completely, and its tokens that are invalid while others are not.
  func reply(to request: HMSRequest, connection: Int, stream: Int) -> (Reply, illegalTokens: [String]) {
    let now = now()
    let (reply, illegal, name) = state.withLock { state in
      let (reply, illegal) = state.reply(to: request, now: now)
      return (reply, illegal, state.names[request.account] ?? "App \(request.account)")
    }
    let message = request.message
    let received = traffic.log.append { number in
      ReceivedRequest(
        number: number, connection: connection, stream: stream, at: Date(), account: request.account, app: name,
        tokens: message.tokens, illegalTokens: illegal, payload: request.body, message: .object(message.fields),
        validateOnly: message.validateOnly, reply: reply, headers: request.headers)
    }
    if received.isAccepted {
      for token in received.tokens where !illegal.contains(token) {
        phoneLog?.append { PhoneEntry(number: $0, request: .hms(received, token: token)) }
      }
    }
    return (reply, illegal)
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: HuaweiTokenRequest, connection: Int, stream: Int) -> (Reply, issued: String) {
    let now = now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenLog.append { number in
      ReceivedTokenRequest(number: number, clientID: request.clientID, reply: reply)
    }
    return (reply, issued)
  }
}

// MARK: - Accounts, tokens and rules

extension SimulatedHMS {
  /// Registers a client, so that it gets access tokens, for its own app only. Registered again, it has a new secret.
  /// - Parameter name: the app's, for the phone page.
  public func register(clientID: String, secret: String, name: String? = nil) {
    state.withLock { state in
      state.clients[clientID] = secret
      state.names[clientID] = name
    }
  }

  /// Registers a service account by its key file, so that it may send for its project; only the public half is kept.
  /// - Throws: if `keyFile` is no key file of a Huawei service account.
  public func register(keyFile: String) throws {
    let account = try RegisteredHuaweiAccount(keyFile: keyFile)
    state.withLock { $0.accounts[account.subAccount] = account }
  }

  /// Forgets a client, as when its app is deleted at Huawei.
  public func remove(clientID: String) {
    state.withLock { $0.clients[clientID] = nil }
  }

  /// Makes all access tokens issued so far expire: they get 80200003.
  public func expireAccessTokens() {
    state.withLock { $0.expireAccessTokens() }
  }

  /// Makes a push token invalid, as after an app was deleted.
  public func unregister(token: String) {
    state.withLock { _ = $0.unregistered.insert(token) }
  }

  /// Adds a rule for the tokens of messages that pass all checks. The first rule that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number.
  @discardableResult
  public func rule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    state.withLock { $0.rules.add(match, reply, times: times) }
  }

  /// Adds a rule for token requests that pass all checks. The first rule that matches decides.
  /// - Parameter times: how often it applies; nil for always.
  /// - Returns: the rule's number, among those for token requests.
  @discardableResult
  public func tokenRule(_ match: Match = .any, _ reply: Reply, times: Int? = nil) -> Int {
    state.withLock { $0.tokenRules.add(match, reply, times: times) }
  }

  /// Removes all rules, those for token requests too.
  public func removeRules() {
    state.withLock {
      $0.rules.removeAll()
      $0.tokenRules.removeAll()
    }
  }

  /// The rules in force, by number; not those for token requests.
  var rules: [Rules.Entry] { state.withLock { $0.rules.entries } }

  /// How many token requests were received since the start.
  public var tokenRequestCount: Int { tokenLog.count }

  /// The last token requests, oldest first; refused ones too.
  public var tokenRequests: [ReceivedTokenRequest] { tokenLog.kept }
}

// MARK: - Replies

extension SimulatedHMS {
  /// How a message or a token request is answered.
  public typealias Reply = SimulatedReply<Refusal>
  typealias Rules = ReplyRules<Match, Refusal>

  /// Which tokens, or token requests, a rule is for.
  public struct Match: PrefixMatch {
    /// How the push token begins, or the client's id.
    public var prefix = ""
    /// Only the n-th that matches the rest, counted from 1 since the rule was added.
    public var nth: Int?

    public init(prefix: String = "", nth: Int? = nil) {
      self.prefix = prefix
      self.nth = nth
    }

    public static var any: Match { Match() }
    public static func token(_ prefix: String) -> Match { Match(prefix: prefix) }
    public static func nth(_ number: Int) -> Match { Match(nth: number) }
  }

  static let testTokens = TestTokens<Refusal>([
    refusal("fade0400", "80100001, a bad parameter", .code("80100001")),
    refusal("fade0401", "80200001, sign-in refused", .code("80200001")),
    refusal("fade0403", "80300002, no permission", .code("80300002")),
    refusal("fade0404", "80300007, invalid; with others 80100000", .allTokensInvalid),
    refusal("fade0500", "81000001, internal error", .code("81000001")),
    refusal("fade0503", "503, flow control", .flowControl()),
    refusal("fade1503", "503, retry-after a second", .flowControl(retryAfter: "1")),
  ])

  private static func refusal(
    _ prefix: String, _ meaning: String, _ refusal: Refusal
  ) -> TestTokens<Refusal>.Entry {
    TestTokens.Entry(prefix: prefix, meaning: meaning) { _ in .refuse(refusal) }
  }
}
