import FoundationEssentials
import Locking
import Wire

/// A simulation of Huawei's Push Kit (REST v1 for clients, v2 for service accounts), with the token endpoint of Huawei's sign-in.
///
/// It answers as Huawei documents it, over HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedHMS: SteerableService, TokenIssuingService {
  static let service = PushServiceName.hms
  public let traffic: ServiceTraffic<ReceivedRequest>
  public let tokenEndpoint: TokenEndpoint<Refusal>
  public let rules = ReplyRules<Match, Refusal>()
  private let state: Mutex<HMSServerState>

  init(_ context: SimulatorContext) {
    traffic = ServiceTraffic(context, of: Self.service)
    tokenEndpoint = TokenEndpoint(context)
    state = Mutex(
      HMSServerState(
        rules: rules, tokenRules: tokenEndpoint.rules, trustsUnknownKeys: context.settings.trustsUnknownKeys))
  }

  /// The reply to a message that was received completely, and its tokens that are invalid while others are not.
  func reply(to request: HMSRequest, connection: Int, stream: Int) -> (Reply, illegalTokens: [String]) {
    let now = traffic.now()
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
        traffic.show(HMSDelivery(request: received, shownToken: token))
      }
    }
    return (reply, illegal)
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: HuaweiTokenRequest) -> (Reply, issued: String) {
    let now = traffic.now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenEndpoint.received(HuaweiTokenRequest.path, client: request.clientID, reply)
    return (reply, issued)
  }
}

// MARK: - Accounts and tokens

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
}

// MARK: - Test tokens

extension SimulatedHMS {
  public typealias Match = PrefixMatch

  static let testTokens = TestTokens<Refusal>([
    .init("fade0400", "80100001, a bad parameter", .code("80100001")),
    .init("fade0401", "80200001, sign-in refused", .code("80200001")),
    .init("fade0403", "80300002, no permission", .code("80300002")),
    .init("fade0404", "80300007, invalid; with others 80100000", .allTokensInvalid),
    .init("fade0500", "81000001, internal error", .code("81000001")),
    .init("fade0503", "503, flow control", .flowControl()),
    .init("fade1503", "503, retry-after a second", .flowControl(retryAfter: "1")),
  ])
}

// MARK: - Where it is, and who may sign in

extension SimulatedHMS {
  static let ports = [
    SimulatedPort(option: "hms-port", usual: 8446, help: "Push Kit and Huawei's token endpoint", name: "Push Kit")
  ]
  static let testTokenTable: TestTokenTable? =
    testTokens.listed("And of Push Kit:")
  static let trustOptions = [
    TrustOption.serviceAccount("Huawei's") { simulator, keyFile in try simulator.hms.register(keyFile: keyFile) },
    TrustOption(
      name: "huawei-client", valueName: "client-id=file", idCount: 1, isWord: true,
      help: ("Client of ", "Push Kit", " to trust, and the file of its secret")
    ) { $0.hms.register(clientID: $1[0], secret: $2) },
  ]

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(on: port, traffic.connections) { HMSServerConnection(hms: self, number: $0) }
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.hmsURL, simulator.hmsURL), (.hmsTokenURL, simulator.hmsTokenURL)]
  }

  /// Its secret is none: this service alone knows it.
  func sample(
    _ simulator: PushSimulator, keep: (_ file: String, _ make: () throws -> String) throws -> String
  ) throws -> SampleApp? {
    let (clientID, secret) = ("100000001", "sample-client-secret")
    register(clientID: clientID, secret: secret, name: SampleApp.name)
    return SampleApp(
      suffix: ".huawei", type: .huawei, credentials: [.clientID: clientID, .clientSecret: secret], every: 10, from: 4
    ) {
      person, _ in
      SampleApp.device(
        .huawei,
        token: "IQAAAACy0sample" + SampleApp.token("huawei", person) + SampleApp.token("push kit", person),
        manufacturer: "HUAWEI", models: ["P60 Pro", "Mate 50", "nova 12"], person: person,
        osVersion: "\(3 + person % 2).0")
    }
  }
}

extension PushSimulator {
  /// Huawei's Push Kit, with its token endpoint.
  public var hms: SimulatedHMS { service() }
  /// `https://localhost:8446`, say; empty before `start`.
  public var hmsURL: String { url(at: SimulatedHMS.ports[0]) }
  /// Huawei's token endpoint: `https://localhost:8446/oauth2/v3/token`, say.
  public var hmsTokenURL: String { hmsURL + HuaweiTokenRequest.path }
}
