import FoundationEssentials
import Locking
import Wire

/// A simulation of Windows Push Notification Services, with the token endpoints of login.live.com and Microsoft Entra on the same port.
///
/// It answers as Microsoft documents it, over HTTP/1.1 or HTTP/2. No real device gets anything; the phone page shows the pushes.
public final class SimulatedWNS: SteerableService, TokenIssuingService {
  static let service = PushServiceName.wns
  public let traffic: ServiceTraffic<ReceivedRequest>
  public let tokenEndpoint: TokenEndpoint<Refusal>
  public let rules = ReplyRules<Match, Refusal>()
  private let state: Mutex<WNSServerState>

  init(_ context: SimulatorContext) {
    traffic = ServiceTraffic(context, of: Self.service)
    tokenEndpoint = TokenEndpoint(context)
    state = Mutex(
      WNSServerState(
        rules: rules, tokenRules: tokenEndpoint.rules, trustsUnknownKeys: context.settings.trustsUnknownKeys))
  }

  /// The reply to a request to a channel that was received completely, and whether the device is connected.
  func reply(to request: WNSRequest, connection: Int, stream: Int) -> (Reply, DeviceConnection) {
    let now = traffic.now()
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
    if received.isAccepted { traffic.show(received) }
    return (reply, device)
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: MicrosoftTokenRequest) -> (Reply, issued: String) {
    let now = traffic.now()
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

// MARK: - Where it is, and who may sign in

extension SimulatedWNS {
  static let ports = [
    SimulatedPort(option: "wns-port", usual: 8447, help: "WNS and Microsoft's token endpoints", name: "WNS")
  ]
  static let testTokenTable: TestTokenTable? =
    testTokens.listed("And of WNS, where they are the <code>token</code> in a channel URI:")
  static let trustOptions = [
    TrustOption(
      name: "windows-package", valueName: "package-sid=file", idCount: 1, isWord: true,
      help: ("Package of ", "WNS", " to trust, and the file of its secret")
    ) { $0.wns.register(packageSID: $1[0], secret: $2) },
    TrustOption(
      name: "windows-client", valueName: "tenant-id/client-id=file", idCount: 2, isWord: true,
      help: ("Client at ", "Microsoft Entra", " to trust, and the file of its secret")
    ) { $0.wns.register(tenantID: $1[0], clientID: $1[1], secret: $2) },
  ]

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(
      on: port, traffic.connections, protocols: host.settings.wnsProtocols, http1: { try ServiceListener.http1($0, $1) }
    ) { WNSServerConnection(wns: self, number: $0) }
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.wnsTokenURL, simulator.wnsURL), (.wnsAllowedHosts, simulator.wnsHost)]
  }

  /// Its secret is none: this service alone knows it.
  func sample(
    _ simulator: PushSimulator, keep: (_ file: String, _ make: () throws -> String) throws -> String
  ) throws -> SampleApp? {
    let (sid, secret) = ("ms-app://s-1-15-2-1000000001-1000000002-1000000003", "sample-package-secret")
    register(packageSID: sid, secret: secret, name: SampleApp.name)
    return SampleApp(
      suffix: ".windows", type: .windows, credentials: [.packageSID: sid, .clientSecret: secret], every: 10, from: 6
    ) { person, _ in
      SampleApp.device(
        .windows, token: simulator.channel("AwYAAABsample" + SampleApp.token("windows", person)),
        manufacturer: "Microsoft", models: ["Surface Pro", "Surface Laptop", "Surface Go"], person: person,
        osVersion: "11")
    }
  }
}

extension PushSimulator {
  /// Windows' push service, with both of its token endpoints.
  public var wns: SimulatedWNS { service() }
  /// Where the token endpoints and all channel URIs of WNS are: `https://localhost:8447`, say; empty before `start`.
  public var wnsURL: String { url(at: SimulatedWNS.ports[0]) }
  /// The host that channel URIs are at: `localhost:8447`, say; empty before `start`.
  public var wnsHost: String { String(wnsURL.dropFirst("https://".count)) }

  /// The channel URI of a simulated Windows device. Call it after `start`.
  /// - Parameter token: letters, digits and hyphens; those of `fade` select replies.
  public func channel(_ token: String) -> String { "\(wnsURL)/?token=\(token)" }
}
