import ArgumentParser
import CoreMetrics
import Logging
import Registry
import Web

struct ServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve", abstract: "Run the hub.",
    discussion: """
      A setting is a flag, the variable in [brackets], or a key of the JSON file that --config names; the first of these \
      decides. Master keys cannot be flags, since every user of the machine can read flags: use PUSHCART_MASTER_KEY and \
      PUSHCART_OLD_MASTER_KEYS.

      Example: DATABASE_URL=postgres://pushcart@localhost/pushcart PUSHCART_MASTER_KEY_FILE=master.key pushcart serve
      """)

  @OptionGroup(title: "Hub") var hub: ServeFlags
  @OptionGroup(title: "Database") var database: DatabaseFlags
  @OptionGroup(title: "Secrets") var masterKeys: MasterKeyFlags
  @OptionGroup(title: "Push services") var providers: ProviderFlags

  func run() async throws {
    let settings = try await Settings.read(
      hub.given + database.given + masterKeys.given + providers.given, needsMasterKey: true)
    guard let masterKeys = settings.masterKeys else { return }
    try TCPPort.require(settings.server.port, on: settings.server.host, flag: Setting.port.variable)
    if let operations = settings.operations {
      try TCPPort.require(operations.port, on: operations.host, flag: Setting.operationsPort.variable)
    }
    Logs.start(settings, usual: .info)
    let metrics = MetricsRegistry()
    MetricsSystem.bootstrap(metrics)
    let logger = Logger(label: "hub")
    for warning in settings.warnings { logger.warning("\(warning)") }
    let hub = Hub(settings: settings, masterKeys: masterKeys, metrics: metrics, logger: logger)
    do {
      try await hub.run { port in
        logger.info(
          "listening",
          metadata: [
            "host": "\(settings.server.host)", "port": "\(port)", "public_url": "\(settings.publicURL)",
            "master_key": "\(masterKeys.currentID)",
          ])
      }
    } catch {
      throw CommandFailure.wrapping(error)
    }
    logger.info("stopped")
  }
}
