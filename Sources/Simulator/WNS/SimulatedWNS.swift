import FoundationEssentials
import Synchronization

/// A simulation of Windows Push Notification Services, with the token endpoints of login.live.com and Microsoft Entra on the same port.
///
/// It answers as Microsoft documents it, over HTTP/1.1 or HTTP/2. No real device gets anything; the phone page shows the pushes.
public final class SimulatedWNS: SimulatedService, SteerableService {
  static let serviceName = "wns"
  public let traffic: ServiceTraffic<ReceivedRequest>
  let streamLimit: Int
  private let tokenLog: RequestLog<ReceivedTokenRequest>
  private let phoneLog: RequestLog<PhoneEntry>?
  private let state: Mutex<WNSServerState>
  private let now: @Sendable () -> Date

  /// - Parameter phoneLog: gets every push that a device would get.
  init(_ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, now: @escaping @Sendable () -> Date) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    tokenLog = RequestLog(keeping: settings.requestsKept)
    streamLimit = settings.wnsStreamLimit
    self.phoneLog = phoneLog
    state = Mutex(WNSServerState(trustsUnknownKeys: settings.trustsUnknownKeys))
    self.now = now
  }

  /// The reply to a request to a channel that was received completely, and whether the device is connected.
  func reply(to request: WNSRequest, connection: Int, stream: Int) -> (Reply, DeviceConnection) {
    let now = now()
    let (reply, device, account, name) = state.withLock { state in
      let account = state.account(of: request)
      return (
        state.reply(to: request, now: now), state.connection(of: request), account,
        account.flatMap { state.clients[$0]?.name } ?? "Windows app"
      )
    }
    let received = traffic.log.append { number in
      ReceivedRequest(
        number: number, connection: connection, stream: stream, at: Date(), account: account, app: name,
        channel: request.channel, type: request.notification.type, payload: request.body, reply: reply,
        xml: request.notification.xml, headers: request.headers)
    }
    if received.isAccepted { phoneLog?.append { PhoneEntry(number: $0, request: .wns(received)) } }
    return (reply, device)
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: MicrosoftTokenRequest, connection: Int, stream: Int) -> (Reply, issued: String) {
    let now = now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenLog.append { number in
      ReceivedTokenRequest(number: number, path: request.path, clientID: request.clientID, reply: reply)
    }
    return (reply, issued)
  }
}

// MARK: - Apps, channels and rules

extension SimulatedWNS {
  /// Registers a package of the Microsoft Store, so that it gets access tokens. Registered again, it has a new secret.
  /// - Parameter name: the app's, for the phone page.
  public func register(packageSID: String, secret: String, name: String = "Windows app") {
    let client = RegisteredWindowsClient(secret: secret, name: name)
    state.withLock { $0.clients[packageSID] = client }
  }

  /// Registers a client of a tenant at Microsoft Entra. Registered again, it has a new secret.
  /// - Parameter name: the app's, for the phone page.
  public func register(tenantID: String, clientID: String, secret: String, name: String = "Windows app") {
    let client = RegisteredWindowsClient(tenant: tenantID, secret: secret, name: name)
    state.withLock { $0.clients[clientID] = client }
  }

  /// Forgets a package or client, as when its app is deleted.
  public func remove(_ clientID: String) {
    state.withLock { $0.clients[clientID] = nil }
  }

  /// Makes all access tokens issued so far expire: they get 401.
  public func expireAccessTokens() {
    state.withLock { $0.expireAccessTokens() }
  }

  /// Makes a channel expire, by the token in its URI: it gets 410.
  public func expire(channel token: String) {
    state.withLock { $0.channels[token, default: KnownChannel()].refusal = .expired }
  }

  /// Makes a channel unknown, by the token in its URI: it gets 404.
  public func remove(channel token: String) {
    state.withLock { $0.channels[token, default: KnownChannel()].refusal = .notFound }
  }

  /// Gives a channel to an app, by the token in its URI; another app's requests to it get 403.
  public func restrict(channel token: String, to account: String) {
    state.withLock { $0.channels[token, default: KnownChannel()].account = account }
  }

  /// Sets whether a channel's device is connected, by the token in its URI. If not, only notifications that are kept get to it.
  public func set(_ connection: DeviceConnection, of token: String) {
    state.withLock { $0.channels[token, default: KnownChannel()].connection = connection }
  }

  /// Adds a rule for requests to channels that pass all checks. The first rule that matches decides.
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

extension SimulatedWNS {
  /// How a request to a channel or a token request is answered.
  public typealias Reply = SimulatedReply<Refusal>
  typealias Rules = ReplyRules<Match, Refusal>

  /// What `X-WNS-DeviceConnectionStatus` says.
  public enum DeviceConnection: String, Sendable, Hashable {
    case connected
    case disconnected
    case temporarilyDisconnected = "tempdisconnected"
  }

  /// Which channels, or token requests, a rule is for.
  public struct Match: PrefixMatch {
    /// How the token in the channel URI begins, or the client's id.
    public var prefix = ""
    /// Only the n-th that matches the rest, counted from 1 since the rule was added.
    public var nth: Int?

    public init(prefix: String = "", nth: Int? = nil) {
      self.prefix = prefix
      self.nth = nth
    }

    public static var any: Match { Match() }
    public static func channel(_ prefix: String) -> Match { Match(prefix: prefix) }
    public static func nth(_ number: Int) -> Match { Match(nth: number) }
  }

  static let testTokens = TestTokens<Refusal>(
    [
      ("fade0400", "400", .status(400)), ("fade0401", "401, sign-in refused", .status(401)),
      ("fade0403", "403, the channel of another app", .otherApp), ("fade0404", "404, unknown channel", .notFound),
      ("fade0406", "406, throttled for a second", .status(406, continueAfter: "1")),
      ("fade0410", "410, the channel has expired", .expired), ("fade0500", "500", .status(500)),
      ("fade0503", "503", .status(503)), ("fade2001", "200, dropped", .taken("dropped")),
      ("fade2002", "200, channelthrottled", .taken("channelthrottled", continueAfter: "1")),
    ].map { (prefix: String, meaning: String, refusal: Refusal) in
      TestTokens.Entry(prefix: prefix, meaning: meaning) { _ in .refuse(refusal) }
    })
}
