import ArgumentParser

/// Settings that are flags of a command.
protocol SettingTable: OptionTable where Value == String? {
  /// In the order of help.
  static var settings: [Setting] { get }
}

extension SettingTable {
  static var options: [(name: String, option: Option<String?>)] {
    settings.map { setting in
      let fallback = setting.fallback.map { " (default: \($0))" } ?? ""
      let help = ArgumentHelp(stringLiteral: "\(setting.help) [\(setting.variable)]\(fallback)")
      return (setting.name, Option(name: .customLong(setting.name), help: help))
    }
  }
}

extension TableOptions where Table: SettingTable {
  var given: [Given] { zip(Table.settings, values).map { ($0, $1.value) } }
}

/// Flags of every command that uses the database.
typealias DatabaseFlags = TableOptions<DatabaseSettings>

enum DatabaseSettings: SettingTable {
  static let settings: [Setting] = [.databaseURL, .databaseURL.fromFile, .config, .logLevel, .logFormat]
}

/// Flags of the master keys. A key itself cannot be a flag, since every user of the machine can read flags.
typealias MasterKeyFlags = TableOptions<MasterKeySettings>

enum MasterKeySettings: SettingTable {
  static let settings: [Setting] = [.masterKey.fromFile, .oldMasterKeys.fromFile]
}

/// Flags of the push services' addresses.
typealias ProviderFlags = TableOptions<ProviderSettings>

enum ProviderSettings: SettingTable {
  static let settings = Setting.ofServices + [.providerCAFile]
}

/// Flags of retention.
typealias RetentionFlags = TableOptions<RetentionSettings>

enum RetentionSettings: SettingTable {
  static let settings: [Setting] = [.retentionDays]
}

/// Flags that only a running hub needs.
typealias ServeFlags = TableOptions<ServeSettings>

enum ServeSettings: SettingTable {
  static let settings: [Setting] = [
    .host, .port, .operationsHost, .operationsPort, .publicURL, .consoleURL, .oidcIssuer, .oidcClientID,
    .oidcClientSecret.fromFile, .oidcScopes, .oidcRolesClaim, .oidcRoles, .oidcName, .oidcTrustEmail, .oidcOnly,
    .trustedProxies, .connectionsPerAddress, .addressRate, .keyRate, .linkRate, .pageFrameAncestors, .pnm2Customer,
    .pnm2AllowedNetworks, .geoIPFile, .drainSeconds, .pushesInFlight, .retentionDays, .databaseConnections,
    .databaseTransactions,
  ]
}

/// A setting and the value of its flag.
typealias Given = (setting: Setting, value: String?)
