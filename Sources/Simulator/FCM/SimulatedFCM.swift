import FoundationEssentials
import Locking
public import Wire

/// A simulation of Firebase Cloud Messaging's HTTP v1 API, with the token endpoint of Google's sign-in.
///
/// It answers as Google documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedFCM: SignInService {
  static let service = PushServiceName.fcm
  static let contentType = "application/json; charset=UTF-8"

  /// What FCM read of a request.
  public struct Details: Sendable {
    /// The project in the address.
    public let project: String
    /// The `client_email` of the account that its access token was issued to; nil without such a token.
    public let account: String?
    /// The registration token, or the installation's id; empty for a topic or a condition.
    public let token: String
    /// The object `message`, with its names in snake_case and without what did not fit.
    public let message: JSONValue
    /// Whether nothing was to be delivered.
    public let validateOnly: Bool
  }

  public let traffic: ServiceTraffic<Details, Refusal>
  private let state = Mutex(FCMState())

  init(_ context: SimulatorContext) { traffic = Self.traffic(context) }

  /// The checks come first; then test tokens; then the rules.
  func answerPush(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    let request = FCMRequest(incoming)
    let message = request.message
    let (now, access) = (traffic.now(), request.bearer.flatMap { traffic.tokenEndpoint[$0] })
    let refusal = state.withLock { $0.refusal(of: request, access, now: now) }
    let reply =
      refusal.map(Reply.refuse) ?? selectedReply(to: message.token, project: request.project, now: now) ?? .accept
    let details = Details(
      project: request.project, account: access?.client, token: message.token, message: .object(message.fields),
      validateOnly: message.validateOnly)
    let received = traffic.log(incoming, details, reply, isTest: message.validateOnly)
    if received.isAccepted, !message.token.isEmpty {
      traffic.show(on: Self.phone, message.token) { PhonePush(received, number: $0) }
    }
    // FCM names no message that was only validated.
    let id = message.validateOnly ? "fake_message_id" : "0:\(UUID().uuidString)"
    let name = String(decoding: JSONText.quoted("projects/\(request.project)/messages/\(id)"), as: UTF8.self)
    return SimulatedAnswer(reply: reply) {
      $0?.response ?? SimulatedResponse(#"{"name":\#(name)}"#, contentType: Self.contentType)
    }
  }

  func check(_ request: GoogleTokenRequest, now: Date) -> (refusal: Refusal?, project: String?) {
    let account = state.withLock { $0.accounts[request.client] }
    let refusal = request.refusal(account: account, trustsUnknownKeys: traffic.trustsUnknownKeys, now: now)
    return (refusal, account?.projectID)
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
  public func revokeAccessTokens() { traffic.tokenEndpoint.revokeAll() }

  /// Restricts a registration token to a project; another one's messages to it get SENDER_ID_MISMATCH.
  public func restrict(token: String, to project: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].project = project }
  }

  /// Makes a registration token invalid: it gets UNREGISTERED, as after an app was deleted.
  public func unregister(token: String) {
    state.withLock { $0.tokens[token, default: KnownRegistration()].isUnregistered = true }
  }
}

// MARK: - Test tokens

extension SimulatedFCM {
  static let testTokens = TestTokens<Refusal>(
    "And of FCM:",
    [
      .init("fade0400", "400 INVALID_ARGUMENT", .invalidToken),
      .init("fade0401", "401 THIRD_PARTY_AUTH_ERROR", .thirdPartyAuth),
      .init("fade0403", "403 SENDER_ID_MISMATCH", .senderIDMismatch),
      .init("fade0404", "404 UNREGISTERED", .unregistered),
      .init("fade0429", "429 QUOTA_EXCEEDED", .quotaExceeded()),
      .init("fade1429", "429 QUOTA_EXCEEDED, retry-after a minute", .quotaExceeded(retryAfter: "60")),
      .init("fade0500", "500 INTERNAL", .internal),
      .init("fade0503", "503 UNAVAILABLE", .unavailable()),
      .init("fade1503", "503 UNAVAILABLE, retry-after a second", .unavailable(retryAfter: "1")),
    ])
}

// MARK: - Where it is, and who may sign in

extension SimulatedFCM {
  static let ports = [
    SimulatedPort(option: "fcm-port", usual: 8445, help: "FCM and Google's token endpoint", name: "FCM")
  ]
  static let matchMembers: Set<RuleBody.CodingKeys> = [.project]
  static let trustOptions = [
    TrustOption.serviceAccount("Google's") { simulator, keyFile in try simulator.fcm.register(keyFile: keyFile) }
  ]

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.fcmURL, simulator.fcmURL), (.googleTokenURL, simulator.googleTokenURL)]
  }

  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? {
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
  public var googleTokenURL: String { fcmURL + GoogleTokenRequest.path }

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
