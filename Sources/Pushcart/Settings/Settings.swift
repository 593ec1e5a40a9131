import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Web
import Wire

/// All settings, read once. The rooms below get small structs of them.
struct Settings: Sendable {
  enum LogFormat: String, CaseIterable { case auto, json, text }

  var database: PoolConfiguration
  /// Nil only for a command that works without.
  var masterKeys: MasterKeys?
  var server = WebServerSettings()
  /// The listener for operators; nil if the first one serves them, too.
  var operations: WebServerSettings?
  /// Most requests a second with one access key; 0 for any number.
  var requestsPerKey: Int
  var publicURL: String
  /// Where users open the console, without a slash at its end.
  var consoleURL: String
  /// How people sign in to the console by an OpenID provider; nil without one.
  var openID: OpenIDSettings?
  var pages = PageSettings()
  var softphone = SoftphoneSettings()
  var drain: Duration
  var pushesInFlight: Int
  /// Nil for ever.
  var retentionDays: Int32?
  var pushServices: PushServiceSettings
  /// Tells phones their country; nil without.
  var countries: CountryDatabase?
  /// Nil leaves it to the command: a hub logs more than a tool.
  var logLevel: Logger.Level?
  var logFormat: LogFormat
  /// Settings that are probably mistakes: a sentence each, without its full stop.
  let warnings: [String]
  /// The settings file of the private hub in this folder, if it was used.
  let localFile: String?

  /// - Parameters:
  ///   - flags: from the command line.
  ///   - needsMasterKey: whether the command needs a master key.
  ///   - local: the private hub in this folder, whose settings apply when nothing else names a database; nil to ignore it.
  ///   - whenLocal: called with its file if they apply, before they are checked.
  /// - Throws: `SettingsError` with everything that is missing or wrong.
  static func read(
    _ flags: [Given], needsMasterKey: Bool, local: LocalHub? = nil,
    environment: [String: String] = ProcessInfo.processInfo.environment, whenLocal: (String) -> Void = { _ in }
  ) async throws -> Settings {
    var reader = await SettingsReader(flags: flags, environment: environment, local: local)
    if let file = reader.localFile { whenLocal(file) }
    let settings = Settings(from: &reader, needsMasterKey: needsMasterKey)
    try reader.finish()
    return settings
  }

  /// The settings of a command that also works on the private hub in this folder. If its file is used, standard error names that before
  /// anything else: the person at the terminal did not name it, and what follows is about it.
  static func ofCommand(_ flags: [Given], needsMasterKey: Bool) async throws -> Settings {
    try await read(flags, needsMasterKey: needsMasterKey, local: LocalHub()) { file in
      StandardStream.error.line("Using the private hub of this folder: \(file)")
    }
  }

  /// Connections to the database for as long as `body` runs: for commands that do one thing and end.
  func withPool<Answer: Sendable>(_ body: (Pool) async throws -> Answer) async throws -> Answer {
    let pool = Pool(database, logger: Logger(label: "postgres"))
    do {
      let answer = try await body(pool)
      await pool.close()
      return answer
    } catch {
      await pool.close()
      throw error
    }
  }

