import Retrying
import Crypto
import Hybrid
public import FoundationEssentials
import NIOSSL
@testable public import Providers
public import Registry
@testable public import Simulator
public import Wire

/// Runs `body` with a Simulator of its own, on ports of its own, which knows the key of `APNsCredentials.sample`.
/// - Parameter configure: changes the settings first.
public func withSimulator<Answer: Sendable>(
  now: @escaping @Sendable () -> Date = { Date() },
  configure: (inout SimulatorSettings) -> Void = { _ in },
  _ body: (PushSimulator) async throws -> Answer
) async throws -> Answer {
  let directory = FileManager.default.temporaryDirectory.appending(path: "pushcart-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: directory) }
  var settings = SimulatorSettings(caFile: directory.appending(path: "ca.pem").path)
  settings.ports = Dictionary(uniqueKeysWithValues: PushSimulator.ports.map { ($0.option, 0) })
  settings.phonePort = nil
  configure(&settings)
  let simulator = try PushSimulator(settings, logger: TestServer.logger, now: now)
  let sample = APNsCredentials.sample
  try simulator.apns.trust(teamID: sample.teamID, keyID: sample.keyID, signingKey: sample.signingKey)
  try await simulator.start()
  do {
    let answer = try await body(simulator)
    await simulator.stop()
    return answer
  } catch {
    await simulator.stop()
    throw error
  }
}

/// Runs `body` with a Simulator of its own and a provider that sends to it.
public func withAPNs<Answer: Sendable>(
  now: @escaping @Sendable () -> Date = { Date() },
  simulator configureSimulator: (inout SimulatorSettings) -> Void = { _ in },
  provider configureProvider: (inout PushServiceSettings) -> Void = { _ in },
  _ body: (PushSimulator, PushServices) async throws -> Answer
) async throws -> Answer {
  try await withSimulator(now: now, configure: configureSimulator) { simulator in
    var settings = PushServiceSettings(simulator)
    configureProvider(&settings)
    return try await withProvider(settings, now: now) { try await body(simulator, $0) }
  }
}

/// Runs `body` with a provider of its own.
public func withProvider<Answer: Sendable>(
  _ settings: PushServiceSettings, tokens: (any ProviderTokenStore)? = nil,
  now: @escaping @Sendable () -> Date = { Date() },
  _ body: (PushServices) async throws -> Answer
) async throws -> Answer {
  // Tests that set the time let both clocks pass together.
  let (start, begun) = (ContinuousClock.now, now())
  let provider = try PushServices(
    settings, tokens: tokens, logger: TestServer.logger, smsReference: SMSStatusAddresses.signing.signed,
    pin: PINs.ofTests.pin, now: now,
    clock: { start + .seconds(now().timeIntervalSince(begun)) })
  do {
    let answer = try await body(provider)
    await provider.shutDown()
    return answer
  } catch {
    await provider.shutDown()
    throw error
  }
}

extension PushServiceName {
  /// Whether apps sign in to it with access tokens.
  public var takesAccessTokens: Bool { table.accessTokens != nil }
}

extension PushSimulator {
  /// What stands in for a service.
  public func simulated(_ name: PushServiceName) -> any SimulatedService {
    guard let service = services.first(where: { type(of: $0).service == name }) else {
      preconditionFailure("\(name) is not simulated")
    }
    return service
  }

  /// How often apps signed in to a service.
  public func signIns(_ name: PushServiceName) -> Int {
    (simulated(name) as? any TokenIssuingService)?.tokenRequestCount ?? 0
  }

  /// Makes the account unknown that apps of tests sign in with.
  /// - Returns: a word of the reason for which it is refused.
  public func forgetAccount(of type: AppType) -> String {
    switch type {
    case .firebase:
      fcm.remove(clientEmail: "push@acme-shop.iam.gserviceaccount.com")
      return "invalid_grant"
    case .huawei:
      hms.remove(clientID: "104567891")
      return "1101"
    case .windows:
      wns.remove("ms-app://s-1-15-2-7")
      return "invalid_client"
    case .ios, .android, .web, .sms: preconditionFailure("no access token is needed for \(type)")
    }
  }
}

extension PushServiceSettings {
  /// Points at a Simulator, loses no time over lost connections, and all the timeout of a slow machine for answers.
  /// - Parameter isPatient: false gives pushes back as soon as a connection cannot be had.
  public init(_ simulator: PushSimulator, isPatient: Bool = true) {
    self.init()
    for (setting, value) in simulator.serviceSettings {
      if case .hosts = setting.kind { continue }
      self[setting] = value
    }
    endpoints = EndpointRules(simulator)
    caFile = simulator.caFile
    reconnect.first = .milliseconds(1)
    connectTimeout = .seconds(600)
    requestTimeout = .seconds(600)
    untrustedTimeout = .seconds(600)
    placeTimeout = .seconds(600)
    queueTimeout = .seconds(600)
    connectAttempts = 100
    overtakenTimeout = .seconds(600)
    pingWhenWaiting = .seconds(600)
    pingTimeout = .seconds(600)
    if !isPatient { connectAttempts = 1 }
  }

  /// A file with a certificate authority that nobody uses, to trust where nobody is to be reached: the system's take long to read.
  public static let unusedCAFile = Result {
    let file = "\(try TemporaryDirectory(named: "authority").path)/ca.pem"
    _ = try CertificateAuthority.stored(in: file)
    return file
  }
}

extension EndpointRules {
  /// The hosts of a Simulator alone, which have a private address.
  public init(_ simulator: PushSimulator) {
    self.init()
    wns.listed = HostList(simulator.wnsHost)
    webPush.listed = HostList(simulator.webPushHost)
    // Nothing listens at port 1.
    sms.listed = HostList("\(simulator.smsHost), 127.0.0.1:1")
  }
}

extension APNsCredentials {
  /// A key made for this run of the tests; every `withSimulator` knows it.
  public static let sample = APNsCredentials(
    teamID: "TEAM123456", keyID: "KEY1234567", signingKey: P256.Signing.PrivateKey().pemRepresentation)

  /// What an app with the key is added with.
  public var fields: PushServiceFields {
    PushServiceFields([.teamID: Secret(teamID), .keyID: Secret(keyID), .signingKey: Secret(signingKey)])
  }

  /// A key that no Simulator knows.
  public static func fresh(teamID: String = "TEAM123456", keyID: String = "KEY1234567") -> APNsCredentials {
    APNsCredentials(teamID: teamID, keyID: keyID, signingKey: P256.Signing.PrivateKey().pemRepresentation)
  }
}

extension APNsPush {
  /// A push that every Simulator accepts.
  public static func sample(
    token: String = String(repeating: "ab", count: 32), alert: String = "Hello", pushType: PushType = .alert
  ) -> APNsPush {
    APNsPush(
      token: token, topic: "com.acme.app", id: UUID(), pushType: pushType,
      payload: Array(#"{"aps":{"alert":"\#(alert)"}}"#.utf8))
  }

  /// So many pushes to as many devices.
  public static func samples(_ count: Int) -> [APNsPush] {
    (0..<count).map { number in
      let digits = String(number, radix: 16)
      return sample(token: String(repeating: "0", count: 64 - digits.utf8.count) + digits)
    }
  }
}

extension PushServices {
  /// Sends pushes that have APNs' form already; see `PushAccount.send`.
  public func send(
    _ pushes: [APNsPush], to environment: PushEnvironment, as credentials: APNsCredentials,
    while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    let refused = pushes.indices.compactMap { index in
      pushes[index].refusal.map { PushOutcome(index: index, verdict: $0, sentAt: nil) }
    }
    let owner = TokenOwner(customer: CustomerID(1), credentials: credentials)
    return apns.send(pushes.map(\.request), refused: refused, to: environment, as: owner, while: isWanted)
  }

  /// Asks APNs whether it accepts a key for a topic; see `PushAccount.check`.
  public func check(
    topic: String, environment: PushEnvironment, credentials: APNsCredentials
  ) async -> CredentialVerdict {
    await account(appID: topic, of: CustomerID(1), credentials: credentials.shared).check(environment)
  }

  /// Sends, and returns the verdicts in the order of the pushes.
  public func verdicts(
    _ pushes: [APNsPush], to environment: PushEnvironment = .production, as credentials: APNsCredentials = .sample
  ) async -> [Verdict?] {
    await send(pushes, to: environment, as: credentials).verdicts(of: pushes.count)
  }
}

extension AsyncStream<[PushOutcome]> {
  /// The verdicts of so many pushes, in their order; nil for those without an outcome.
  public func verdicts(of count: Int) async -> [Verdict?] {
    var verdicts = [Verdict?](repeating: nil, count: count)
    for await outcomes in self {
      for outcome in outcomes {
        precondition(verdicts[outcome.index] == nil, "push \(outcome.index) has two outcomes")
        verdicts[outcome.index] = outcome.verdict
      }
    }
    return verdicts
  }
}

extension PushCertificate {
  /// What is in a .p12 file of `PushSimulator.issuePushCertificate`.
  public init(p12: [UInt8], password: String = "secret", topics: [String] = ["com.acme.app"]) throws {
    let bundle = try NIOSSLPKCS12Bundle(buffer: p12, passphrase: Array(password.utf8))
    self.init(
      name: "Apple Push Services: \(topics[0])", topics: topics, isForDevelopment: true, isForProduction: true,
      chain: try bundle.certificateChain.map { Data(try $0.toDERBytes()) },
      privateKey: Data(try bundle.privateKey.derBytes))
  }
}
