import Content
import DataInOut
import Delivery
import Hybrid
import Operations
import Postgres
import Providers
import Registry
import Sendouts
import Subscriptions
import Web
import Wire

extension Hub {
  /// All routes, by the parts that they call.
  func routes(_ parts: HubParts, _ pins: PINs) throws -> HubRoutes {
    let shared = RouteParts(parts, settings)
    let (database, pool) = (parts.requestDatabase, parts.pool)
    let (authenticator, replies) = (shared.authenticator, shared.replies)
    let management = management(parts, shared)
    let hybrid = hybrid(parts, shared, pins)
    return HubRoutes(
      carma: CarmaRoutes(
        authenticator: authenticator, pushApps: parts.pushApps, registrations: shared.registrations,
        contacts: shared.contacts, devices: shared.devices, identities: shared.identities),
      carmaLists: CarmaListRoutes(
        authenticator: authenticator, replies: replies,
        listed: ListedContacts(database, slowReads: parts.reportPool, key: parts.suppressions),
        lists: ContactLists(database), sendouts: SendoutStore(database), suppressionKey: parts.suppressions),
      carmaTriggers: CarmaTriggerRoutes(
        authenticator: authenticator, pushApps: parts.pushApps, triggers: Triggers(database),
        messages: shared.messages),
      carmaImports: CarmaImportRoutes(
        authenticator: authenticator, replies: replies, database: pool, upload: shared.upload),
      hybrid: hybrid,
      softphone: SoftphoneRoutes(
        authenticator: authenticator, pushApps: parts.pushApps, messages: shared.messages,
        reports: TokenReports(
          pushApps: parts.pushApps, registrations: shared.registrations, contacts: shared.contacts,
          devices: shared.devices, customers: Customers(database), identities: shared.identities),
        settings: settings.softphone),
      gateway: GatewayRoutes(authenticator: authenticator, messages: shared.hybridMessages),
      geoIP: GeoIPRoutes(countries: settings.countries, authenticate: hybrid.authenticate),
      dataTree: DataTreeRoutes(
        authenticator: authenticator, tree: DataTree(pool, reading: parts.reportPool),
        subscriptions: SubscriptionStore(pool, vault: parts.vault), webhooks: WebhookStore(pool, vault: parts.vault),
        rule: settings.pushServices.endpoints.webhook, replies: replies),
      management: management,
      console: ConsoleRoutes(
        management: management, users: consoleUsers(parts), consoleURL: settings.consoleURL,
        publicURL: settings.publicURL, commands: OperationNames.commands),
      pages: pages(parts),
      unsubscribe: UnsubscribeRoutes(
        Suppressions(database, key: parts.suppressions), customers: Customers(database), signer: parts.signer,
        settings: settings.pages),
      smsStatus: SMSStatusRoutes(shared.sms, parts.smsAddresses),
      description: try DescriptionRoutes(publicURL: settings.publicURL),
      health: HealthRoutes(unavailableReason: parts.readiness.unavailableReason), metrics: metricsRoutes)
  }

  private func management(_ parts: HubParts, _ shared: RouteParts) -> ManagementRoutes {
    ManagementRoutes(
      authenticator: shared.authenticator, replies: shared.replies,
      parts: OperationParts(
        database: parts.pool, slowReads: parts.reportPool, vault: parts.vault,
        smsRule: settings.pushServices.endpoints.sms, webhookRule: settings.pushServices.endpoints.webhook,
        retentionDays: settings.retentionDays, statusAddresses: { _ in parts.smsAddresses },
        suppressionKey: { _ in parts.suppressions },
        checkCredentials: CredentialCheck(shared.credentials, services: parts.services).check,
        messages: { [messages = shared.messages] in messages }),
      messages: shared.messages, upload: shared.upload,
      exports: Exports(parts.reportPool, retentionDays: settings.retentionDays),
      pushApps: parts.pushApps, hybridApps: parts.hybridApps)
  }

