import FoundationEssentials
import Locking
import Wire

/// A simulation of Firebase Cloud Messaging's HTTP v1 API, with the token endpoint of Google's sign-in.
///
/// It answers as Google documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedFCM: SteerableService, TokenIssuingService {
  static let service = PushServiceName.fcm
  public let traffic: ServiceTraffic<ReceivedRequest>
  public let tokenEndpoint: TokenEndpoint<Refusal>
  public let rules = ReplyRules<Match, Refusal>()
  private let state: Mutex<FCMServerState>

  init(_ context: SimulatorContext) {
    traffic = ServiceTraffic(context, of: Self.service)
    tokenEndpoint = TokenEndpoint(context)
    state = Mutex(
      FCMServerState(
        rules: rules, tokenRules: tokenEndpoint.rules, trustsUnknownKeys: context.settings.trustsUnknownKeys))
  }

  /// The reply to a message that was received completely.
  func reply(to request: FCMRequest, connection: Int, stream: Int) -> Reply {
    let now = traffic.now()
    let (reply, account) = state.withLock { ($0.reply(to: request, now: now), $0.account(of: request)) }
    let message = request.message
    let received = traffic.log.append { number in
      ReceivedRequest(
        number: number, connection: connection, stream: stream, at: Date(), project: request.project,
        account: account, token: message.token, payload: request.body, message: .object(message.fields),
        validateOnly: message.validateOnly, reply: reply, headers: request.headers)
    }
    if received.isAccepted, !received.token.isEmpty {
      traffic.show(received)
    }
    return reply
  }

  /// The reply to a token request that was received completely, and the access token that it issues.
  func reply(to request: AccessTokenRequest) -> (Reply, issued: String) {
    let now = traffic.now()
    let (reply, issued) = state.withLock { $0.reply(to: request, now: now) }
    tokenEndpoint.received(AccessTokenRequest.path, client: request.clientEmail, reply)
    return (reply, issued)
  }
}

// MARK: - Accounts and tokens

extension SimulatedFCM {
  /// Registers a service account, so that it gets access tokens, for its own project only. Registered again, it has a new key.
  /// - Parameter keyFile: the JSON text of its key file; only the public half is kept.
  /// - Throws: if `keyFile` is no key file of a service account.
  public func register(keyFile: String) throws {
    let account = try RegisteredAccount(keyFile: keyFile)
    state.withLock { $0.accounts[account.clientEmail] = account }
  }

  /// Registers a service account by its key file.
  public func register(_ account: ServiceAccount) throws { try register(keyFile: account.keyFile) }

  /// Forgets a service account, as when it is deleted at Google.
  public func remove(clientEmail: String) {
    state.withLock { $0.accounts[clientEmail] = nil }
  }

  /// Makes all access tokens issued so far invalid: they get 401.
  public func revokeAccessTokens() {
    state.withLock { $0.revokeAccessTokens() }
  }

  /// Restricts a registration token to a project; another one's messages to it get SENDER_ID_MISMATCH.
  public func restrict(token: String, to project: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].project = project }
  }

  /// Makes a registration token invalid: it gets UNREGISTERED, as after an app was deleted.
  public func unregister(token: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].isUnregistered = true }
  }
}

// MARK: - Where it is, and who may sign in

extension SimulatedFCM {
  static let ports = [
    SimulatedPort(option: "fcm-port", usual: 8445, help: "FCM and Google's token endpoint", name: "FCM")
  ]
  static let testTokenTable: TestTokenTable? =
    testTokens.listed("And of FCM:")
  static let trustOptions = [
    TrustOption.serviceAccount("Google's") { simulator, keyFile in try simulator.fcm.register(keyFile: keyFile) }
  ]

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(on: port, traffic.connections) { FCMServerConnection(fcm: self, number: $0) }
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.fcmURL, simulator.fcmURL), (.googleTokenURL, simulator.googleTokenURL)]
  }

  func sample(
    _ simulator: PushSimulator, keep: (_ file: String, _ make: () throws -> String) throws -> String
  ) throws -> SampleApp? {
    let keyFile = try keep("service-account.json") { try simulator.issueServiceAccount(projectID: "sample-shop") }
    try register(keyFile: keyFile)
    return SampleApp(suffix: ".android", type: .firebase, credentials: [.serviceAccount: keyFile], every: 5, from: 2) {
      person, _ in
      SampleApp.device(
        .firebase, token: "sample-\(person):APA91b" + SampleApp.token("android", person), manufacturer: "Google",
        models: ["Pixel 8", "Pixel 9", "Pixel 9a"], person: person, osVersion: "\(14 + person % 3)")
    }
  }
}

extension PushSimulator {
  /// Firebase Cloud Messaging, with Google's token endpoint.
  public var fcm: SimulatedFCM { service() }
  /// `https://localhost:8445`, say; empty before `start`.
  public var fcmURL: String { url(at: SimulatedFCM.ports[0]) }
  /// Google's token endpoint: `https://localhost:8445/token`, say.
  public var googleTokenURL: String { fcmURL + AccessTokenRequest.path }

  /// Registers a service account of that project with the simulated FCM, and returns its key file. Call it after `start`, since
  /// the file has the address of the token endpoint.
  /// - Parameter clientEmail: nil for a name in the project.
  /// - Throws: if no RSA key can be made.
  public func issueServiceAccount(
    projectID: String = "acme-shop", clientEmail: String? = nil
  ) throws -> String {
    let account = try SimulatedFCM.ServiceAccount(
      projectID: projectID, clientEmail: clientEmail, tokenURL: googleTokenURL)
    try fcm.register(account)
    return account.keyFile
  }
}
