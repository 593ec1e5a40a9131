public import FoundationEssentials
public import Logging
public import ServiceLifecycle
import NIOCore
import NIOSSL
import Locking

/// Simulates push services on this machine, with a page that shows what a phone would.
///
/// A hub uses it by the settings that `addresses` lists.
public final class PushSimulator: Service {
  /// Apple's push service.
  public let apns: SimulatedAPNs
  /// Firebase Cloud Messaging, with Google's token endpoint.
  public let fcm: SimulatedFCM
  /// Huawei's Push Kit, with its token endpoint.
  public let hms: SimulatedHMS
  /// Windows' push service, with both of its token endpoints.
  public let wns: SimulatedWNS
  /// Mozilla's push service for browsers.
  public let webPush: SimulatedWebPush
  /// Providers of SMS and of calls: CM and Twilio.
  public let sms: SimulatedSMS
  private let phoneLog: RequestLog<PhoneEntry>
  private let settings: SimulatorSettings
  private let logger: Logger
  private let running = Mutex<Running?>(nil)
  private let site = Mutex<SampleSite?>(nil)

  private struct Running {
    var production: ServiceListener
    var sandbox: ServiceListener
    var fcm: ServiceListener
    var hms: ServiceListener
    var wns: ServiceListener
    var webPush: ServiceListener
    var sms: ServiceListener
    var phone: PhoneServer?
  }

  /// - Parameter now: the clock by which provider tokens and access tokens expire.
  /// - Throws: if the file of requests cannot be written.
  public init(
    _ settings: SimulatorSettings, logger: Logger, now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.settings = settings
    self.logger = logger
    phoneLog = RequestLog(keeping: settings.requestsKept)
    let shown = settings.phonePort == nil ? nil : phoneLog
    apns = SimulatedAPNs(
      settings, phoneLog: shown, file: try settings.apnsRequestsFile.map { try RequestFile($0, logger: logger) },
      now: now)
    fcm = SimulatedFCM(settings, phoneLog: shown, now: now)
    hms = SimulatedHMS(settings, phoneLog: shown, now: now)
    wns = SimulatedWNS(settings, phoneLog: shown, now: now)
    webPush = SimulatedWebPush(settings, phoneLog: shown, now: now)
    sms = SimulatedSMS(settings, phoneLog: shown)
  }

  /// Loads the certificate authority from `caFile`, or writes a new one there, and listens. Then the addresses are known.
  /// - Throws: if the file cannot be written or a port cannot be bound.
  public func start() async throws {
    let authority = try CertificateAuthority.stored(in: settings.caFile)
    let certificate = try authority.serverContext(name: settings.name)
    let apple = try authority.serverContext(name: settings.name, asksForCertificate: true)
    let microsoft = try authority.serverContext(name: settings.name, protocols: settings.wnsProtocols)
    func listen<Connection: ServiceConnection>(
      on port: Int, _ certificate: NIOSSLContext?, _ connections: ConnectionTable,
      http1: (@Sendable (any Channel, ServerHandler<Connection>) throws -> Void)? = nil,
      _ accept: @escaping @Sendable (Int) -> Connection
    ) async throws -> ServiceListener {
      try await ServiceListener(
        host: settings.host, port: port, certificate: certificate, connections: connections, http1: http1,
        accept: accept)
    }
    let (apns, fcm, hms, wns, webPush, sms) = (apns, fcm, hms, wns, webPush, sms)
    let production = try await listen(on: settings.productionPort, apple, apns.traffic.connections) {
      APNsServerConnection(apns, environment: .production, number: $0, authority: authority)
    }
    let sandbox = try await listen(on: settings.sandboxPort, apple, apns.traffic.connections) {
      APNsServerConnection(apns, environment: .sandbox, number: $0, authority: authority)
    }
    let google = try await listen(on: settings.fcmPort, certificate, fcm.traffic.connections) {
      FCMServerConnection(fcm: fcm, number: $0)
    }
    let huawei = try await listen(on: settings.hmsPort, certificate, hms.traffic.connections) {
      HMSServerConnection(hms: hms, number: $0)
    }
    let windows = try await listen(
      on: settings.wnsPort, microsoft, wns.traffic.connections, http1: { try ServiceListener.http1($0, $1) }
    ) { WNSServerConnection(wns: wns, number: $0) }
    let browsers = try await listen(
      on: settings.webPushPort, try authority.serverContext(name: settings.name, protocols: ["h2", "http/1.1"]),
      webPush.traffic.connections, http1: { channel, _ in try BrowserHandler.configure(channel, for: webPush) }
    ) { WebPushServerConnection(webPush: webPush, number: $0) }
    let providers = try await listen(
      on: settings.smsPort,
      settings.smsIsPlain
        ? nil : try authority.serverContext(name: settings.name, protocols: ["h2", "http/1.1"]),
      sms.traffic.connections, http1: { try ServiceListener.http1($0, $1) }
    ) { SMSServerConnection(sms: sms, number: $0) }
    running.withLock {
      $0 = Running(
        production: production, sandbox: sandbox, fcm: google, hms: huawei, wns: windows, webPush: browsers,
        sms: providers)
    }
    webPush.origin = webPushURL
    if let port = settings.phonePort {
      let phone = try await PhoneServer(
        [apns, fcm, hms, wns, webPush, sms], phoneLog, settings, port: port, addresses: addresses,
        site: { self.site.withLock { $0 } }, logger: logger)
      running.withLock { $0?.phone = phone }
    }
    logger.info(
      "Simulator listening",
      metadata: [
        "production": "\(productionURL)", "sandbox": "\(sandboxURL)", "fcm": "\(fcmURL)",
        "google_token": "\(googleTokenURL)", "hms": "\(hmsURL)", "hms_token": "\(hmsTokenURL)", "wns": "\(wnsURL)",
        "webpush": "\(webPushURL)", "sms": "\(smsURL)",
        "phone": "\(phoneURL ?? "none")", "ca_file": "\(settings.caFile)",
      ])
  }

