/// Where APNs is and how patient to be with it; read once, on the roof.
public struct APNsSettings: Sendable {
  /// `PUSHCART_APNS_PRODUCTION_URL`; Apple also answers on port 2197.
  public var productionURL: String = "https://api.push.apple.com"
  /// `PUSHCART_APNS_SANDBOX_URL`.
  public var sandboxURL: String = "https://api.sandbox.push.apple.com"
  /// `PUSHCART_PROVIDER_CA_FILE`: PEM of the certificates to trust; nil for the system's.
  public var caFile: String?
  /// Connections of one pool, that is of one key in one environment. APNs allows several.
  public var connectionsPerPool = 2
  /// Name look-up, TCP and TLS together.
  public var connectTimeout: Duration = .seconds(10)
  /// From a request's last byte to its answer; past it the push is `uncertain`.
  public var requestTimeout: Duration = .seconds(60)
  /// How long a push waits for a connection before it is `unsent`.
  public var queueTimeout: Duration = .seconds(30)
  /// Silence after which a connection is asked by PING whether it still lives.
  public var pingAfter: Duration = .seconds(3600)
  /// How long a PING's answer may take before the connection counts as dead.
  public var pingTimeout: Duration = .seconds(15)

  public init() {}
}
