import ArgumentParser
import Delivery
import Hybrid
import Logging
import Outbox
import Postgres
import Registry
import Sendouts
import Subscriptions
import Wire

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Check everything that a hub with these settings needs.",
    discussion: """
      One line for each part says ok or wrong, and what to do. The push services of all apps are asked whether they accept the \
      apps' credentials; nobody gets a message. Nothing is changed, but a token that signs in to APNs may be made for all hubs. \
      The exit code is 0 when all is well.

      Example: pushcart check --config /etc/pushcart.json
      """)

  @OptionGroup(title: "Hub") var hub: ServeFlags
  @OptionGroup(title: "Database") var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var masterKeys: MasterKeyFlags
  @OptionGroup(title: "Push services") var providers: ProviderFlags

  func run() async throws {
    let given = hub.given + database.given + masterKeys.given + providers.given
    let settings: Settings
    do {
      settings = try await Settings.ofCommand(given, needsMasterKey: true)
    } catch let error as SettingsError {
      for problem in error.problems { StandardStream.output.line("wrong  settings         \(problem)") }
      throw ExitCode.failure
    }
    Logs.start(settings, usual: .critical)
    var isWell = true
    for await finding in Diagnostics(settings).findings() {
      isWell = isWell && finding.isWell
      let part = finding.part + String(repeating: " ", count: max(1, 17 - finding.part.count))
      StandardStream.output.line("\(finding.isWell ? "ok   " : "wrong")  \(part)\(finding.sentence.onOneLine)")
    }
    if !isWell { throw ExitCode.failure }
  }
}

struct MigrateCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "migrate", abstract: "Bring the database's schema up to date.",
    discussion: """
      Run it as the user that owns the schema; it needs no master key. Several may run at once: one works, the others wait. \
      Hubs of the previous release keep serving.

      Example: pushcart migrate --database-url postgres://pushcart@localhost/pushcart
      """)

  @OptionGroup var database: DatabaseFlags

  func run() async throws {
    var settings = try await Settings.ofCommand(database.given, needsMasterKey: false)
    settings.database.statementTimeout = .seconds(24 * 3600)
    Logs.start(settings)
    try await settings.withPool { pool in
      let applied = try await Migrator(pool, Migration.embedded).apply {
        StandardStream.output.line("applying \($0.name)")
      }
      StandardStream.output.line(applied.isEmpty ? "The schema is up to date." : "\(applied.count) applied.")
      for role in DatabaseRole.allCases {
        guard let remedy = try await role.remedy(pool) else { continue }
        StandardStream.output.line("The role \(role.rawValue) lacks its privileges. An administrator runs: \(remedy)")
      }
    }
  }
}

struct RekeyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rekey", abstract: "Seal everything under the current master key.",
    discussion: """
      To change the master key, first give every hub the new key as PUSHCART_MASTER_KEY and the current one as \
      PUSHCART_OLD_MASTER_KEYS. Restart the hubs, run this command, then remove the old key. The command can be stopped and \
      repeated at any time.

      Example: PUSHCART_OLD_MASTER_KEYS_FILE=old.key PUSHCART_MASTER_KEY_FILE=new.key pushcart rekey
      """)

  @OptionGroup var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var keys: MasterKeyFlags

  func run() async throws {
    let settings = try await Settings.ofCommand(database.given + keys.given, needsMasterKey: true)
    guard let keys = settings.masterKeys else { return }
    Logs.start(settings)
    let done = try await settings.withPool { pool in
      try await Rekey(pool, vault: Vault(keys), by: ManagementStores.osUser, columns: SealedColumn.all).run {
        progress in
        StandardStream.output.line("resealed: \(progress.resealed), already current: \(progress.current)")
      }
    }
    for place in done.unreadable { StandardStream.output.line("no given key opens \(place.onOneLine)") }
    guard done.unreadable.isEmpty else { throw ExitCode.failure }
    StandardStream.output.line("Everything is sealed under master key \(keys.currentID).")
  }
}

