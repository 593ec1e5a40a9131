import Content
import Logging
import Postgres
import Registry
import Sendouts

/// The stores that management commands work with, on connections of their own.
struct ManagementStores: Sendable {
  let settings: Settings
  /// Says nothing: what goes wrong is thrown, and a command's lines are its reader's.
  let logger: Logger
  let pool: Pool
  let customers: Customers
  let keys: AccessKeys
  let lists: ContactLists
  /// To read them; see `changingApps`.
  let apps: PushApps
  let sendouts: SendoutStore
  let templates: Templates
  let reports: Reports

  private init(_ settings: Settings) {
    self.settings = settings
    logger = Logger(label: "pushcart") { _ in SwiftLogNoOpLogHandler() }
    pool = Pool(settings.database, logger: logger)
    customers = Customers(pool)
    keys = AccessKeys(pool)
    lists = ContactLists(pool)
    apps = PushApps(pool)
    sendouts = SendoutStore(pool)
    templates = Templates(pool)
    reports = Reports(pool)
  }

  /// Seals and opens credentials.
  /// - Throws: `CommandFailure` when there is no master key.
  var vault: Vault {
    get throws {
      guard let keys = settings.masterKeys else { throw CommandFailure("\(Setting.masterKey.variable) is not set.") }
      return Vault(keys)
    }
  }

  /// The store of push apps that seals what opens their push services.
  var changingApps: PushApps { get throws { PushApps(pool, vault: try vault) } }

  /// Does `work` with the stores, and closes their connections afterwards.
  /// - Throws: `CommandFailure`, or `SettingsError`.
  static func open(_ given: [Given], needsMasterKey: Bool, _ work: (ManagementStores) async throws -> Void) async throws
  {
    var settings = try await Settings.read(given, needsMasterKey: needsMasterKey)
    settings.database.applicationName = "pushcart command"
    let stores = ManagementStores(settings)
    do {
      try await work(stores)
    } catch {
      await stores.pool.close()
      throw CommandFailure.wrapping(error)
    }
    await stores.pool.close()
  }
}
