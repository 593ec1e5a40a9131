import ArgumentParser
import Content
import Delivery
import FoundationEssentials
import Hybrid
import Logging
import Postgres
import Providers
import Registry
import Sendouts
import Wire

/// A command that works on the database directly; no hub needs to run.
protocol ManagementCommand: AsyncParsableCommand {
  var options: ManagementOptions { get }
  /// What its flags set.
  var given: [Given] { get }
  /// Whether it seals or opens credentials, so that it needs a master key.
  static var needsMasterKey: Bool { get }
  func run(in stores: ManagementStores) async throws
}

extension ManagementCommand {
  var given: [Given] { options.given }
  static var needsMasterKey: Bool { false }

  func run() async throws {
    try await ManagementStores.open(given, needsMasterKey: Self.needsMasterKey) { stores in
      try await run(in: stores)
    }
  }
}

/// Options of every management command. The database is mostly named in the environment, so only `--help-hidden` shows its
/// flags.
struct ManagementOptions: ParsableArguments {
  @Flag(help: "Print JSON with the REST API's field names.") var json = false
  @OptionGroup(title: "Database", visibility: .hidden) var database: DatabaseFlags
  @OptionGroup(title: "Secrets", visibility: .hidden) var masterKeys: MasterKeyFlags

  var given: [Given] { database.given + masterKeys.given }
  var output: Output { Output(isJSON: json) }
}

/// The stores that management commands work with, on connections of their own.
struct ManagementStores: Sendable {
  let settings: Settings
  /// Discards everything: errors are thrown, and standard error belongs to the command.
  let logger: Logger
  let pool: Pool
  let customers: Customers
  let keys: AccessKeys
  let audit: AuditLog
  let lists: ContactLists
  let apps: PushApps
  let sendouts: SendoutStore
  let triggers: Triggers
  let hybrid: HybridApps
  let templates: Templates
  let reports: Reports

  private init(_ settings: Settings) {
    self.settings = settings
    logger = Logger(label: "pushcart") { _ in SwiftLogNoOpLogHandler() }
    pool = Pool(settings.database, logger: logger)
    customers = Customers(pool)
    keys = AccessKeys(pool)
    audit = AuditLog(pool)
    lists = ContactLists(pool)
    apps = PushApps(pool)
    sendouts = SendoutStore(pool)
    triggers = Triggers(pool)
    hybrid = HybridApps(pool)
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

  /// Who runs the command.
  static var actor: ChangeAuthor { .commandLine(user: osUser) }
  /// The same, as the operating system calls them.
  static var osUser: String { ProcessInfo.processInfo.userName }

  /// Makes a change together with its line in the audit log.
  func change<Answer: Sendable>(
    _ customer: CustomerID, _ work: @escaping @Sendable (ManagementChange) async throws -> Answer
  ) async throws -> Answer {
    try await pool.transaction(of: customer.rawValue, limit: Ledger.wholeSendoutLimit, locks: .brief) {
      try await work(ManagementChange($0, customer: customer, actor: Self.actor))
    }
  }

  /// Runs `work` with the stores, then closes their connections.
  /// - Throws: `CommandFailure`, or `SettingsError`.
  static func open(_ given: [Given], needsMasterKey: Bool, _ work: (ManagementStores) async throws -> Void) async throws
  {
    var settings = try await Settings.ofCommand(given, needsMasterKey: needsMasterKey)
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

  /// Asks the push service about an app's credentials; `nil` if it has none.
  func check(_ app: PushApp) async throws -> PushAppCheckReply? {
    var settings = settings.pushServices
    // A person waits for the answer.
    settings.queueTimeout = .seconds(10)
    let vault = try vault
    let services = try PushServices(settings, tokens: ProviderTokenVault(pool, vault: vault), logger: logger)
    let credentials = CredentialCheck(PushCredentialVault(pool, vault: vault), services: services)
    return try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await services.run() }
      defer { group.cancelAll() }
      return try await credentials.check(app)
    }
  }
}
