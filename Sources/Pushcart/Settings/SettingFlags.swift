import ArgumentParser

/// Flags of every command that uses the database.
struct DatabaseFlags: ParsableArguments {
  @Option(help: .setting(.databaseURL)) var databaseURL: String?
  @Option(help: .setting(.databaseURL.fromFile, of: .databaseURL)) var databaseURLFile: String?
  @Option(help: .setting(.config)) var config: String?
  @Option(help: .setting(.logLevel)) var logLevel: String?
  @Option(help: .setting(.logFormat)) var logFormat: String?

  var given: [Given] {
    [
      (.databaseURL, databaseURL), (.databaseURL.fromFile, databaseURLFile), (.config, config), (.logLevel, logLevel),
      (.logFormat, logFormat),
    ]
  }
}

/// Flags of the master keys. A key itself cannot be a flag, since every user of the machine can read flags.
struct MasterKeyFlags: ParsableArguments {
  @Option(help: .setting(.masterKey.fromFile, of: .masterKey)) var masterKeyFile: String?
  @Option(help: .setting(.oldMasterKeys.fromFile, of: .oldMasterKeys)) var oldMasterKeysFile: String?

  var given: [Given] {
    [(.masterKey.fromFile, masterKeyFile), (.oldMasterKeys.fromFile, oldMasterKeysFile)]
  }
}

/// Flags of the push services' addresses.
typealias ProviderFlags = TableOptions<ProviderSettings>

enum ProviderSettings: OptionTable {
  static let all = Setting.ofServices + [.providerCAFile]

  static var options: [(name: String, option: Option<String?>)] {
    all.map { ($0.name, Option(name: .customLong($0.name), help: .setting($0))) }
  }
}

extension TableOptions<ProviderSettings> {
  var given: [Given] { zip(ProviderSettings.all, values).map { ($0, $1.value) } }
}

/// Flags of retention.
struct RetentionFlags: ParsableArguments {
  @Option(help: .setting(.retentionDays)) var retentionDays: String?

  var given: [Given] { [(.retentionDays, retentionDays)] }
}

/// Flags that only a running hub needs.
struct ServeFlags: ParsableArguments {
  @Option(help: .setting(.host)) var host: String?
  @Option(help: .setting(.port)) var port: String?
  @Option(help: .setting(.operationsHost)) var operationsHost: String?
  @Option(help: .setting(.operationsPort)) var operationsPort: String?
  @Option(help: .setting(.publicURL)) var publicURL: String?
  @Option(help: .setting(.trustedProxies)) var trustedProxies: String?
  @Option(help: .setting(.connectionsPerAddress)) var connectionsPerAddress: String?
  @Option(help: .setting(.addressRate)) var addressRate: String?
  @Option(help: .setting(.keyRate)) var keyRate: String?
  @Option(help: .setting(.linkRate)) var linkRate: String?
  @Option(help: .setting(.pageFrameAncestors)) var pageFrameAncestors: String?
  @Option(help: .setting(.pnm2Customer)) var pnm2Customer: String?
  @Option(help: .setting(.pnm2AllowedNetworks)) var pnm2AllowedNetworks: String?
  @Option(help: .setting(.geoIPFile)) var geoipFile: String?
  @Option(help: .setting(.drainSeconds)) var drainSeconds: String?
  @Option(help: .setting(.pushesInFlight)) var pushesInFlight: String?
  @OptionGroup var retention: RetentionFlags
  @Option(help: .setting(.databaseConnections)) var databaseConnections: String?
  @Option(help: .setting(.databaseTransactions)) var databaseTransactions: String?

  var given: [Given] {
    [
      (.host, host), (.port, port), (.operationsHost, operationsHost), (.operationsPort, operationsPort),
      (.publicURL, publicURL), (.trustedProxies, trustedProxies), (.connectionsPerAddress, connectionsPerAddress),
      (.addressRate, addressRate),
      (.keyRate, keyRate), (.linkRate, linkRate),
      (.pageFrameAncestors, pageFrameAncestors),
      (.pnm2Customer, pnm2Customer), (.pnm2AllowedNetworks, pnm2AllowedNetworks),
      (.geoIPFile, geoipFile), (.drainSeconds, drainSeconds),
      (.pushesInFlight, pushesInFlight),
      (.databaseConnections, databaseConnections), (.databaseTransactions, databaseTransactions),
    ] + retention.given
  }
}

/// A setting and the value of its flag.
typealias Given = (setting: Setting, value: String?)

extension ArgumentHelp {
  /// The setting's help, its name in the environment, and its default.
  fileprivate static func setting(_ setting: Setting, of owner: Setting? = nil) -> ArgumentHelp {
    let words = owner.map { "file that holds \($0.variable): \($0.help)" } ?? setting.help
    let fallback = setting.fallback.map { " (default: \($0))" } ?? ""
    return ArgumentHelp(stringLiteral: "\(words) [\(setting.variable)]\(fallback)")
  }
}
