import FoundationEssentials
import Locking
public import Wire

/// A simulation of Huawei's Push Kit (REST v1 for clients, v2 for service accounts), with the token endpoint of Huawei's sign-in.
///
/// It answers as Huawei documents it, over HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedHMS: SignInService {
  static let service = PushServiceName.hms
  static let contentType = "application/json;charset=UTF-8"

  /// What Push Kit read of a request.
  public struct Details: Sendable {
    /// The client's id, or the project's, in the address.
    public let account: String
    /// The app's name, as it was registered.
    public let app: String
    public let tokens: [String]
    /// Those of them that the reply names as invalid while others are not.
    public let illegalTokens: [String]
    /// The object `message`, without what did not fit.
    public let message: JSONValue
    /// Whether nothing was to be delivered.
    public let validateOnly: Bool
  }

  public let traffic: ServiceTraffic<Details, Refusal>
  private let state: Mutex<HMSState>

  init(_ context: SimulatorContext) {
    traffic = Self.traffic(context)
    state = Mutex(HMSState(trustsUnknownKeys: context.settings.trustsUnknownKeys))
  }

  func answerPush(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    let request = HMSRequest(incoming)
    let message = request.message
    let (now, access) = (traffic.now(), request.bearer.flatMap { traffic.tokenEndpoint[$0] })
    let (refusal, unregistered, name) = state.withLock {
      ($0.refusal(of: request, access, now: now), $0.unregistered, $0.names[request.account])
    }
    let (reply, illegal): (Reply, [String]) =
      if let refusal {
        (.refuse(refusal), [])
      } else {
        self.reply(to: message.tokens, unregistered: unregistered, now: now)
      }
    let details = Details(
      account: request.account, app: name ?? "App \(request.account)", tokens: message.tokens, illegalTokens: illegal,
      message: .object(message.fields), validateOnly: message.validateOnly)
    let received = traffic.log(incoming, details, reply, isTest: message.validateOnly)
    if received.isAccepted {
      for token in message.tokens where !illegal.contains(token) {
        traffic.show(on: Self.phone, token) { PhonePush(received, to: token, number: $0) }
      }
    }
    return SimulatedAnswer(reply: reply) {
      $0?.response
        ?? SimulatedResponse(
          HMSBody.accepted(illegal: illegal, of: message.tokens.count), contentType: Self.contentType)
    }
  }

  /// The reply to a message that passes all checks, and those of its tokens that are invalid while others are not. Test tokens come first,
  /// then the rules. A token's reply other than that it is invalid is the whole message's.
  private func reply(to tokens: [String], unregistered: Set<String>, now: Date) -> (Reply, [String]) {
    var illegal: [String] = []
    var whole: Reply?
    for token in tokens {
      let reply =
        unregistered.contains(token)
        ? .refuse(.allTokensInvalid) : selectedReply(to: token, now: now) ?? .accept
      if reply == .refuse(.allTokensInvalid) {
        illegal.append(token)
      } else if reply != .accept {
        whole = whole ?? reply
      }
    }
    if let whole { return (whole, []) }
    if !illegal.isEmpty, illegal.count == tokens.count { return (.refuse(.allTokensInvalid), []) }
    return (.accept, illegal)
  }

  func check(_ request: HuaweiTokenRequest, now: Date) -> (refusal: Refusal?, project: String?) {
    let secret = state.withLock { $0.clients[request.client] }
    return (request.refusal(secret: secret, trustsUnknownKeys: traffic.trustsUnknownKeys), nil)
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

  /// Makes a push token invalid, as after an app was deleted.
  public func unregister(token: String) {
    state.withLock { _ = $0.unregistered.insert(token) }
  }
}

// MARK: - Test tokens

extension SimulatedHMS {
  static let testTokens = TestTokens<Refusal>(
    "And of Push Kit:",
    [
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
  static let trustOptions = [
    TrustOption.serviceAccount("Huawei's") { simulator, keyFile in try simulator.hms.register(keyFile: keyFile) },
    TrustOption(
      name: "huawei-client", valueName: "client-id=file", idCount: 1, isWord: true,
      help: ("Client of ", "Push Kit", " to trust, and the file of its secret")
    ) { $0.hms.register(clientID: $1[0], secret: $2) },
  ]

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.hmsURL, simulator.hmsURL), (.hmsTokenURL, simulator.hmsTokenURL)]
  }

  /// The secret is always the same, since no other service takes it.
  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? {
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
