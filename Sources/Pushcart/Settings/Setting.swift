import Registry
import Wire

/// One setting. A flag decides before the environment, and that before the settings file.
struct Setting: Sendable {
  /// Its key in the settings file and, behind `--`, its flag.
  let name: String
  let help: String
  /// The default, as help and docs/settings.md show it; nil if there is none.
  let fallback: String?
  /// Whether its value cannot be a flag, since every user of the machine can read flags.
  let isSecret: Bool

  init(_ name: String, _ help: String, fallback: String? = nil, isSecret: Bool = false) {
    self.name = name
    self.help = help
    self.fallback = fallback
    self.isSecret = isSecret
  }

  init(_ setting: ServiceSetting) { self.init(setting.name, setting.help, fallback: setting.fallback) }

  /// Its name in the environment.
  var variable: String {
    let name = name.uppercased().replacing("-", with: "_")
    return name.hasPrefix("DATABASE_URL") ? name : "PUSHCART_\(name)"
  }

  /// The sibling that names a file with the value, as orchestrators pass secrets.
  var fromFile: Setting { Setting("\(name)-file", "file that holds \(variable): \(help)") }
}

extension Setting {
  static let config = Setting("config", "JSON file with settings, keyed by the names of these flags")
  static let databaseURL = Setting(
    "database-url", "PostgreSQL's address: postgres://user@host:port/database, or libpq's key=value form")
  static let databaseConnections = Setting(
    "database-connections", "connections that requests share; reports have two of their own", fallback: "4")
  static let databaseTransactions = Setting(
    "database-transactions", "connections for transactions, opened when needed; a customer has a third of them",
    fallback: "6")
  static let masterKey = Setting(
    "master-key", "32 random bytes in base64 that seal the credentials: openssl rand -base64 32",
    isSecret: true)
  static let oldMasterKeys = Setting(
    "old-master-keys", "former master keys, separated by commas, until `pushcart rekey` has run", isSecret: true)
  static let host = Setting("host", "address to listen on", fallback: "127.0.0.1")
  static let port = Setting("port", "TCP port to listen on; 0 takes any free one", fallback: "8080")
  static let operationsHost = Setting("operations-host", "address of the operations listener", fallback: "127.0.0.1")
  static let operationsPort = Setting(
    "operations-port",
    "TCP port that alone serves /console, /metrics, /api/v1, /swagger and /openapi.json; 0 serves them on the first one",
    fallback: "0")
  static let trustedProxies = Setting(
    "trusted-proxies",
    "reverse proxies, and nothing else, whose X-Forwarded-For names the client: addresses or networks, as in 127.0.0.1,10.0.7.0/29"
  )
  static let connectionsPerAddress = Setting(
    "connections-per-address", "most connections of one client address; 0 for any number",
    fallback: "4096")
  static let addressRate = Setting(
    "address-rate", "requests a second of one client address; 0 for any number",
    fallback: "0")
  static let keyRate = Setting(
    "key-rate", "requests a second with one access key, of scope device from one address; 0 for any number",
    fallback: "0")
  static let linkRate = Setting(
    "link-rate", "requests a second with the links of one push; 0 for any number", fallback: "1000")
  static let publicURL = Setting(
    "public-url", "address that phones use, as in https://push.example.com", fallback: "http://HOST:PORT")
  static let consoleURL = Setting(
    "console-url", "address of the console, as in https://push-admin.example.com",
    fallback: "http://HOST:PORT of the listener that serves it")
  static let oidcIssuer = Setting(
    "oidc-issuer",
    "OpenID provider that signs people in to the console: its issuer, exactly as it writes it, as in https://id.example.com"
  )
  static let oidcClientID = Setting("oidc-client-id", "the hub's client id at the OpenID provider")
  static let oidcClientSecret = Setting(
    "oidc-client-secret", "the hub's secret at the OpenID provider; none for a public client", isSecret: true)
  static let oidcScopes = Setting(
    "oidc-scopes", "what the OpenID provider is asked for, openid included, separated by blanks",
    fallback: OpenIDSettings.usualScopes)
  static let oidcRolesClaim = Setting(
    "oidc-roles-claim", "claim of ID tokens that holds roles; in an object by its way, as in realm_access.roles",
    fallback: OpenIDSettings.usualRolesClaim)
  static let oidcRoles = Setting(
    "oidc-roles",
    "role and customer by value of that claim, as in push-admins=owner:1,push-sales=marketer:1; the first of a customer counts"
  )
  static let oidcName = Setting(
    "oidc-name", "the OpenID provider's name, on the button", fallback: OpenIDSettings.usualName)
  static let oidcTrustEmail = Setting(
    "oidc-trust-email",
    "true for an OpenID provider that verifies every e-mail address and does not say so, such as a tenant of Entra ID",
    fallback: "false")
  static let oidcOnly = Setting(
    "oidc-only", "true lets nobody sign in to the console with a password", fallback: "false")
  static let pageFrameAncestors = Setting(
    "page-frame-ancestors",
    "sites that can show rich pages in a frame, as in http://localhost:8081, separated by spaces",
    fallback: "'none'")
  static let pnm2Customer = Setting(
    "pnm2-customer", "number of the customer that softphones' gateway at /pnm2 sends for without a key")
  static let pnm2AllowedNetworks = Setting(
    "pnm2-allowed-networks",
    "where clients of /pnm2 without a key are: addresses or networks, as in 10.0.7.0/29,fd00::1")
  static let drainSeconds = Setting(
    "drain-seconds", "seconds that work in progress has after SIGTERM", fallback: "25")
  static let pushesInFlight = Setting(
    "pushes-in-flight",
    "most pushes that were sent and have no outcome yet: after a hub is killed, at most so many are uncertain",
    fallback: "500")
  static let retentionDays = Setting(
    "retention-days",
    "days after its end that a sendout keeps its pushes, and that device events are kept; 0 for ever", fallback: "0")
  /// Those of the push services, and of the addresses that customers name.
  static let ofServices = (PushService.all.flatMap(\.settings) + [.webhookAllowedHosts]).map { Setting($0) }
  static let providerCAFile = Setting(
    "provider-ca-file", "PEM file of certificates to trust instead of the system's")
  static let geoIPFile = Setting(
    "geoip-file", "MaxMind database file that tells phones their country, such as GeoLite2-Country.mmdb")
  static let logLevel = Setting(
    "log-level", "trace, debug, info, notice, warning, error or critical; debug logs every request",
    fallback: "info; tools: error")
  static let logFormat = Setting(
    "log-format", "json, text, or auto: text on a terminal, json elsewhere", fallback: "auto")

  /// Every setting, in the order of help and docs/settings.md.
  static let all =
    [
      databaseURL, databaseConnections, databaseTransactions, masterKey, oldMasterKeys, host, port, operationsHost,
      operationsPort, publicURL, consoleURL, oidcIssuer, oidcClientID, oidcClientSecret, oidcScopes, oidcRolesClaim,
      oidcRoles, oidcName, oidcTrustEmail, oidcOnly, trustedProxies, connectionsPerAddress, addressRate, keyRate,
      linkRate, pageFrameAncestors, pnm2Customer, pnm2AllowedNetworks, drainSeconds, pushesInFlight, retentionDays,
    ] + ofServices + [providerCAFile, geoIPFile, logLevel, logFormat, config]
  /// Settings whose value can be in a file: the variable with `_FILE`, the flag with `-file`.
  static let fileable = [databaseURL, masterKey, oldMasterKeys, oidcClientSecret]
}
