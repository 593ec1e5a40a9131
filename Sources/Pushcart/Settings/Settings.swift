import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Web

/// Everything that was set, read once; small structs of it are handed down the stairs.
struct Settings: Sendable {
  enum LogFormat: String, CaseIterable { case auto, json, text }

  var database: PoolConfiguration
  /// Nil only when none was given to a command that can do without.
  var masterKeys: MasterKeys?
  var site = WebServerSettings()
  var publicURL: String
  var pages = PageSettings()
  var drain: Duration
  var apns: APNsSettings
  /// Nil leaves it to the command: a hub tells more than a tool.
  var logLevel: Logger.Level?
  var logFormat: LogFormat
  /// What is set and most likely meant otherwise: a sentence each, without its full stop.
  let warnings: [String]

  /// - Parameters:
  ///   - flags: what the command line says.
  ///   - needsMasterKey: whether the command can do nothing without one.
  ///   - local: settings of the private hub in this folder, for when nothing else names a database; nil to leave them out.
  /// - Throws: `SettingsError` with all that is missing or wrong.
  static func read(
    _ flags: [Given], needsMasterKey: Bool, local: String? = LocalHub.settingsIfPresent,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) async throws -> Settings {
    var reader = await SettingsReader(flags: flags, environment: environment, local: local)
    let settings = Settings(from: &reader, needsMasterKey: needsMasterKey)
    try reader.finish()
    return settings
  }

  private init(from reader: inout SettingsReader, needsMasterKey: Bool) {
    database = Self.database(from: &reader)
    database.sharedConnections = reader.number(.databaseConnections, in: 1...100)
    database.lentConnections = reader.number(.databaseTransactions, in: 1...100)

    masterKeys = Self.masterKeys(from: &reader, needed: needsMasterKey)

    site.host = reader.text(.host) ?? site.host
    if !TCPPort.isHere(site.host) { reader.wrong(.host, "must be an address of this machine") }
    site.port = reader.number(.port, in: 0...65535)
    publicURL = reader.url(.publicURL, schemes: ["http", "https"]) ?? Self.address(site)
    pages.frameAncestors = reader.frameAncestors(.pageFrameAncestors) ?? pages.frameAncestors
    drain = .seconds(reader.number(.drainSeconds, in: 0...25))

    apns = Self.apns(from: &reader)

    logLevel = reader.choice(.logLevel, Logger.Level.self)
    logFormat = reader.choice(.logFormat, LogFormat.self) ?? .auto
    warnings = reader.warnings
  }

  private static func database(from reader: inout SettingsReader) -> PoolConfiguration {
    let text = reader.secret(
      .databaseURL, isNeeded: true,
      or: LocalHub.isAsleep ? "or start the private hub in this folder: pushcart demo" : nil)
    let configuration = PoolConfiguration(connectionString: text ?? "")
    if text != nil, let problem = configuration.problem { reader.wrong(.databaseURL, problem) }
    return configuration
  }

  /// Where the hub answers itself, for a hub that nothing stands in front of.
  private static func address(_ site: WebServerSettings) -> String {
    let host = ["0.0.0.0", "::"].contains(site.host) ? "localhost" : site.host
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(site.port)"
  }

  private static func apns(from reader: inout SettingsReader) -> APNsSettings {
    var apns = APNsSettings()
    for (setting, url) in [
      (Setting.apnsProductionURL, \APNsSettings.productionURL), (.apnsSandboxURL, \.sandboxURL),
    ] {
      apns[keyPath: url] = reader.text(setting) ?? apns[keyPath: url]
      if !APNsSettings.isAddress(apns[keyPath: url]) {
        reader.wrong(setting, "must be https://host or https://host:port")
      }
    }
    apns.caFile = reader.text(.providerCAFile)
    if !apns.hasUsableCAFile { reader.wrong(.providerCAFile, "must name a PEM file of certificates") }
    return apns
  }

  private static func masterKeys(from reader: inout SettingsReader, needed: Bool) -> MasterKeys? {
    let current = reader.secret(.masterKey, isNeeded: needed)
    let older = reader.secret(.oldMasterKeys, isNeeded: false).map { $0.split(separator: ",").map(String.init) } ?? []
    if let current, let problem = MasterKeys.problem(with: current) { reader.wrong(.masterKey, problem) }
    for (number, key) in zip(1..., older) {
      guard let problem = MasterKeys.problem(with: key) else { continue }
      reader.wrong(.oldMasterKeys, older.count == 1 ? problem : "(number \(number) of them) \(problem)")
    }
    // What is wrong with them has been noted.
    return current.flatMap { try? MasterKeys(current: $0, older: older) }
  }
}
