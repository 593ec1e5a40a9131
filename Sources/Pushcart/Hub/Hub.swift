import Content
import DataInOut
import Delivery
import Embedded
import Hybrid
import Logging
import Operations
import Outbox
import Postgres
import Providers
import Registry
import Sendouts
import ServiceLifecycle
import Subscriptions
import UnixSignals
import Web
import Wire

/// The hub as a whole: makes every part once and hands it to the parts that need it. `HubParts` holds what several need.
struct Hub: Sendable {
  let settings: Settings
  let masterKeys: MasterKeys
  let metrics: MetricsRegistry
  let logger: Logger

  /// Serves until SIGTERM or SIGINT, then lets the work in progress end.
  /// - Parameters:
  ///   - first: services that start before the hub and stop after it, such as a private PostgreSQL.
  ///   - whenListening: called with the port once requests are answered.
  /// - Throws: `CommandFailure` when the database cannot be reached or its schema is not current.
  func run(
    after first: [any Service] = [], whenListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) async throws {
    var database = settings.database
    database.applicationName = HubQueries.applicationName
    database.plansOnce = true
    let pool = Pool(database, logger: logger)
    let reportPool = Pool(Self.forReports(database), logger: logger)
    let migrator = Migrator(pool, Migration.embedded)
    try await requireSchema(migrator)
    let vault = Vault(masterKeys)
    let housekeeping = Housekeeping(
      pool, vault: vault, retentionDays: settings.retentionDays, isByProviderOnly: settings.openID?.isOnly ?? false,
      logger: logger)
    await housekeeping.makePartitions()
    let linkKeys = LinkKeys(pool, vault: vault)
    let signer = LinkSigner(try await linkKeys.load())
    let smsAddresses = try await SMSStatusAddresses.load(pool, vault: vault, publicURL: settings.publicURL)
    let suppressions = try await SuppressionKey.load(pool, vault: vault)
    let pins = try await PINs.load(pool, vault: vault)
    OpenFiles.raiseLimit()
    let time = ServerClock()
    var pushServices = settings.pushServices
    pushServices.namedConnections = OpenFiles.forNamedAddresses
    let parts = HubParts(
      pool: pool, reportPool: reportPool, vault: vault, links: PublicLinks(base: settings.publicURL, signer: signer),
      signer: signer,
      services: try PushServices(
        pushServices, tokens: ProviderTokenVault(pool.limited(to: .seconds(4)), vault: vault), logger: logger,
        smsStatusURL: smsAddresses.url, smsReference: smsAddresses.signed, pin: pins.pin, now: time.now),
      time: time,
      smsAddresses: smsAddresses, suppressions: suppressions, readiness: Readiness(pool, migrator),
      settings: settings, logger: logger)
    let caches = CacheRefresh(
      pool,
      [
        .init(on: [.accessKey], parts.accessKeys.flush),
        .init(on: [.pushApp], parts.pushApps.flush),
        .init(on: HybridAppCache.channels, parts.hybridApps.flush),
        .init(on: [.smsStatus]) { try await smsAddresses.refresh(from: pool) },
        .init(on: [.links]) { signer.replace(try await linkKeys.load()) },
        .init(on: [.links], parts.customerLimits.flush),
      ], logger: logger)
    try await serve(
      first + [pool, reportPool, caches, parts.accessKeys.usage, parts.services],
      work(parts) + [housekeeping, parts.readiness]
        + servers(try routes(parts, pins), whenListening: whenListening))
  }

  /// What a hub does that nobody asks it for at the moment.
  private func work(_ parts: HubParts) -> [any Service] {
    let (pool, endpoints) = (parts.pool, settings.pushServices.endpoints)
    return [
      runner(parts), parts.messages, outbox(parts), webhooks(parts),
      StepRunner(ImportWork(pool, suppressions: parts.suppressions, endpoints: endpoints), logger: logger),
      StepRunner(ErasureWork(pool, PersonalTables.all), logger: logger), ActivityRunner(pool, logger: logger),
      NotificationRunner(pool, dispatcher: parts.dispatcher, vault: parts.vault, logger: logger),
    ]
  }

  /// Few connections, since what runs on them may take long. So reports wait for each other, and nobody else for them. Exact counts, which take
  /// minutes and have two connections each, leave one of the dedicated ones to pages of exports, which customers have by turns.
  private static func forReports(_ database: PoolConfiguration) -> PoolConfiguration {
    var reports = database
    reports.sharedConnections = 2
    reports.dedicatedConnections = 5
    reports.queueTimeout = .seconds(10)
    reports.plansOnce = false
    reports.goesByKeys = true
    // None is sent behind another, which may take half a minute.
    reports.hungAfter = .zero
    reports.metricsName = "reports"
    return reports
  }