  private init(from reader: inout SettingsReader, needsMasterKey: Bool) {
    database = Self.database(from: &reader)
    database.sharedConnections = reader.number(.databaseConnections, in: 1...100)
    database.dedicatedConnections = reader.number(.databaseTransactions, in: 1...100)

    masterKeys = Self.masterKeys(from: &reader, needed: needsMasterKey)

    server.host = reader.text(.host) ?? server.host
    if !TCPPort.isHere(server.host) { reader.wrong(.host, "must be an address of this machine") }
    server.port = reader.number(.port, in: 0...65535)
    server.limits.connectionsPerAddress = reader.number(.connectionsPerAddress, in: 0...1_000_000)
    server.requestsPerAddress = reader.number(.addressRate, in: 0...1_000_000)
    server.trustedProxies = Self.trustedProxies(from: &reader)
    operations = Self.operations(from: &reader)
    operations?.trustedProxies = server.trustedProxies
    if let operations, operations.port == server.port, operations.host == server.host {
      reader.wrong(.operationsPort, "must differ from \(Setting.port.variable)")
    }
    requestsPerKey = reader.number(.keyRate, in: 0...1_000_000)
    publicURL = reader.url(.publicURL, schemes: ["http", "https"]) ?? Self.address(server)
    consoleURL = reader.url(.consoleURL, schemes: ["http", "https"]) ?? operations.map(Self.address) ?? publicURL
    openID = Self.openID(from: &reader)
    pages.requestsPerLink = reader.number(.linkRate, in: 0...1_000_000)
    pages.frameAncestors = reader.frameAncestors(.pageFrameAncestors) ?? pages.frameAncestors
    softphone = Self.softphone(from: &reader)
    drain = .seconds(reader.number(.drainSeconds, in: 0...25))
    pushesInFlight = reader.number(.pushesInFlight, in: 10...100_000)
    let retention = reader.number(.retentionDays, in: 0...36_500)
    retentionDays = retention == 0 ? nil : Int32(retention)

    pushServices = Self.pushServices(from: &reader)
    // APNs takes 1,000 pushes at a time on a connection, others a hundred or so.
    pushServices.connectionsPerPool = max(pushServices.connectionsPerPool, min(pushesInFlight / 500, 32))
    pushServices.webPushContact = Self.contact(publicURL)

    if let file = reader.text(.geoIPFile) {
      countries = CountryDatabase(file)
      if countries == nil { reader.wrong(.geoIPFile, "must name a readable MaxMind database (.mmdb)") }
    }

    logLevel = reader.choice(.logLevel, Logger.Level.self)
    logFormat = reader.choice(.logFormat, LogFormat.self) ?? .auto
    warnings = reader.warnings
    localFile = reader.localFile
  }

  private static func database(from reader: inout SettingsReader) -> PoolConfiguration {
    let text = reader.secret(
      .databaseURL, isNeeded: true,
      or: reader.hasStoppedHub ? "or start the private hub in this folder: pushcart demo" : nil)
    let configuration = PoolConfiguration(connectionString: text ?? "")
    if text != nil, let problem = configuration.problem { reader.wrong(.databaseURL, problem) }
    if let flag = reader.given(.databaseURL), PoolConfiguration(connectionString: flag).holdsPassword {
      reader.wrong(
        .databaseURL,
        "must not hold a password as a flag, since every user of this machine can read flags; set the variable, "
          + "use --database-url-file, or put the password into ~/.pgpass or a PGSERVICE")
    }
    return configuration
  }

  private static func trustedProxies(from reader: inout SettingsReader) -> TrustedProxies {
    guard let text = reader.text(.trustedProxies) else { return TrustedProxies() }
    if let proxies = TrustedProxies(text) { return proxies }
    reader.wrong(.trustedProxies, "must be addresses or networks, separated by commas, as in 127.0.0.1,10.0.7.0/29")
    return TrustedProxies()
  }

  private static func softphone(from reader: inout SettingsReader) -> SoftphoneSettings {
    var settings = SoftphoneSettings()
    let (customer, networks) = (reader.text(.pnm2Customer), reader.text(.pnm2AllowedNetworks))
    settings.customer = customer.flatMap { CustomerID($0) }
    if customer != nil, settings.customer == nil { reader.wrong(.pnm2Customer, "must be the number of a customer") }
    if let networks {
      settings.networks = IPNetworks(networks) ?? settings.networks
      if IPNetworks(networks) == nil {
        reader.wrong(
          .pnm2AllowedNetworks, "must be addresses or networks, separated by commas, as in 10.0.7.0/29,fd00::1")
      }
    }
    if (customer == nil) != (networks == nil) {
      let absent: Setting = customer == nil ? .pnm2Customer : .pnm2AllowedNetworks
      reader.wrong(absent, "must be set where its counterpart is: a gateway without keys needs both")
    }
    return settings
  }

