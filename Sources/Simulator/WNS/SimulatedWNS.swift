import FoundationEssentials
import Locking
import Wire
import XML

/// A simulation of Windows Push Notification Services, with the token endpoints of login.live.com and Microsoft Entra on the same port.
///
/// It answers as Microsoft documents it, over HTTP/1.1 or HTTP/2. No real device gets anything; the phone page shows the pushes.
public final class SimulatedWNS: SignInService {
  static let service = PushServiceName.wns

  /// What WNS read of a request to a channel.
  public struct Details: Sendable {
    /// The Package SID, or the client's id; nil without a valid access token.
    public let account: String?
    /// The app's name, as it was registered.
    public let app: String
    /// The channel URI.
    public let channel: String
    /// Such as `wns/toast`.
    public let type: String
    let xml: ParsedXML?

    /// The texts of a toast, in their order.
    public var texts: [String] { xml?.all("text").map(\.text) ?? [] }

    /// The source of the first image.
    var picture: String? { xml?.all("image").first?.attributes["src"] }
  }

  public let traffic: ServiceTraffic<Details, Refusal>
  private let state = Mutex(WNSState())

  init(_ context: SimulatorContext) { traffic = Self.traffic(context) }

  /// The checks come first; then test tokens; then the rules.
  func answerPush(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    let request = WNSRequest(incoming)
    let (now, access) = (traffic.now(), incoming.bearer.flatMap { traffic.tokenEndpoint[$0] })
    let (refusal, device, name) = state.withLock { state in
      (
        state.refusal(of: request, access, now: now), state.channels[request.token]?.connection ?? .connected,
        access.flatMap { state.clients[$0.client]?.name } ?? "Windows app"
      )
    }
    let reply =
      refusal.map(Reply.refuse) ?? selectedReply(to: request.token, now: now)
      ?? (device == .connected || request.isKept ? .accept : .refuse(.taken("dropped")))
    let details = Details(
      account: access?.client, app: name, channel: request.channel, type: request.notification.type,
      xml: request.notification.xml)
    let received = traffic.log(incoming, details, reply)
    if received.isAccepted { traffic.show(on: Self.phone, request.channel) { PhonePush(received, number: $0) } }
    var accepted = SimulatedResponse()
    accepted.headers = [
      ("x-wns-msg-id", String(UUID().uuidString.filter { $0 != "-" }.prefix(16))), ("x-wns-debug-trace", "SIMULATOR"),
    ]
    if let vector = incoming.header("ms-cv") { accepted.headers.append(("ms-cv", vector)) }
    if incoming.header("x-wns-requestforstatus") == "true" {
      accepted.headers.append(("x-wns-deviceconnectionstatus", device.rawValue))
    }
    accepted.headers.append((Self.statusHeader, "received"))
    return SimulatedAnswer(reply: reply) { [accepted] in self.response(accepted, $0) }
  }

  /// What became of the notification.
  private static let statusHeader = "x-wns-notificationstatus"

  func check(_ request: MicrosoftTokenRequest, now: Date) -> (refusal: Refusal?, project: String?) {
    let client = state.withLock { $0.clients[request.client] }
    return (request.refusal(client: client, trustsUnknownKeys: traffic.trustsUnknownKeys), nil)
  }

  /// A refusal has headers of its own besides those of any response.
  func response(_ accepted: SimulatedResponse, _ refusal: Refusal?) -> SimulatedResponse {
    guard let refusal else { return accepted }
    let own = refusal.headers.sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }
    let usual = accepted.headers.filter { $0.name != Self.statusHeader && refusal.headers[$0.name] == nil }
    return SimulatedResponse(status: refusal.status, headers: usual + own, body: refusal.body)
  }
}

extension ReceivedRequest<SimulatedWNS.Details, SimulatedWNS.Refusal> {
  /// The attribute of the root element, as `launch` of a toast.
  public func attribute(_ name: String) -> String? { details.xml?.attributes[name] }
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
  /// What `X-WNS-DeviceConnectionStatus` says.
  public enum DeviceConnection: String, Sendable, Hashable {
    case connected
    case disconnected
    case temporarilyDisconnected = "tempdisconnected"
  }

  static let testTokens = TestTokens<Refusal>(
    "And of WNS, where they are the `token` in a channel URI:",
    [
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
      on: port, self, protocols: host.settings.wnsProtocols, http1: { try ServiceListener.http1($0, $1) })
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.wnsTokenURL, simulator.wnsURL), (.wnsAllowedHosts, simulator.wnsHost)]
  }

  /// The secret is always the same, since no other service takes it.
  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? {
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
