public import Content
public import Delivery
public import Hybrid
public import Logging
import Operations
public import Postgres
public import Providers
public import Registry
import Sendouts
import Simulator
import Subscriptions
public import Web
public import Wire

/// Every set of routes that the hub serves, over one pool, as the hub has them.
public struct WholeWebServer: Sendable {
  public let pool: Pool
  public let vault: Vault
  public let services: PushServices
  public let signer: LinkSigner
  public var logger = TestServer.logger
  /// Where endpoints of devices may lead.
  public var endpoints = EndpointRules()
  /// Makes the PINs of phones.
  public var pins = PINs.ofTests
  /// Speaks PINs.
  public var makeCall: PINDelivery.MakeCall?
  /// Takes what phones say of messages.
  public var confirm: PhoneMessages.Confirm = { _, _, _ in }
  /// Who may use the gateway for softphones without a key, and how long it waits for verdicts.
  public var softphone = SoftphoneSettings()
  public var verdictTimeout = Duration.seconds(30)
  /// Sends single messages; made here if nil.
  public var messages: MessageDispatcher?

  static let publicURL = "https://push.example.com"
  /// Made once for all tests, as it takes long.
  static let description = Result { try DescriptionRoutes(publicURL: publicURL) }

  public init(_ pool: Pool, vault: Vault, services: PushServices, signer: LinkSigner) {
    self.pool = pool
    self.vault = vault
    self.services = services
    self.signer = signer
  }

  public init(_ bench: SendingBench) {
    self.init(bench.pool, vault: bench.vault, services: bench.services, signer: bench.signer)
    endpoints = EndpointRules(bench.simulator)
  }

  public var routes: [any RouteSet] {
    get throws {
      let authenticator = Authenticator(AccessKeyCache(pool))
      let pushApps = PushAppCache(pool)
      let dispatcher = Dispatcher(
        pool, services: services, links: PublicLinks(base: Self.publicURL, signer: signer), settings: .unhurried,
        logger: TestServer.logger)
      let messageService = MessageService(
        pool, dispatcher: dispatcher, messages: messages ?? MessageDispatcher(dispatcher), apps: pushApps,
        credentials: PushCredentialVault(pool, vault: vault),
        registrations: RegistrationBatcher(pool, endpoints: endpoints))
      let hybridCache = HybridAppCache(pool, vault: vault)
      let registrations = RegistrationBatcher(pool, endpoints: endpoints)
      let hybrid = HybridRoutes(
        verifier: MACVerifier(hybridCache, publicURL: Self.publicURL),
        phones: PhoneRegistrations(
          pool, pins: pins, delivery: PINDelivery(messageService, apps: pushApps, makeCall: makeCall),
          pushApps: pushApps, registrations: registrations),
        messages: PhoneMessages(pool, confirm: confirm))
      return HubRoutes(
        carma: CarmaRoutes(
          authenticator: authenticator, pushApps: pushApps,
          registrations: RegistrationBatcher(pool, endpoints: endpoints),
          contacts: ContactLookup(pool), devices: Devices(pool), identities: IdentityVerifier(pool, vault: vault)),
        carmaTriggers: CarmaTriggerRoutes(
          authenticator: authenticator, pushApps: pushApps, triggers: Triggers(pool), messages: messageService),
        hybrid: hybrid,
        softphone: SoftphoneRoutes(
          authenticator: authenticator, pushApps: pushApps, messages: messageService,
          reports: TokenReports(
            pushApps: pushApps, registrations: RegistrationBatcher(pool, endpoints: endpoints),
            contacts: ContactLookup(pool), devices: Devices(pool), customers: Customers(pool),
            identities: IdentityVerifier(pool, vault: vault)),
          settings: softphone, verdictTimeout: verdictTimeout),
        gateway: GatewayRoutes(
          authenticator: authenticator,
          messages: HybridMessages(
            pool, messages: messageService, apps: pushApps, hybridApps: hybridCache,
            registrations: RegistrationBatcher(pool, endpoints: endpoints))),
        geoIP: GeoIPRoutes(countries: nil, authenticate: hybrid.authenticate),
        dataTree: DataTreeRoutes(
          authenticator: authenticator, tree: DataTree(pool), subscriptions: SubscriptionStore(pool, vault: vault),
          webhooks: WebhookStore(pool, vault: vault), rule: endpoints.webhook,
          replies: IdempotentReplies(pool, vault: vault)),
        management: ManagementRoutes(
          authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault),
          parts: OperationParts(database: pool, slowReads: pool, vault: vault),
          apps: PushApps(pool, vault: vault), vault: vault,
          credentials: CredentialCheck(PushCredentialVault(pool, vault: vault), services: services),
          appCache: pushApps,
          messages: messageService, hybridCache: hybridCache,
          smsAccounts: PushCredentialVault(pool, vault: vault),
          smsAddresses: smsAddresses, smsRule: endpoints.sms),
        pages: pages,
        smsStatus: SMSStatusRoutes(
          SMSChannel(
            apps: pushApps, credentials: PushCredentialVault(pool, vault: vault), services: services,
            reports: DeliveryReports(pool), isSigned: smsAddresses.isSigned), smsAddresses),
        description: try Self.description.get(),
        health: HealthRoutes(unavailableReason: { nil }),
        metrics: MetricsRoutes { ("text/plain; version=0.0.4", "pushcart_up 1\n") }
      ).all
    }
  }

  /// Where providers of SMS post their status reports.
  public let smsAddresses = SMSStatusAddresses(key: Array(0..<32), publicURL: Self.publicURL)

  private var pages: PageRoutes {
    let opens = Opens(pool)
    let pages = RichPageService(
      pool, templates: PageTemplateCache(pool), links: PublicLinks(base: Self.publicURL, signer: signer),
      vault: vault, logger: logger)
    return PageRoutes(pages, opens: opens, signer: signer)
  }
}

extension SMSStatusAddresses {
  /// Signs as those of every server of tests do. Which addresses were renewed is each server's own.
  static let signing = SMSStatusAddresses(key: Array(0..<32), publicURL: WholeWebServer.publicURL)
}

extension PINs {
  /// By a secret that all tests share.
  public static let ofTests = PINs(secret: Secret("the secret of tests"))
}