extension SealedColumn {
  /// Everything that is sealed with the master key.
  static let all = registry + outbox + hybrid + dataTrees
}

struct RetentionCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "retention", abstract: "Delete what is past its retention now, or tell what would go.",
    discussion: """
      Hubs do this every hour. Of sendouts that have ended it deletes pushes, messages and opens, and keeps row and totals. Of \
      devices it deletes the events. Partitions of which everything has expired are dropped; the rest goes row by row. A sendout \
      that is paused for longer than its retention is cancelled. It can be stopped and repeated at any time.

      Example: pushcart retention --retention-days 365 --dry-run
      """)

  @OptionGroup var database: DatabaseFlags
  @OptionGroup var retention: RetentionFlags
  @Flag(help: "Delete nothing, and tell what would go.") var dryRun = false

  func run() async throws {
    let settings = try await Settings.ofCommand(database.given + retention.given, needsMasterKey: false)
    Logs.start(settings)
    let isTrial = dryRun
    let expired = try await settings.withPool { pool in
      let retention = Retention(pool, days: settings.retentionDays, logger: Logger(label: "retention"))
      if !isTrial { try await retention.makePartitions() }
      return try await retention.run(isTrial: isTrial)
    }
    for partition in expired.partitions {
      StandardStream.output.line("partition \(partition.name), about \(partition.knownRows) rows")
    }
    for rows in expired.customers {
      let events = isTrial ? "" : ", \(rows.deviceEvents) device events"
      StandardStream.output.line("customer \(rows.customer): \(rows.sendouts) sendouts, \(rows.pushes) pushes\(events)")
    }
    guard expired.failures == 0 else {
      throw CommandFailure("Not everything is deleted: it failed for \(expired.failures) customers, as logged above.")
    }
    guard !expired.isEmpty else { return StandardStream.output.line("Nothing has expired.") }
    StandardStream.output.line(isTrial ? "Nothing was deleted: this was a dry run." : "All of this is deleted.")
  }
}

struct RecountCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "recount", abstract: "Count anew what each contact received and opened.",
    discussion: """
      Filters such as `received >= 3 within 30 days` read these counts. Hubs keep them up by themselves; run this after pushes were \
      changed by hand, and after retention was lifted. Hubs may run meanwhile. It can be stopped at any time, and goes on with --after.

      Example: pushcart recount --customer 1
      """)

  @OptionGroup var database: DatabaseFlags
  @Option(help: "Number of the customer; all customers without it.") var customer: CustomerID?
  @Option(help: "Begin behind the contact of this number, as the last line of a run that was stopped has it.")
  var after: Int64?

  func validate() throws {
    if after != nil, customer == nil { throw ValidationError("Give --customer with --after.") }
  }

  func run() async throws {
    let settings = try await Settings.ofCommand(database.given, needsMasterKey: false)
    Logs.start(settings)
    let (chosen, start) = (customer, after ?? 0)
    try await settings.withPool { pool in
      let known = try await Customers(pool).all().map(\.id)
      if let chosen, !known.contains(chosen) { throw CommandFailure("There is no customer \(chosen).") }
      for customer in chosen.map({ [$0] }) ?? known {
        let count = try await Self.recount(customer, after: start, in: ContactActivity(pool))
        StandardStream.output.line("customer \(customer): \(count) contacts are counted")
      }
    }
  }

  /// - Returns: how many contacts there were.
  private static func recount(
    _ customer: CustomerID, after start: Int64, in activity: ContactActivity
  ) async throws -> Int {
    var (last, count, told) = (start, 0, ContinuousClock.now)
    while true {
      let counted = try await activity.recount(customer, after: last)
      guard let next = counted.last else { return count }
      last = next
      count += counted.contacts
      if ContinuousClock.now - told > .seconds(1) {
        told = .now
        StandardStream.output.line("customer \(customer): \(count) contacts, the last one is \(last)")
      }
    }
  }
}