  private func hybrid(_ parts: HubParts, _ shared: RouteParts, _ pins: PINs) -> HybridRoutes {
    HybridRoutes(
      verifier: MACVerifier(parts.hybridApps, publicURL: settings.publicURL),
      phones: PhoneRegistrations(
        parts.pool, pins: pins,
        delivery: PINDelivery(shared.messages, apps: parts.pushApps) { [sms = shared.sms] call, customer in
          let isPlaced = try await sms.call(
            call.number, text: call.text, code: call.pin, language: call.language, of: customer)
          if isPlaced == false { throw HybridError.callFailed }
          return isPlaced != nil
        },
        pushApps: parts.pushApps, registrations: shared.registrations),
      messages: PhoneMessages(parts.pool) { [messages = shared.hybridMessages] app, number, confirmation in
        _ = try await messages.confirm(
          app.customer, appID: app.appID, number: number, updateIDs: confirmation.updates.map(\.description),
          status: confirmation.status, readAt: confirmation.readAt)
      }, replyBudget: shared.replyBudget)
  }

  private func consoleUsers(_ parts: HubParts) -> ConsoleUsers {
    ConsoleUsers(
      signIn: ConsoleSignIn(parts.pool, vault: parts.vault, passwords: Passwords()),
      sessions: Sessions(parts.requestDatabase),
      openID: settings.openID.map {
        OpenIDSignIn(
          parts.pool, vault: parts.vault, settings: $0, consoleURL: settings.consoleURL, logger: logger,
          fetch: parts.services.openID.answer)
      })
  }

  private func pages(_ parts: HubParts) -> PageRoutes {
    // A phone may wait for two statements: the one under way, and then the one that answers it.
    let database = parts.pool.limited(to: .seconds(2))
    let pages = RichPageService(
      database, templates: PageTemplateCache(database), links: parts.links, vault: parts.vault, logger: logger)
    return PageRoutes(pages, opens: Opens(database), signer: parts.signer, settings: settings.pages)
  }

  private var metricsRoutes: MetricsRoutes {
    let process = ProcessFigures()
    return MetricsRoutes { [metrics] in
      process.read()
      return (PrometheusText.contentType, PrometheusText.write(metrics))
    }
  }
}

/// Parts that several sets of routes call.
private struct RouteParts {
  let replyBudget = ReplyBudget()
  let authenticator: Authenticator
  let replies: IdempotentReplies
  let contacts: ContactLookup
  let devices: Devices
  let identities: IdentityVerifier
  let credentials: PushCredentialVault
  let registrations: RegistrationBatcher
  let messages: MessageService
  let hybridMessages: HybridMessages
  let sms: SMSChannel
  let upload: ImportUpload

  init(_ parts: HubParts, _ settings: Settings) {
    let (database, pool, vault) = (parts.requestDatabase, parts.pool, parts.vault)
    authenticator = Authenticator(
      parts.accessKeys, requestsPerKey: settings.requestsPerKey, replyBudget: replyBudget)
    replies = IdempotentReplies(pool, vault: vault)
    contacts = ContactLookup(database)
    devices = Devices(database)
    identities = IdentityVerifier(database, vault: vault)
    credentials = PushCredentialVault(pool, vault: vault)
    registrations = RegistrationBatcher(pool, endpoints: settings.pushServices.endpoints)
    messages = MessageService(
      pool, dispatcher: parts.dispatcher, messages: parts.messages, apps: parts.pushApps, credentials: credentials,
      registrations: registrations, limits: parts.customerLimits)
    hybridMessages = HybridMessages(
      pool, messages: messages, apps: parts.pushApps, hybridApps: parts.hybridApps, registrations: registrations)
    sms = SMSChannel(
      apps: parts.pushApps, credentials: credentials, services: parts.services,
      reports: DeliveryReports(database), isSigned: parts.smsAddresses.isSigned)
    upload = ImportUpload(pool, endpoints: settings.pushServices.endpoints)
  }
}
