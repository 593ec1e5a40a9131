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
  var site = SiteSettings()
  var publicURL: String
  /// Not for people to set: the demo lets its phone page show rich pages in a frame.
  var pages = PageSettings()
  var drain: Duration
  var apns = APNsSettings()
  /// Nil leaves it to the command: a hub tells more than a tool.
  var logLevel: Logger.Level?
  var logFormat: LogFormat

  /// - Parameters:
  ///   - flags: what the command line says.
  ///   - needsMasterKey: whether the command can do nothing without one.
  ///   - local: settings of the private hub in this folder, for what nothing else says; nil to leave them out.
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
    database = PoolConfiguration(connectionString: reader.secret(.databaseURL) ?? "")
    if database.connectionString.isEmpty {
      reader.missing(.databaseURL, LocalHub.isAsleep ? "or start the private hub in this folder: pushcart demo" : nil)
    }
    database.sharedConnections = reader.number(.databaseConnections, in: 1...100)
    database.lentConnections = reader.number(.databaseTransactions, in: 1...100)

    masterKeys = Self.masterKeys(from: &reader, needed: needsMasterKey)

    site.host = reader.text(.host) ?? site.host
    site.port = reader.number(.port, in: 0...65535)
    publicURL = reader.url(.publicURL, schemes: ["http", "https"]) ?? Self.address(site)
    drain = .seconds(reader.number(.drainSeconds, in: 0...25))

    apns.productionURL = reader.url(.apnsProductionURL, schemes: ["https"]) ?? apns.productionURL
    apns.sandboxURL = reader.url(.apnsSandboxURL, schemes: ["https"]) ?? apns.sandboxURL
    apns.caFile = reader.readableFile(.providerCAFile)

    logLevel = reader.choice(.logLevel, Logger.Level.self)
    logFormat = reader.choice(.logFormat, LogFormat.self) ?? .auto
  }

  /// Where the hub answers itself, for a hub that nothing stands in front of.
  private static func address(_ site: SiteSettings) -> String {
    let host = ["0.0.0.0", "::"].contains(site.host) ? "localhost" : site.host
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(site.port)"
  }

  private static func masterKeys(from reader: inout SettingsReader, needed: Bool) -> MasterKeys? {
    let current = reader.secret(.masterKey)
    let older = reader.secret(.oldMasterKeys).map { $0.split(separator: ",").map(String.init) } ?? []
    guard let current else {
      if needed { reader.missing(.masterKey) }
      return nil
    }
    do {
      return try MasterKeys(
        current: current, older: older, setting: Setting.masterKey.variable,
        olderSetting: Setting.oldMasterKeys.variable)
    } catch {
      if case .invalid(let variable, let problem) = error {
        let setting = [Setting.masterKey, .oldMasterKeys].first { $0.variable == variable } ?? .masterKey
        reader.wrong(setting, problem)
      }
      return nil
    }
  }
}
