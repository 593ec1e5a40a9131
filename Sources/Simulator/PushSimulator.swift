public import FoundationEssentials
public import Logging
public import ServiceLifecycle
import Synchronization

/// Stand-ins for push services on this machine, and a page that shows what a phone would.
///
/// The hub is pointed at it by `PUSHCART_APNS_PRODUCTION_URL`, `PUSHCART_APNS_SANDBOX_URL` and
/// `PUSHCART_PROVIDER_CA_FILE`.
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

  /// - Parameter now: the clock that provider tokens are judged by.
  public init(
    _ settings: SimulatorSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.settings = settings
    self.logger = logger
    apns = SimulatedAPNs(settings, now: now)
  }

  /// Takes up the certificate authority in `caFile`, or makes one and writes it there, and listens. After it the addresses are
  /// known.
  /// - Throws: if the file cannot be written or a port cannot be bound.
  public func start() async throws {
    let authority = try AuthorityFiles(certificate: settings.caFile).authority()
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
      phone = try await PhoneServer(apns, host: settings.host, port: port, addresses: addresses, logger: logger)
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

  /// Stops listening, and cuts all connections.
  public func stop() async {
    guard let running = running.withLock({ running in exchange(&running, with: nil) }) else { return }
    await running.production.close()
    await running.sandbox.close()
    apns.cut()
    await running.phone?.stop()
  }

  /// Starts, unless that was done, waits for graceful shutdown or cancellation, and stops.
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
  /// Where the certificate authority's certificate is.
  public var caFile: String { settings.caFile }

  private func url(of listener: (Running) -> APNsListener) -> String {
    running.withLock { $0.map { "https://\(settings.name):\(listener($0).port)" } ?? "" }
  }
}
