public import FoundationEssentials
public import Logging
public import ServiceLifecycle
import Synchronization

/// Simulates push services on this machine, with a page that shows what a phone would.
///
/// A hub uses it by `PUSHCART_APNS_PRODUCTION_URL`, `PUSHCART_APNS_SANDBOX_URL` and `PUSHCART_PROVIDER_CA_FILE`.
public final class PushSimulator: Service {
  /// Apple's push service.
  public let apns: SimulatedAPNs
  private let settings: SimulatorSettings
  private let logger: Logger
  private let running = Mutex<Running?>(nil)

  private struct Running {
    var production: APNsListener
    var sandbox: APNsListener
    var phone: PhoneServer?
  }

  /// - Parameter now: the clock by which provider tokens expire.
  public init(
    _ settings: SimulatorSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.settings = settings
    self.logger = logger
    apns = SimulatedAPNs(settings, now: now)
  }

  /// Loads the certificate authority from `caFile`, or writes a new one there, and listens. Then the addresses are known.
  /// - Throws: if the file cannot be written or a port cannot be bound.
  public func start() async throws {
    let authority = try CertificateAuthority.stored(in: settings.caFile)
    let certificate = try authority.serverContext(name: settings.name)
    let production = try await APNsListener(
      apns, environment: .production, host: settings.host, port: settings.productionPort, certificate: certificate)
    let sandbox = try await APNsListener(
      apns, environment: .sandbox, host: settings.host, port: settings.sandboxPort, certificate: certificate)
    var phone: PhoneServer?
    if let port = settings.phonePort {
      let addresses = [
        ("PUSHCART_APNS_PRODUCTION_URL", "https://\(settings.name):\(production.port)"),
        ("PUSHCART_APNS_SANDBOX_URL", "https://\(settings.name):\(sandbox.port)"),
        ("PUSHCART_PROVIDER_CA_FILE", settings.caFile),
      ]
      phone = try await PhoneServer(apns, settings, port: port, addresses: addresses, logger: logger)
    }
    let started = Running(production: production, sandbox: sandbox, phone: phone)
    running.withLock { $0 = started }
    logger.info(
      "Simulator listening",
      metadata: [
        "production": "\(productionURL)", "sandbox": "\(sandboxURL)", "phone": "\(phoneURL ?? "none")",
        "ca_file": "\(settings.caFile)",
      ])
  }

  /// Stops listening, and closes all connections.
  public func stop() async {
    guard let running = running.withLock({ running in exchange(&running, with: nil) }) else { return }
    await running.production.close()
    await running.sandbox.close()
    apns.cut()
    await running.phone?.stop()
  }

  /// Starts unless already started, waits for graceful shutdown or cancellation, and stops.
  public func run() async throws {
    if running.withLock({ $0 == nil }) { try await start() }
    try? await gracefulShutdown()
    await stop()
  }

  /// `https://localhost:8443`, say; empty before `start`.
  public var productionURL: String { url { $0.production } }
  /// `https://localhost:8444`, say; empty before `start`.
  public var sandboxURL: String { url { $0.sandbox } }
  /// `http://localhost:8081`, say; nil without a phone page.
  public var phoneURL: String? {
    running.withLock { $0?.phone?.port }.map { "http://\(settings.name):\($0)" }
  }
  /// File of the certificate authority's certificate.
  public var caFile: String { settings.caFile }

  private func url(of listener: (Running) -> APNsListener) -> String {
    running.withLock { $0.map { "https://\(settings.name):\(listener($0).port)" } ?? "" }
  }
}

/// Where the Simulator listens and what it accepts.
public struct SimulatorSettings: Sendable {
  /// The address to bind.
  public var host = "127.0.0.1"
  /// The name in the URLs that are shown; `localhost`, 127.0.0.1 and ::1 are always in the certificate.
  public var name = "localhost"
  /// APNs, production; 0 for any free port.
  public var productionPort = 8443
  /// APNs, sandbox; 0 for any free port.
  public var sandboxPort = 8444
  /// The phone page; 0 for any free port, nil for no phone page.
  public var phonePort: Int? = 8081
  /// Further names under which the phone page may be opened, without port.
  public var phoneNames: [String] = []
  /// File of the certificate authority's certificate, in PEM: `PUSHCART_PROVIDER_CA_FILE` of the hub. Its key is in
  /// `<caFile>.key`, readable by its owner alone.
  public var caFile: String
  /// Most open streams of a connection after its first accepted provider token; before that it is one.
  public var streamLimit = 1000
  /// Requests kept; older ones are dropped.
  public var requestsKept = 2000
  /// Whether provider tokens of unregistered keys are accepted without a check of their signature, to try things out with any
  /// key.
  public var trustsUnknownKeys = false

  public init(caFile: String) { self.caFile = caFile }
}