  /// Nil without an issuer; then nothing else of it may be set.
  private static func openID(from reader: inout SettingsReader) -> OpenIDSettings? {
    let (issuer, clientID) = (reader.text(.oidcIssuer), reader.text(.oidcClientID))
    let secret = reader.secret(.oidcClientSecret, isNeeded: false)
    let scopes = reader.text(.oidcScopes)
    let claim = reader.text(.oidcRolesClaim)
    let grants = reader.text(.oidcRoles)
    let name = reader.text(.oidcName)
    let (trustsEmail, isOnly) = (reader.flag(.oidcTrustEmail), reader.flag(.oidcOnly))
    guard let issuer, let clientID else {
      let isAnySet =
        [issuer, clientID, secret, scopes, claim, grants, name].contains { $0 != nil } || trustsEmail || isOnly
      if isAnySet {
        for (setting, value) in [(Setting.oidcIssuer, issuer), (.oidcClientID, clientID)] where value == nil {
          reader.wrong(setting, "must be set where another setting of the OpenID provider is")
        }
      }
      return nil
    }
    if !PushServiceSettings.isAddress(issuer), !PushServiceSettings.isAddressWithPath(issuer) {
      reader.wrong(.oidcIssuer, "must be https://host or https://host/path")
    }
    var settings = OpenIDSettings(issuer: issuer, clientID: clientID)
    settings.clientSecret = secret.map { Secret($0) }
    settings.scopes = scopes ?? settings.scopes
    if !settings.scopes.split(separator: " ").contains("openid") {
      reader.wrong(.oidcScopes, "must have openid among the scopes, separated by blanks")
    }
    settings.rolesClaim = claim ?? settings.rolesClaim
    if let grants {
      settings.grants = OpenIDGrant.list(grants) ?? []
      if settings.grants.isEmpty {
        reader.wrong(
          .oidcRoles,
          "must be values with a role and a customer, by comma, as in push-admins=owner:1,push-sales=marketer:1")
      }
    }
    settings.name = name ?? settings.name
    (settings.trustsEmail, settings.isOnly) = (trustsEmail, isOnly)
    return settings
  }

  private static func operations(from reader: inout SettingsReader) -> WebServerSettings? {
    var settings = WebServerSettings()
    settings.host = reader.text(.operationsHost) ?? settings.host
    if !TCPPort.isHere(settings.host) { reader.wrong(.operationsHost, "must be an address of this machine") }
    settings.port = reader.number(.operationsPort, in: 0...65535)
    return settings.port == 0 ? nil : settings
  }

  /// Where the hub answers itself, for a hub without a reverse proxy.
  private static func address(_ server: WebServerSettings) -> String {
    let host = ["0.0.0.0", "::"].contains(server.host) ? "localhost" : server.host
    return "http://\(host.contains(":") ? "[\(host)]" : host):\(server.port)"
  }

  /// Push services of browsers take no http address.
  private static func contact(_ publicURL: String) -> String {
    if publicURL.hasPrefix("https://") { return publicURL }
    return "mailto:postmaster@\(URLComponents(string: publicURL)?.host ?? "localhost")"
  }

  private static func pushServices(from reader: inout SettingsReader) -> PushServiceSettings {
    var services = PushServiceSettings()
    for known in PushService.all.flatMap(\.settings) + [.webhookAllowedHosts] {
      let setting = Setting(known)
      guard let text = reader.text(setting) else { continue }
      switch known.kind {
      case .address:
        services[known] = text
        if !PushServiceSettings.isAddress(text) { reader.wrong(setting, "must be https://host or https://host:port") }
      case .addressWithPath:
        services[known] = text
        if !PushServiceSettings.isAddressWithPath(text) {
          reader.wrong(setting, "must be https://host/path or https://host:port/path")
        }
      case .hosts(let rule):
        services.endpoints[keyPath: rule].listed = HostList(text)
        if services.endpoints[keyPath: rule].listed == nil {
          reader.wrong(setting, "must be hosts as in push.example.com, example.com:8443 or *.example.com, by comma")
        }
      }
    }
    services.caFile = reader.text(.providerCAFile)
    if !services.hasUsableCAFile { reader.wrong(.providerCAFile, "must name a PEM file of certificates") }
    return services
  }

  private static func masterKeys(from reader: inout SettingsReader, needed: Bool) -> MasterKeys? {
    let current = reader.secret(.masterKey, isNeeded: needed)
    let older = reader.secret(.oldMasterKeys, isNeeded: false).map { $0.split(separator: ",").map(String.init) } ?? []
    if let current, let problem = MasterKeys.problem(with: current) { reader.wrong(.masterKey, problem) }
    for (number, key) in zip(1..., older) {
      guard let problem = MasterKeys.problem(with: key) else { continue }
      reader.wrong(.oldMasterKeys, older.count == 1 ? problem : "(number \(number) of them) \(problem)")
    }
    // Problems have been noted above.
    return current.flatMap { try? MasterKeys(current: $0, older: older) }
  }
}