  /// One listener for all routes, or two: one for clients and one for operators.
  private func servers(
    _ routes: HubRoutes, whenListening: @escaping @Sendable (Int) async -> Void
  ) -> [any Service] {
    var settings = settings.server
    settings.connections = OpenFiles.forClients
    guard let operations = self.settings.operations else {
      let server = WebServer(routes.all, settings: settings, logger: logger)
      return [withTimeout(server.service(onListening: whenListening))]
    }
    let clients = WebServer(routes.clients, settings: settings, logger: logger)
    let operators = WebServer(routes.operations, settings: operations, logger: logger)
    return [
      withTimeout(
        operators.service { [logger] port in
          logger.info("listening for operations", metadata: ["host": "\(operations.host)", "port": "\(port)"])
        }), withTimeout(clients.service(onListening: whenListening)),
    ]
  }

  private func withTimeout(_ server: some Service) -> any Service {
    ShutdownTimeout(service: server, limit: min(settings.drain, Self.requestGrace))
  }

  /// How long requests may take to end after the signal. The hub's own work on a request ends sooner, so only clients that
  /// stall exceed it.
  private static let requestGrace = Duration.seconds(10)

  /// The work stops first, all of it at once: nothing more is claimed, and what is in progress has the rest of its time. The
  /// services that it needs stop afterwards, from last to first.
  private func serve(_ ground: [any Service], _ work: [any Service]) async throws {
    var configuration = ServiceGroupConfiguration(
      services: ground + [ConcurrentServices(members: work)], gracefulShutdownSignals: [.sigterm, .sigint],
      logger: logger)
    configuration.maximumGracefulShutdownDuration = settings.drain + .seconds(3)
    configuration.maximumCancellationDuration = .seconds(2)
    try await ServiceGroup(configuration: configuration).run()
  }

  private func runner(_ parts: HubParts) -> SendoutRunner {
    var runnerSettings = RunnerSettings()
    runnerSettings.shutdownTimeout = settings.drain
    return SendoutRunner(
      parts.pool, dispatcher: parts.dispatcher, vault: parts.vault, settings: runnerSettings, logger: logger)
  }

  private func outbox(_ parts: HubParts) -> OutboxRunner {
    OutboxRunner(
      parts.pool, [StatusReports(parts.pool)], shutdownTimeout: settings.drain, logger: logger,
      post: parts.services.poster.post)
  }

  private func webhooks(_ parts: HubParts) -> WebhookRunner {
    WebhookRunner(
      parts.pool, vault: parts.vault, bodies: EventBodies(parts.pool), shutdownTimeout: settings.drain, logger: logger,
      post: parts.services.poster.post)
  }

  /// A hub on a schema that is not its own would damage data, so it does not start.
  private func requireSchema(_ migrator: Migrator) async throws {
    do {
      try await migrator.check()
    } catch MigrationError.pending(let names) {
      throw CommandFailure(
        "\(names.count) of the schema's migrations are pending. Run `pushcart migrate`, then start the hub again.")
    } catch {
      throw CommandFailure.wrapping(error)
    }
  }
}

/// Parts of the hub that several others need.
struct HubParts: Sendable {
  let pool: Pool
  /// For reports and lists that may take long.
  let reportPool: Pool
  /// The database for requests: a call that takes longer than four seconds fails, and the client is asked to try again.
  let requestDatabase: any Querying
  let vault: Vault
  let accessKeys: AccessKeyCache
  let pushApps: PushAppCache
  let customerLimits: CustomerLimitsCache
  let hybridApps: HybridAppCache
  let links: PublicLinks
  let signer: LinkSigner
  let services: PushServices
  /// Where providers of SMS post their status reports.
  let smsAddresses: SMSStatusAddresses
  /// Hashes whom suppressions name.
  let suppressions: SuppressionKey
  let readiness: Readiness
  let dispatcher: Dispatcher
  let messages: MessageDispatcher

  init(
    pool: Pool, reportPool: Pool, vault: Vault, links: PublicLinks, signer: LinkSigner, services: PushServices,
    time: ServerClock,
    smsAddresses: SMSStatusAddresses, suppressions: SuppressionKey, readiness: Readiness, settings: Settings,
    logger: Logger
  ) {
    self.pool = pool
    self.reportPool = reportPool
    self.vault = vault
    self.links = links
    self.signer = signer
    self.services = services
    self.smsAddresses = smsAddresses
    self.suppressions = suppressions
    self.readiness = readiness
    var dispatch = DispatchSettings()
    dispatch.window = settings.pushesInFlight
    dispatcher = Dispatcher(
      pool, services: services, links: links, suppressions: suppressions, settings: dispatch, logger: logger, time: time
    )
    messages = MessageDispatcher(dispatcher, shutdownTimeout: settings.drain)
    requestDatabase = pool.limited(to: .seconds(4))
    accessKeys = AccessKeyCache(requestDatabase)
    pushApps = PushAppCache(requestDatabase)
    customerLimits = CustomerLimitsCache(requestDatabase)
    hybridApps = HybridAppCache(requestDatabase, vault: vault)
  }
}

extension Migration {
  /// The schema of this release.
  static let embedded = EmbeddedFile.migrations.filter { $0.name.hasSuffix(".sql") }
    .map { Migration(name: String($0.name.dropLast(4)), sql: $0.text) }
}
