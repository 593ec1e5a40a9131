import Crypto
public import FoundationEssentials
import Locking
import Wire

/// A simulation of Apple's push service: keys and tokens it knows, rules for its replies, and the requests it received.
///
/// It answers as APNs documents it, over the same HTTP/2. No real phone gets anything; the phone page shows the pushes.
public final class SimulatedAPNs: SteerableService {
  static let service = PushServiceName.apns
  public typealias Refusal = APNsRefusal

  /// The environment of a listener, and of a device token.
  public enum Environment: String, Sendable, Hashable, Codable, CaseIterable {
    case production
    case sandbox
  }

  /// What APNs read of a request.
  public struct Details: Sendable {
    public let environment: Environment
    /// The device token in lower case.
    public let token: String
  }

  public let traffic: ServiceTraffic<Details, Refusal>
  private let file: RequestFile?
  private let state: Mutex<APNsState>

  /// - Throws: if the file of requests cannot be written.
  init(_ context: SimulatorContext) throws {
    traffic = Self.traffic(context)
    file = try context.settings.apnsRequestsFile.map { try RequestFile($0, logger: context.logger) }
    state = Mutex(APNsState(trustsUnknownKeys: context.settings.trustsUnknownKeys))
  }

  /// The reply to a request. The checks come first, in APNs' order; then test tokens; then the rules.
  func reply(to request: APNsRequest, on connection: inout ConnectionAuthentication) -> Reply {
    let now = traffic.now()
    if let refusal = state.withLock({ $0.refusal(of: request, on: &connection, now: now) }) { return .refuse(refusal) }
    return selectedReply(to: request.token, environment: request.environment, now: now) ?? .accept
  }

  /// Logs a request for tests, in the file of requests and, if it is accepted, for the phone page.
  func log(_ incoming: IncomingRequest, _ request: APNsRequest, _ reply: Reply) {
    let received = traffic.log(incoming, Details(environment: request.environment, token: request.token), reply)
    file?.append(received)
    if received.isAccepted { traffic.show(on: Self.phone, request.token) { PhonePush(received, number: $0) } }
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

// MARK: - Where it is, and who may sign in

extension SimulatedAPNs {
  private static let production = SimulatedPort(
    option: "apns-port", usual: 8443, help: "APNs, production", name: "APNs")
  private static let sandbox = SimulatedPort(
    option: "apns-sandbox-port", usual: 8444, help: "APNs, sandbox", name: "APNs sandbox")
  static let ports = [production, sandbox]
  static let matchMembers: Set<RuleBody.CodingKeys> = [.environment]
  static let trustOptions = [
    TrustOption(
      name: "trust", valueName: "team/key=file", idCount: 2, help: ("Signing key of ", "APNs", " to trust"),
      refusal: { _ in "is not a signing key. Give the .p8 file that Apple issued." }
    ) { try $0.apns.trust(teamID: $1[0], keyID: $1[1], signingKey: $2) }
  ]

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    let environment: Environment = port.option == Self.sandbox.option ? .sandbox : .production
    return try await host.listen(on: port, traffic.connections, asksForCertificate: true) {
      APNsServerConnection(self, environment: environment, authority: host.authority)
    }
  }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.apnsProductionURL, simulator.productionURL), (.apnsSandboxURL, simulator.sandboxURL)]
  }

  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? {
    let (teamID, keyID) = ("SAMPLETEAM", "SAMPLEKEY0")
    let key = try keep("AuthKey_\(keyID).p8") { P256.Signing.PrivateKey().pemRepresentation }
    try trust(teamID: teamID, keyID: keyID, signingKey: key, topics: [SampleApp.appID])
    return SampleApp(type: .ios, credentials: [.teamID: teamID, .keyID: keyID, .signingKey: key])
  }
}

extension PushSimulator {
  /// Apple's push service.
  public var apns: SimulatedAPNs { service() }
  /// `https://localhost:8443`, say; empty before `start`.
  public var productionURL: String { url(at: SimulatedAPNs.ports[0]) }
  /// `https://localhost:8444`, say; empty before `start`.
  public var sandboxURL: String { url(at: SimulatedAPNs.ports[1]) }

  /// Makes the .p12 file of a push certificate that the simulated APNs trusts. Call it after `start`.
  /// - Parameters:
  ///   - topics: the bundle id first.
  ///   - notAfter: when it expires.
  /// - Throws: if there is no certificate authority yet.
  public func issuePushCertificate(
    topics: [String] = ["com.acme.app"], environments: Set<SimulatedAPNs.Environment> = [.production],
    until notAfter: Date = Date().addingTimeInterval(365 * 86_400), password: String = "secret"
  ) throws -> [UInt8] {
    try CertificateAuthority.stored(in: caFile).pushCertificate(
      topics: topics, environments: environments, until: notAfter, password: password, now: Date())
  }
}
