public import Logging
public import ServiceLifecycle
public import FoundationEssentials
import Locking
public import Wire

/// Simulates push services on this machine, with a page that shows what a phone would.
///
/// A hub uses it by the settings that `addresses` lists. Each service is a folder, which adds what it has to offer.
public final class PushSimulator: Service {
  /// Every service, in the order in which people read them.
  static let kinds = PushServiceName.allCases.map(\.simulated)
  /// Where they listen, in the same order.
  public static let ports = kinds.flatMap { $0.ports } + [SimulatedWebhooks.port]

  let settings: SimulatorSettings
  let services: [any SteerableService]
  /// The back end that hubs tell of events.
  public let webhooks: SimulatedWebhooks
  private let phoneLog: RequestLog<PhoneEntry>
  private let logger: Logger
  private let running = Mutex<Running?>(nil)
  private let site = Mutex<SampleSite?>(nil)

  private struct Running {
    /// By the options of their ports.
    var listeners: [String: ServiceListener] = [:]
    var phone: PhoneServer?
    /// Opens pages.
    var opening: Task<Void, Never>?
  }

  /// - Parameter now: the clock by which provider tokens and access tokens expire.
  /// - Throws: if the file of requests cannot be written.
  public init(
    _ settings: SimulatorSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.settings = settings
    self.logger = logger
    phoneLog = RequestLog(keeping: settings.requestsKept)
    let context = SimulatorContext(
      settings: settings, phoneLog: settings.phonePort == nil ? nil : phoneLog, logger: logger, now: now)
    services = try Self.kinds.map { try $0.init(context) }
    webhooks = SimulatedWebhooks(context)
  }

  /// Loads the certificate authority from `caFile`, or writes a new one there, and listens. Then the addresses are known.
  /// - Throws: if the file cannot be written or a port cannot be bound.
  public func start() async throws {
    let host = ListeningHost(settings: settings, authority: try CertificateAuthority.stored(in: settings.caFile))
    var listeners: [String: ServiceListener] = [:]
    for service in services {
      for port in type(of: service).ports { listeners[port.option] = try await service.listen(on: port, host) }
    }
    try await webhooks.start(host)
    let started = Running(listeners: listeners)
    running.withLock { $0 = started }
    for service in services { service.started(self) }
    if let port = settings.phonePort {
      let phone = try await PhoneServer(
        services, webhooks, phoneLog, settings, port: port, addresses: addresses, site: { self.site.withLock { $0 } },
        logger: logger)
      running.withLock { $0?.phone = phone }
    }
    if let opens = settings.opens {
      let pushes = phoneLog.watch(replay: 0)
      let opening = Task { [logger] in await opens.run(pushes, logger: logger) }
      running.withLock { $0?.opening = opening }
    }
    let all = addresses + [("phone", phoneURL ?? "none")]
    logger.info(
      "Simulator listening",
      metadata: Dictionary(uniqueKeysWithValues: all.map { ($0.variable, .string($0.value)) }))
  }

  /// Stops listening, and closes all connections.
  public func stop() async {
    guard let running = running.withLock({ running in exchange(&running, with: nil) }) else { return }
    running.opening?.cancel()
    for listener in running.listeners.values { await listener.close() }
    for service in services {
      service.cut()
      service.stopped()
    }
    await webhooks.stop()
    await running.phone?.stop()
  }

  /// Starts unless already started, waits for graceful shutdown or cancellation, and stops.
  public func run() async throws {
    if running.withLock({ $0 == nil }) { try await start() }
    try? await gracefulShutdown()
    await stop()
  }

  /// The service of that type.
  func service<Simulated: SteerableService>() -> Simulated {
    for case let service as Simulated in services { return service }
    preconditionFailure("\(Simulated.self) is not simulated")
  }

  /// `https://localhost:8443`, say; empty before `start`.
  func url(at port: SimulatedPort) -> String {
    running.withLock { $0?.listeners[port.option] }.map { "https://\(settings.name):\($0.port)" } ?? ""
  }

  /// `http://localhost:8081`, say; nil without a phone page.
  public var phoneURL: String? {
    running.withLock { $0?.phone?.port }.map { "http://\(settings.name):\($0)" }
  }

  /// Gives the sample page an app of a hub.
  public func serve(_ site: SampleSite) { self.site.withLock { $0 = site } }

  /// File of the certificate authority's certificate.
  public var caFile: String { settings.caFile }

  /// The settings about push services that point a hub here.
  public var serviceSettings: [(setting: ServiceSetting, value: String)] { services.flatMap { $0.settings(self) } }

  /// The settings that point a hub here, by their names in its environment.
  public var addresses: [(variable: String, value: String)] {
    serviceSettings.map { ($0.setting.variable, $0.value) } + [("PUSHCART_PROVIDER_CA_FILE", caFile)]
  }

  /// The apps of a private hub, whose accounts the services know from now on. Call it after `start`.
  public func samples(keep: KeptFile) throws -> [SampleApp] {
    try services.compactMap { try $0.sample(self, keep: keep) }
  }
}

extension PushServiceName {
  /// What stands in for the service.
  fileprivate var simulated: any SteerableService.Type {
    switch self {
    case .apns: SimulatedAPNs.self
    case .fcm: SimulatedFCM.self
    case .hms: SimulatedHMS.self
    case .wns: SimulatedWNS.self
    case .webpush: SimulatedWebPush.self
    case .sms: SimulatedSMS.self
    }
  }
}

/// Where the Simulator listens and what it accepts.
public struct SimulatorSettings: Sendable {
  /// The address to bind.
  public var host = "127.0.0.1"
  /// The name in the URLs that are shown; `localhost`, 127.0.0.1 and ::1 are always in the certificate.
  public var name = "localhost"
  /// Ports other than the usual ones, by the options of `PushSimulator.ports`; 0 for any free port.
  public var ports: [String: Int] = [:]
  /// What WNS lets TLS choose from, the preferred one first; empty for HTTP/1.1 without a choice.
  public var wnsProtocols = ["http/1.1", "h2"]
  /// Whether providers of SMS speak http, and no https.
  public var smsIsPlain = false
  /// Where a report that each message of CM was delivered goes by itself, an http address; Twilio's go where each message says. Nil for
  /// no reports but those that are asked for.
  public var smsStatusURL: String?
  /// The phone page; 0 for any free port, nil for no phone page.
  public var phonePort: Int? = 8081
  /// Whose pages are opened by themselves, where there is a phone page; nil for none.
  public var opens: PhoneOpens?
  /// Further names under which the phone page may be opened, without port.
  public var phoneNames: [String] = []
  /// File of the certificate authority's certificate, in PEM: `PUSHCART_PROVIDER_CA_FILE` of the hub. Its key is in
  /// `<caFile>.key`, readable by its owner alone.
  public var caFile: String
  /// Most open streams of a connection to a service; 100 where none is named. APNs allows them after the first accepted provider token,
  /// and one before.
  public var streamLimits: [PushServiceName: Int] = [.apns: 1000]
  /// Requests kept; older ones are dropped.
  public var requestsKept = 2000
  /// File that gets a line for each request to APNs: connection, stream, device token, `apns-id` and reply, separated by tabs.
  public var apnsRequestsFile: String?
  /// Whether provider tokens of unregistered keys, and JWTs of unregistered service accounts, are accepted without a check of
  /// their signature, to try things out with any key.
  public var trustsUnknownKeys = false

  public init(caFile: String) { self.caFile = caFile }
}
