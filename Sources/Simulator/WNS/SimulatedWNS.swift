import FoundationEssentials
import Locking

/// A simulation of Windows Push Notification Services, with the token endpoints of login.live.com and Microsoft Entra on the same port.
///
/// It answers as Microsoft documents it, over HTTP/1.1 or HTTP/2. No real device gets anything; the phone page shows the pushes.
public final class SimulatedWNS: SteerableService, TokenIssuingService {
  static let serviceName = "wns"
  public let traffic: ServiceTraffic<ReceivedRequest>
  public let tokenEndpoint: TokenEndpoint<Refusal>
  public let rules = ReplyRules<Match, Refusal>()
  let streamLimit: Int
  private let phoneLog: RequestLog<PhoneEntry>?
  private let state: Mutex<WNSServerState>
  private let now: @Sendable () -> Date

  /// - Parameter phoneLog: gets every push that a device would get.
  init(_ settings: SimulatorSettings, phoneLog: RequestLog<PhoneEntry>?, now: @escaping @Sendable () -> Date) {
    traffic = ServiceTraffic(keeping: settings.requestsKept)
    tokenEndpoint = TokenEndpoint(keeping: settings.requestsKept)
    streamLimit = settings.wnsStreamLimit
    self.phoneLog = phoneLog
    state = Mutex(
      WNSServerState(
        rules: rules, tokenRules: tokenEndpoint.rules, trustsUnknownKeys: settings.trustsUnknownKeys))
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
  func reply(to request: MicrosoftTokenRequest) -> (Reply, issued: String) {
    let now = now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenEndpoint.received(request.path, client: request.clientID, reply)
    return (reply, issued)
  }
}

// MARK: - Apps and channels

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
}

// MARK: - Replies

extension SimulatedWNS {
  public typealias Match = PrefixMatch

  /// What `X-WNS-DeviceConnectionStatus` says.
  public enum DeviceConnection: String, Sendable, Hashable {
    case connected
    case disconnected
    case temporarilyDisconnected = "tempdisconnected"
  }

  static let testTokens = TestTokens<Refusal>([
    .init("fade0400", "400", .status(400)), .init("fade0401", "401, sign-in refused", .status(401)),
    .init("fade0403", "403, the channel of another app", .otherApp),
    .init("fade0404", "404, unknown channel", .notFound),
    .init("fade0406", "406, throttled for a second", .status(406, continueAfter: "1")),
    .init("fade0410", "410, the channel has expired", .expired), .init("fade0500", "500", .status(500)),
    .init("fade0503", "503", .status(503)), .init("fade2001", "200, dropped", .taken("dropped")),
    .init("fade2002", "200, channelthrottled", .taken("channelthrottled", continueAfter: "1")),
  ])
}
