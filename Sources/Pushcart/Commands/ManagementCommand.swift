import ArgumentParser
import Content
import Delivery
import FoundationEssentials
import Logging
import Operations
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
    } naming: {
      OptionNames(of: Self.self).naming($0)
    }
  }
}

/// A command that calls one operation for a customer, and shows its reply.
protocol OperationCommand: ManagementCommand, OperationCalling {
  associatedtype Target: Sendable = Void
  associatedtype Body: Sendable = Void
  associatedtype Reply: APIObject
  static var operation: Operation<Target, Body, Reply> { get }
  var customer: CustomerID { get }
  /// What it is called for, as the operation's path and query have it.
  var target: Target { get throws }
  /// What it is called with.
  var body: Body { get throws }
  /// What people see of the reply.
  func text(_ reply: Reply) -> String
  /// Whether the exit status is 0.
  func isSuccess(_ reply: Reply) -> Bool
  /// The command with numbers in place of the names that it looks up.
  func resolved(in stores: ManagementStores) async throws -> Self
}

extension OperationCommand {
  static var operationID: String { operation.description.id }

  func isSuccess(_: Reply) -> Bool { true }
  func resolved(in _: ManagementStores) async throws -> Self { self }

  func run(in stores: ManagementStores) async throws {
    let command = try await resolved(in: stores)
    let reply = try await stores.call(Self.operation, of: customer, try command.target, try command.body)
    try options.output.show(reply, for: command.text)
    if !isSuccess(reply) { throw ExitCode.failure }
  }
}

/// A command that changes one of the things that a customer numbers and names, and says so.
protocol ChangingCommand: OperationCommand where Reply: NumberedReply {}

extension ChangingCommand {
  /// As in `Trigger 1, Order shipped, is added.`
  func text(_ reply: Reply) -> String {
    let title = Reply.noun.prefix(1).uppercased() + Reply.noun.dropFirst()
    return "\(title) \(reply.number), \(reply.name.onOneLine), is \(Self.operation.description.done).\n"
  }
}

/// A command about one of the things that a customer numbers.
protocol NumberedCommand: OperationCommand {
  associatedtype Thing: NumberedThing where Thing.Number: ExpressibleByArgument
  var which: NumberOptions<Thing> { get }
}

extension NumberedCommand {
  var customer: CustomerID { which.customer }
}

extension NumberedCommand where Target == Thing.Number {
  var target: Thing.Number { which.number }
}

extension OperationCommand where Target == Void { var target: Void { () } }
extension OperationCommand where Body == Void { var body: Void { () } }

/// A command that lists all that a customer has of something.
protocol ListingCommand: ManagementCommand, OperationCalling {
  associatedtype Item: APIObject
  associatedtype Cursor: Codable & Sendable & SchemaProviding
  typealias Column = TableColumn<Item>
  static var operation: Operation<PageRequest<Cursor>, Void, Page<Item, Cursor>> { get }
  /// What is listed, as in `triggers`.
  static var things: String { get }
  static var columns: [Column] { get }
  var common: CustomerOptions { get }
}

extension ListingCommand {
  static var operationID: String { operation.description.id }

  var options: ManagementOptions { common.options }

  func run(in stores: ManagementStores) async throws {
    var whole = Page<Item, Cursor>(items: [])
    var page = PageRequest<Cursor>(limit: PageRequest<Cursor>.limits.upperBound)
    repeat {
      let found = try await stores.call(Self.operation, of: common.customer, page, ())
      whole.items += found.items
      page.after = found.next
    } while page.after != nil
    try options.output.show(whole) {
      TextTable(Self.columns, of: $0.items).text(empty: "Customer \(common.customer) has no \(Self.things).")
    }
  }
}

/// Options of commands that need nothing but the customer.
struct CustomerOptions: ParsableArguments {
  @Option(help: "Number of the customer.") var customer: CustomerID
  @OptionGroup var options: ManagementOptions
}

/// Which of the things that a customer numbers.
struct NumberOptions<Thing: NumberedThing>: ParsableArguments where Thing.Number: ExpressibleByArgument {
  @Argument(help: ArgumentHelp("Number of the \(Thing.noun).", valueName: Thing.noun)) var number: Thing.Number
  @Option(help: "Number of the customer.") var customer: CustomerID
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

  private init(_ settings: Settings) {
    self.settings = settings
    logger = Logger(label: "pushcart") { _ in SwiftLogNoOpLogHandler() }
    pool = Pool(settings.database, logger: logger)
    customers = Customers(pool)
  }

  /// What operations work with.
  private var parts: OperationParts {
    OperationParts(
      database: pool, slowReads: pool, vault: settings.masterKeys.map { Vault($0) },
      smsRule: settings.pushServices.endpoints.sms, webhookRule: settings.pushServices.endpoints.webhook,
      retentionDays: settings.retentionDays,
      statusAddresses: { try await SMSStatusAddresses.load($0, vault: try vault, publicURL: settings.publicURL) },
      suppressionKey: { try await SuppressionKey.load($0, vault: try vault) },
      checkCredentials: check, messages: { try messages })
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
  /// Their name in the operating system.
  static var osUser: String { ProcessInfo.processInfo.userName }

  /// Calls an operation. What changes something runs in one transaction, together with its line in the audit log.
  func call<Target, Body, Reply>(
    _ operation: Operation<Target, Body, Reply>, of customer: CustomerID, _ target: Target, _ body: Body
  ) async throws -> Reply {
    guard operation.audit != nil else {
      let call = OperationCall(reading: parts, of: customer) { note in
        try await pool.transaction(of: customer.rawValue, locks: .brief) {
          try await note(ManagementChange($0, customer: customer, actor: Self.actor))
        }
      }
      return try await operation.run(call, target, body)
    }
    return try await pool.transaction(of: customer.rawValue, limit: Ledger.wholeSendoutLimit, locks: .brief) {
      let change = ManagementChange($0, customer: customer, actor: Self.actor)
      return try await operation.run(OperationCall(change, parts), target, body)
    }
  }

  /// Runs `work` with the stores, then closes their connections.
  /// - Parameter naming: puts options in place of the fields that a refusal names.
  /// - Throws: `CommandFailure`, or `SettingsError`.
  static func open(
    _ given: [Given], needsMasterKey: Bool, _ work: (ManagementStores) async throws -> Void,
    naming: (String) -> String
  ) async throws {
    var settings = try await Settings.ofCommand(given, needsMasterKey: needsMasterKey)
    settings.database.applicationName = "pushcart command"
    let stores = ManagementStores(settings)
    do {
      try await work(stores)
    } catch {
      await stores.pool.close()
      throw CommandFailure.wrapping(error, naming: naming)
    }
    await stores.pool.close()
  }

  /// Asks the push service about an app's credentials; `nil` if it has none.
  private func check(_ app: PushApp) async throws -> PushAppCheckReply? {
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
