import Content
import Delivery
import Logging
import Postgres
import Providers
import Registry
import Sendouts
import ServiceLifecycle
import UnixSignals
import Web

/// The hub as a whole: every part is made here, once, and handed to those that need it; see `HubParts` for those that several
/// need.
struct Hub: Sendable {
  let settings: Settings
  let masterKeys: MasterKeys
  let metrics: MetricsRegistry
  let logger: Logger

  /// Serves until SIGTERM or SIGINT, and then lets what is under way end.
  /// - Parameters:
  ///   - first: what must be up before the hub and stay until it is down, such as a private PostgreSQL.
  ///   - whenListening: told the port once requests are answered.
  /// - Throws: `CommandFailure` when the database cannot be reached or its schema is not current.
  func run(
    after first: [any Service] = [], whenListening: @escaping @Sendable (Int) async -> Void = { _ in }
  ) async throws {
    var database = settings.database
    database.applicationName = HubQueries.applicationName
    let pool = Pool(database, logger: logger)
    let migrator = Migrator(pool, Migration.embedded)
    try await requireSchema(migrator)

    let vault = Vault(masterKeys)
    let signer = LinkSigner(key: try await HubSecrets(pool, vault: vault).load("links").bytes)
    let parts = HubParts(
      pool: pool, vault: vault, links: PublicLinks(base: settings.publicURL, signer: signer), signer: signer,
      apns: try APNsProvider(settings.apns, logger: logger), readiness: Readiness(pool, migrator))
    let caches = RegistryCaches(pool, accessKeys: parts.accessKeys, pushApps: parts.pushApps)
    OpenFiles.raiseLimit()
    var doors = settings.site
    doors.connections = OpenFiles.forClients
    let site = WebServer(faces: try faces(parts).all, settings: doors, logger: logger)
    try await serve(
      first + [pool, caches, parts.apns],
      [
        runner(parts), Housekeeping(pool, vault: vault), parts.readiness,
        ShutdownTimeout(service: site.service(onListening: whenListening), limit: min(settings.drain, Self.siteGrace)),
      ])
  }

  /// How long requests that are being answered may take to end. All that the hub does for one is done sooner; what is left is
  /// with clients that do not go on.
  private static let siteGrace = Duration.seconds(10)

  /// Work ends first, all of it at once: no more is claimed from the moment that the hub is told to stop, while what is under
  /// way has the rest of its time. What the work stands on ends afterwards, from last to first.
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
    runnerSettings.grace = settings.drain
    let dispatcher = Dispatcher(parts.pool, apns: parts.apns, links: parts.links, logger: logger)
    return SendoutRunner(
      parts.pool, dispatcher: dispatcher, vault: parts.vault, settings: runnerSettings, logger: logger)
  }

  private func faces(_ parts: HubParts) throws -> HubRoutes {
    let (pool, vault) = (parts.pool, parts.vault)
    let authenticator = Authenticator(parts.accessKeys)
    return HubRoutes(
      carma: CarmaRoutes(
        authenticator: authenticator, pushApps: parts.pushApps, registrar: RegistrationBatcher(pool),
        contacts: ContactLookup(parts.requestDatabase), devices: Devices(parts.requestDatabase)),
      admin: ManagementRoutes(
        authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault), keys: AccessKeys(pool),
        apps: PushApps(pool, vault: vault), vault: vault,
        credentials: CredentialCheck(keys: SigningCredentialVault(pool, vault: vault), apns: parts.apns),
        lists: ContactLists(pool), templates: Templates(pool), sendouts: SendoutStore(pool),
        reports: Reports(pool)),
      pages: pages(parts), description: try DescriptionRoutes(publicURL: settings.publicURL),
      hub: healthRoutes(parts.readiness))
  }

  private func pages(_ parts: HubParts) -> PageRoutes {
    // A phone may wait for two statements: the one under way, and then the one that answers it.
    let database = parts.pool.limited(to: .seconds(2))
    let pages = RichPages(
      database, templates: PageTemplateCache(database), links: parts.links, vault: parts.vault, logger: logger)
    return PageRoutes(pages, opens: Opens(database), signer: parts.signer, settings: settings.pages)
  }

  private func healthRoutes(_ readiness: Readiness) -> HealthRoutes {
    let figures = ProcessFigures()
    return HealthRoutes(unavailableReason: readiness.unavailableReason) { [metrics] in
      figures.read()
      return (PrometheusText.contentType, PrometheusText.write(metrics))
    }
  }

  /// A hub on another schema than its own would do harm, so it does not start.
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
