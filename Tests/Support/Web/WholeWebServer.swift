public import Content
import DataInOut
public import Delivery
public import FoundationEssentials
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

  public static let publicURL = "https://push.example.com"
  /// Where the console believes that it is.
  public var consoleURL = Self.publicURL
  /// How users sign in to the console by an OpenID provider.
  package var openID: OpenIDSettings?
  /// The wall clock that ID tokens go by.
  public var date: @Sendable () -> Date = { Date() }
  /// The clock by which the provider's documents get old.
  public var now: @Sendable () -> ContinuousClock.Instant = { .now }
  /// Hashes cheaply.
  static let passwords = Passwords(cost: 4)
  /// Made once for all tests, as it takes long.
  static let description = Result { try DescriptionRoutes(publicURL: publicURL) }

  public init(
    _ pool: Pool, vault: Vault, services: PushServices, signer: LinkSigner = LinkSigner(keys: [1: Array(0..<32)])
  ) {
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
      let replyBudget = ReplyBudget()
      let authenticator = Authenticator(AccessKeyCache(pool), replyBudget: replyBudget)
      let pushApps = PushAppCache(pool)
      let dispatcher = Dispatcher(
        pool, services: services, links: PublicLinks(base: Self.publicURL, signer: signer),
        suppressions: .ofTests, settings: .unhurried,
        logger: TestServer.logger)
      let credentials = PushCredentialVault(pool, vault: vault)
      let registrations = RegistrationBatcher(pool, limits: .patient, endpoints: endpoints)
      let contacts = ContactLookup(pool)
      let identities = IdentityVerifier(pool, vault: vault)
      let messageService = MessageService(
        pool, dispatcher: dispatcher, messages: messages ?? MessageDispatcher(dispatcher), apps: pushApps,
        credentials: credentials, registrations: registrations)
      let hybridCache = HybridAppCache(pool, vault: vault)
      let hybrid = HybridRoutes(
        verifier: MACVerifier(hybridCache, publicURL: Self.publicURL),
        phones: PhoneRegistrations(
          pool, pins: pins, delivery: PINDelivery(messageService, apps: pushApps, makeCall: makeCall),
          pushApps: pushApps, registrations: registrations, timeLimit: .seconds(120)),
        messages: PhoneMessages(pool, timeLimit: .seconds(120), confirm: confirm), replyBudget: replyBudget)
      let management = ManagementRoutes(
        authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault),
        parts: OperationParts(
          database: pool, slowReads: pool, vault: vault, smsRule: endpoints.sms, webhookRule: endpoints.webhook,
          statusAddresses: { [smsAddresses] _ in smsAddresses }, suppressionKey: { _ in .ofTests },
          checkCredentials: CredentialCheck(credentials, services: services).check, messages: { messageService }),
        messages: messageService, upload: ImportUpload(pool, endpoints: endpoints),
        exports: Exports(pool, retentionDays: nil), pushApps: pushApps,
        hybridApps: hybridCache)
      return HubRoutes(
        carma: CarmaRoutes(
          authenticator: authenticator, pushApps: pushApps,
          registrations: registrations, contacts: contacts, devices: Devices(pool), identities: identities),
        carmaLists: CarmaListRoutes(
          authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault),
          listed: ListedContacts(pool, slowReads: pool, key: .ofTests), lists: ContactLists(pool),
          sendouts: SendoutStore(pool), suppressionKey: .ofTests),
        carmaTriggers: CarmaTriggerRoutes(
          authenticator: authenticator, pushApps: pushApps, triggers: Triggers(pool), messages: messageService),
        carmaImports: CarmaImportRoutes(
          authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault), database: pool,
          upload: ImportUpload(pool, endpoints: endpoints)),
        hybrid: hybrid,
        softphone: SoftphoneRoutes(
          authenticator: authenticator, pushApps: pushApps, messages: messageService,
          reports: TokenReports(
            pushApps: pushApps, registrations: registrations, contacts: contacts, devices: Devices(pool),
            customers: Customers(pool), identities: identities),
          settings: softphone, verdictTimeout: verdictTimeout),
        gateway: GatewayRoutes(
          authenticator: authenticator,
          messages: HybridMessages(
            pool, messages: messageService, apps: pushApps, hybridApps: hybridCache,
            registrations: registrations)),
        geoIP: GeoIPRoutes(countries: nil, authenticate: hybrid.authenticate),
        dataTree: DataTreeRoutes(
          authenticator: authenticator, tree: DataTree(pool), subscriptions: SubscriptionStore(pool, vault: vault),
          webhooks: WebhookStore(pool, vault: vault), rule: endpoints.webhook,
          replies: IdempotentReplies(pool, vault: vault)),
        management: management,
        console: ConsoleRoutes(
          management: management,
          users: ConsoleUsers(
            signIn: ConsoleSignIn(pool, vault: vault, passwords: Self.passwords), sessions: Sessions(pool),
            openID: openID.map {
              OpenIDSignIn(
                pool, vault: vault, settings: $0, consoleURL: consoleURL, logger: logger, date: date, now: now,
                fetch: services.openID.answer)
            }),
          consoleURL: consoleURL, publicURL: Self.publicURL,
          commands: ["listKeys": "key list"]),
        pages: pages,
        unsubscribe: UnsubscribeRoutes(
          Suppressions(pool, key: .ofTests), customers: Customers(pool), signer: signer),
        smsStatus: SMSStatusRoutes(
          SMSChannel(
            apps: pushApps, credentials: credentials, services: services,
            reports: DeliveryReports(pool), isSigned: smsAddresses.isSigned), smsAddresses),
        description: try Self.description.get(),
        health: HealthRoutes(unavailableReason: { nil }),
        metrics: MetricsRoutes { ("text/plain; version=0.0.4", "pushcart_up 1\n") }
      ).all
    }
  }

  /// Where providers of SMS post their status reports.
  public var smsAddresses = SMSStatusAddresses(key: Array(0..<32), publicURL: Self.publicURL)

  private var pages: PageRoutes {
    let opens = Opens(pool)
    let pages = RichPageService(
      pool, templates: PageTemplateCache(pool), links: PublicLinks(base: Self.publicURL, signer: signer),
      vault: vault, logger: logger)
    return PageRoutes(pages, opens: opens, signer: signer)
  }
}

extension SendingBench {
  /// Runs `body` while the whole server of a hub is up, which sends single messages.
  @discardableResult
  public func withWholeServer<Answer: Sendable>(
    _ body: @Sendable (TestWebServer) async throws -> Answer
  ) async throws -> Answer {
    let messages = MessageDispatcher(dispatcher())
    var whole = WholeWebServer(self)
    whole.messages = messages
    let answer = try await withTestWebServer(try whole.routes, body)
    await messages.end(sendsRest: true)
    return answer
  }
}

extension SMSStatusAddresses {
  /// Signs as those of every server of tests do. Which addresses were renewed is each server's own.
  static let signing = SMSStatusAddresses(key: Array(0..<32), publicURL: WholeWebServer.publicURL)
}

extension SuppressionKey {
  /// By a secret that all tests share.
  public static let ofTests = SuppressionKey(key: Array(100..<132))
}

extension PINs {
  /// By a secret that all tests share.
  public static let ofTests = PINs(secret: Secret("the secret of tests"))
}
