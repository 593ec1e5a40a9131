public import FoundationEssentials
public import Logging
public import ServiceLifecycle
public import Wire

/// All push services: makes the accounts that apps send through, and keeps their connections.
///
/// Accounts of the same credentials share connections and tokens, however often they are asked for.
public final class PushServices: Service {
  let pools: ConnectionPools
  let apns: APNsEndpoint
  /// The services to which apps sign in with access tokens.
  let withAccessTokens: [PushServiceName: AccessTokenService]
  private let windows: EndpointRule
  private let webPush: WebPushSender
  /// Posts to addresses that customers named.
  public let poster: Poster
  /// Asks the OpenID provider of the console's users.
  public let openID: OpenIDClient
  let sms: SMSEndpoint
  private let smsStatusURL: @Sendable (CustomerID) -> String?
  private let smsReference: @Sendable (SMSReference, CustomerID) -> SMSReference
  private let pin: @Sendable (CustomerID, PhoneNumber, String) -> String?

  /// - Parameters:
  ///   - tokens: keeps the provider tokens that all hubs share; this process keeps its own if `nil`.
  ///   - smsStatusURL: where a customer's provider of SMS posts its status reports; nil for nowhere.
  ///   - smsReference: signs what names a push of the customer to its provider of SMS.
  ///   - pin: the PIN of an SMS to that number, of the `SMSText.pinField` that its message has; nil if it is none.
  ///   - now: the clock by which access tokens and pushes are dated.
  ///   - clock: by which tokens get old; no change of the time of day moves it.
  /// - Throws: `ProviderError` if an address or the file of trusted certificates is unusable.
  public init(
    _ settings: PushServiceSettings, tokens: (any ProviderTokenStore)? = nil, logger: Logger,
    smsStatusURL: @escaping @Sendable (CustomerID) -> String? = { _ in nil },
    smsReference: @escaping @Sendable (SMSReference, CustomerID) -> SMSReference = { reference, _ in reference },
    pin: @escaping @Sendable (CustomerID, PhoneNumber, String) -> String? = { _, _, _ in nil },
    now: @escaping @Sendable () -> Date = { Date() },
    clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
  ) throws(ProviderError) {
    pools = try ConnectionPools(settings, logger: logger, now: now)
    apns = try APNsEndpoint(
      settings, pools, ProviderTokens(tokens ?? UnsharedTokens(now: now), logger: logger, clock: clock))
    var withAccessTokens: [PushServiceName: AccessTokenService] = [:]
    for service in PushServiceName.allCases {
      if let make = service.table.accessTokens { withAccessTokens[service] = try make(settings, pools) }
    }
    self.withAccessTokens = withAccessTokens
    windows = settings.endpoints.wns
    webPush = WebPushSender(contact: settings.webPushContact, rule: settings.endpoints.webPush, pools: pools)
    poster = Poster(rule: settings.endpoints.webhook, pools: pools)
    openID = OpenIDClient(pools: pools, timeout: settings.untrustedTimeout)
    sms = SMSEndpoint(pools: pools, rule: settings.endpoints.sms)
    self.smsStatusURL = smsStatusURL
    self.smsReference = smsReference
    self.pin = pin
  }

  /// The account of an app. Making one costs little: nothing is opened before it is used.
  /// - Parameters:
  ///   - appID: the app's bundle id or package name.
  ///   - customer: the app's owner. Customers share no provider token, even if they have the same key.
  public func account(
    appID: String, of customer: CustomerID, kind: PushAppKind = .app, credentials: PushServiceCredentials
  ) -> any PushAccount {
    switch credentials {
    case .apns(let teamID, let keyID, let signingKey):
      APNsAccount(
        topic: appID, takesCalls: kind == .pushkit,
        signIn: .token(
          TokenOwner(
            customer: customer,
            credentials: APNsCredentials(teamID: teamID, keyID: keyID, signingKey: signingKey))),
        endpoint: apns)
    case .apnsCertificates(let development, let production):
      APNsAccount(
        topic: appID, takesCalls: kind == .pushkit,
        signIn: .certificates(customer, development: development, production: production), endpoint: apns)
    case .fcm(let account): FCMAccount(customer: customer, credentials: account, endpoint: endpoint(of: .fcm))
    case .hms(let account): HMSAccount(customer: customer, credentials: account, endpoint: endpoint(of: .hms))
    case .wns(let account):
      WNSAccount(customer: customer, credentials: account, endpoint: endpoint(of: .wns), rule: windows)
    case .webPush(let credentials): WebPushAccount(customer: customer, credentials: credentials, endpoint: webPush)
    case .sms(let account):
      SMSPushAccount(
        customer: customer, account: account, statusURL: smsStatusURL(customer), endpoint: sms,
        sign: { [smsReference] in smsReference($0, customer) },
        pin: { [pin] number, source in pin(customer, number, source) })
    }
  }

  /// A customer's webhooks.
  /// - Parameter token: the value of their header `X-webcom-webhook-token`.
  public func webhooks(of customer: CustomerID, token: String?) -> any PushAccount {
    WebhookAccount(customer: customer, token: token, poster: poster)
  }

  /// How large the message is in the form of the service that sends to devices of `type`, and the most that this service takes, both
  /// in bytes.
  public static func payloadSize(of message: RenderedMessage, for type: AppType) -> (bytes: Int, limit: Int) {
    type.service.name.table.payloadSize(message)
  }

  private func endpoint(of service: PushServiceName) -> AccessTokenService {
    guard let endpoint = withAccessTokens[service] else {
      preconditionFailure("The table of \(service) does not say where its accounts get access tokens")
    }
    return endpoint
  }

  /// How long `run` waits for responses at its end. Whoever sends has ended before, so nobody waits for them.
  private static let shutdownLimit = Duration.seconds(1)

  /// Closes idle connections until graceful shutdown or cancellation, then shuts down. Accounts send without it.
  public func run() async throws {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await gracefulShutdown() }
      group.addTask {
        while (try? await Task.sleep(for: .seconds(600))) != nil { self.closeIdle() }
      }
      await group.next()
      group.cancelAll()
    }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.shutDown() }
      group.addTask {
        try? await Task.sleep(for: Self.shutdownLimit)
        self.pools.closeConnections()
      }
      await group.next()
      group.cancelAll()
    }
  }

  /// An app of the customer has changed, or its credentials were accepted by a check of another process. Accounts that were refused a moment
  /// ago may sign in at once, and connections that may be of replaced credentials are closed once their requests have ended.
  public func credentialsChanged(of customer: CustomerID) {
    for service in withAccessTokens.values { service.tokens.forgetRefusals() }
    pools.close(of: customer)
  }

  /// Closes the connections of accounts that have sent nothing for an hour, and drops their tokens.
  func closeIdle() {
    let used = pools.closeIdle()
    apns.removeTokens(except: used)
    for service in withAccessTokens.values { service.removeTokens(except: used) }
  }

  /// Returns waiting pushes as `unsent`, waits for responses to sent ones for at most `requestTimeout`, and closes all connections.
  public func shutDown() async {
    await pools.shutDown()
  }
}

extension PushServiceName {
  /// The table in the service's folder.
  var table: ServiceTable {
    switch self {
    case .apns: .apns
    case .fcm: .fcm
    case .hms: .hms
    case .wns: .wns
    case .webpush: .webPush
    case .sms: .sms
    }
  }
}
