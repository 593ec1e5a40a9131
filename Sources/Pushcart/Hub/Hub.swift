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

/// The hub as a whole: every part is made here, once, and handed to those that need it.
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
    // ground
    var database = settings.database
    database.applicationName = HubQueries.applicationName
    let pool = Pool(database, logger: logger)
    let migrator = Migrator(pool, Migration.embedded)
    try await requireSchema(migrator)

    // 1st floor
    let vault = Vault(masterKeys)
    let signer = LinkSigner(key: try await HubSecrets(pool, vault: vault).load("links").bytes)
    let links = PublicLinks(base: settings.publicURL, signer: signer)
    // What requests ask of the database is answered in time, or with "try again".
    let prompt = PromptDatabase(pool)
    let accessKeys = AccessKeyCache(prompt)
    let pushApps = PushAppCache(prompt)
    let apns = try APNsProvider(settings.apns, logger: logger)

    // 2nd and 3rd floor
    // A phone waits for the group before its own and then for its own.
    let promptly = PromptDatabase(pool, limit: .seconds(2))
    let opens = Opens(promptly)
    let dispatcher = Dispatcher(pool, apns: apns, links: links, logger: logger)
    var patience = RunnerSettings()
    patience.grace = settings.drain
    let runner = SendoutRunner(pool, dispatcher: dispatcher, vault: vault, settings: patience, logger: logger)
    let pages = RichPages(
      promptly, templates: PageTemplateCache(promptly), links: links, vault: vault, logger: logger)

    // 4th floor
    let authenticator = Authenticator(accessKeys)
    let readiness = Readiness(pool, migrator)
    let figures = ProcessFigures()
    let site = Site(
      faces: [
        CarmaFace(
          authenticator: authenticator, pushApps: pushApps, registrar: Registrar(pool), contacts: ContactLookup(prompt),
          devices: Devices(prompt)),
        AdminFace(
          authenticator: authenticator, replies: IdempotentReplies(pool, vault: vault), keys: AccessKeys(pool),
          apps: PushApps(pool, vault: vault), vault: vault,
          credentials: CredentialCheck(keys: SigningCredentialVault(pool, vault: vault), apns: apns),
          lists: ContactLists(pool), templates: Templates(pool), sendouts: SendoutStore(pool, vault: vault),
          reports: Reports(pool)),
        PageFace(pages, opens: opens, signer: signer, settings: settings.pages),
        try DescriptionFace(publicURL: settings.publicURL),
        HubFace(obstacle: readiness.obstacle) { [metrics] in
          figures.read()
          return (PrometheusText.contentType, PrometheusText.write(metrics))
        },
      ], settings: settings.site, logger: logger)

    // They are stopped from last to first: new requests, then sending, then the database.
    let services: [any Service] =
      first + [
        pool, RegistryCaches(pool, accessKeys: accessKeys, pushApps: pushApps), apns, runner,
        Housekeeping(pool, vault: vault), site.application(onListening: whenListening), readiness,
      ]
    var configuration = ServiceGroupConfiguration(
      services: services, gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
    configuration.maximumGracefulShutdownDuration = settings.drain + .seconds(3)
    configuration.maximumCancellationDuration = .seconds(2)
    try await ServiceGroup(configuration: configuration).run()
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