  /// Stops listening, and closes all connections.
  public func stop() async {
    guard let running = running.withLock({ running in exchange(&running, with: nil) }) else { return }
    await running.production.close()
    await running.sandbox.close()
    await running.fcm.close()
    await running.hms.close()
    await running.wns.close()
    await running.webPush.close()
    await running.sms.close()
    apns.cut()
    fcm.cut()
    hms.cut()
    wns.cut()
    webPush.cut()
    sms.cut()
    webPush.disconnectBrowsers()
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
  /// `https://localhost:8445`, say; empty before `start`.
  public var fcmURL: String { url { $0.fcm } }
  /// Google's token endpoint: `https://localhost:8445/token`, say.
  public var googleTokenURL: String { fcmURL + AccessTokenRequest.path }
  /// `https://localhost:8446`, say; empty before `start`.
  public var hmsURL: String { url { $0.hms } }
  /// Huawei's token endpoint: `https://localhost:8446/oauth2/v3/token`, say.
  public var hmsTokenURL: String { hmsURL + HuaweiTokenRequest.path }
  /// Where the token endpoints and all channel URIs of WNS are: `https://localhost:8447`, say; empty before `start`.
  public var wnsURL: String { url { $0.wns } }
  /// The host that channel URIs are at: `localhost:8447`, say; empty before `start`.
  public var wnsHost: String { String(wnsURL.dropFirst("https://".count)) }
  /// Origin of the browsers' endpoints: `https://localhost:8448`, say; empty before `start`.
  public var webPushURL: String { url { $0.webPush } }
  /// Origin of the providers of SMS: `https://localhost:8449`, say; empty before `start`.
  public var smsURL: String {
    let url = url { $0.sms }
    return settings.smsIsPlain ? url.replacing("https://", with: "http://") : url
  }
  /// The host that the providers of SMS are at: `localhost:8449`, say; empty before `start`.
  public var smsHost: String { String(smsURL.trimmingPrefix { $0 != "/" }.dropFirst(2)) }
  /// Where messages for CM go.
  public var cmURL: String { smsURL + SimulatedSMS.messagePath }
  /// Where calls for CM go.
  public var cmVoiceURL: String { smsURL + SimulatedSMS.callPath }
  /// Where messages for Twilio go.
  public func twilioURL(_ accountSID: String) -> String {
    "\(smsURL)\(SimulatedSMS.twilioPath)\(accountSID)/Messages.json"
  }
  /// Where calls for Twilio go.
  public func twilioVoiceURL(_ accountSID: String) -> String {
    "\(smsURL)\(SimulatedSMS.twilioPath)\(accountSID)/Calls.json"
  }
  /// The host that browsers' endpoints are at: `localhost:8448`, say; empty before `start`.
  public var webPushHost: String { String(webPushURL.dropFirst("https://".count)) }
  /// `http://localhost:8081`, say; nil without a phone page.
  public var phoneURL: String? {
    running.withLock { $0?.phone?.port }.map { "http://\(settings.name):\($0)" }
  }
  /// The sample page, which subscribes and registers a browser: `http://localhost:8081/web`, say; nil without a phone page.
  public var sampleSiteURL: String? { phoneURL.map { "\($0)/web" } }

  /// Gives the sample page an app of a hub.
  public func serve(_ site: SampleSite) { self.site.withLock { $0 = site } }

  /// File of the certificate authority's certificate.
  public var caFile: String { settings.caFile }

  /// The settings that point a hub here, by their names in its environment.
  public var addresses: [(variable: String, value: String)] {
    [
      ("PUSHCART_APNS_PRODUCTION_URL", productionURL), ("PUSHCART_APNS_SANDBOX_URL", sandboxURL),
      ("PUSHCART_FCM_URL", fcmURL), ("PUSHCART_GOOGLE_TOKEN_URL", googleTokenURL),
      ("PUSHCART_HMS_URL", hmsURL), ("PUSHCART_HMS_TOKEN_URL", hmsTokenURL),
      ("PUSHCART_WNS_TOKEN_URL", wnsURL), ("PUSHCART_WNS_ALLOWED_HOSTS", wnsHost),
      ("PUSHCART_WEBPUSH_ALLOWED_HOSTS", webPushHost), ("PUSHCART_SMS_ALLOWED_HOSTS", smsHost),
      ("PUSHCART_PROVIDER_CA_FILE", caFile),
    ]
  }

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

  /// Makes the .p12 file of a push certificate that the simulated APNs trusts. Call it after `start`.
  /// - Parameters:
  ///   - topics: the bundle id first.
  ///   - notAfter: when it expires.
  /// - Throws: if there is no certificate authority yet.
  public func issuePushCertificate(
    topics: [String] = ["com.acme.app"], environments: Set<SimulatedAPNs.Environment> = [.production],
    until notAfter: Date = Date().addingTimeInterval(365 * 86_400), password: String = "secret"
  ) throws -> [UInt8] {
    try CertificateAuthority.stored(in: settings.caFile).pushCertificate(
      topics: topics, environments: environments, until: notAfter, password: password, now: Date())
  }

  /// The channel URI of a simulated Windows device. Call it after `start`.
  /// - Parameter token: letters, digits and hyphens; those of `fade` select replies.
  public func channel(_ token: String) -> String { "\(wnsURL)/?token=\(token)" }

  private func url(of listener: (Running) -> ServiceListener) -> String {
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
  /// FCM, and Google's token endpoint beside it; 0 for any free port.
  public var fcmPort = 8445
  /// Huawei's Push Kit, and its token endpoint beside it; 0 for any free port.
  public var hmsPort = 8446
  /// Windows' push service, and its token endpoints beside it; 0 for any free port.
  public var wnsPort = 8447
  /// What WNS lets TLS choose from, the preferred one first; empty for HTTP/1.1 without a choice.
  public var wnsProtocols = ["http/1.1", "h2"]
  /// Web Push; 0 for any free port.
  public var webPushPort = 8448
  /// CM's and Twilio's SMS and calls; 0 for any free port.
  public var smsPort = 8449
  /// Whether they speak http, and no https.
  public var smsIsPlain = false
  /// Where a report that each message of CM was delivered goes by itself, an http address; Twilio's go where each message says. Nil for
  /// no reports but those that are asked for.
  public var smsStatusURL: String?
  /// The phone page; 0 for any free port, nil for no phone page.
  public var phonePort: Int? = 8081
  /// Further names under which the phone page may be opened, without port.
  public var phoneNames: [String] = []
  /// File of the certificate authority's certificate, in PEM: `PUSHCART_PROVIDER_CA_FILE` of the hub. Its key is in
  /// `<caFile>.key`, readable by its owner alone.
  public var caFile: String
  /// Most open streams of a connection to APNs after its first accepted provider token; before that it is one.
  public var streamLimit = 1000
  /// Most open streams of a connection to FCM.
  public var fcmStreamLimit = 100
  /// Most open streams of a connection to Push Kit.
  public var hmsStreamLimit = 100
  /// Most open streams of a connection to WNS that speaks HTTP/2.
  public var wnsStreamLimit = 100
  /// Most open streams of a connection to Web Push.
  public var webPushStreamLimit = 100
  /// Requests kept; older ones are dropped.
  public var requestsKept = 2000
  /// File that gets a line for each request to APNs: connection, stream, device token, `apns-id` and reply, separated by tabs.
  public var apnsRequestsFile: String?
  /// Whether provider tokens of unregistered keys, and JWTs of unregistered service accounts, are accepted without a check of
  /// their signature, to try things out with any key.
  public var trustsUnknownKeys = false

  public init(caFile: String) { self.caFile = caFile }
}
