public import Retrying
import NIOCore
import NIOSSL
public import Wire

/// The push services' addresses, and the timeouts of connections to them.
public struct PushServiceSettings: Sendable {
  private var addresses: [ServiceSetting: String] = [:]
  /// Whom push services of browsers can contact about apps without a contact of their own: a `mailto:` or `https:` address. They want one.
  public var webPushContact = "mailto:postmaster@localhost"
  /// Where pushes to devices with addresses of their own may go, webhooks and status reports, and requests to providers of SMS.
  public var endpoints = EndpointRules()
  /// `PUSHCART_PROVIDER_CA_FILE`: PEM of the certificates to trust; nil for the system's.
  public var caFile: String?
  /// Most connections of one account in one environment. APNs allows several; another opens when hundreds of pushes wait.
  public var connectionsPerPool = 2
  /// For the name look-up and TCP together; then the same again for TLS and the server's SETTINGS.
  public var connectTimeout: Duration = .seconds(10)
  /// From a request's first byte to its response; after it the push is `uncertain`.
  public var requestTimeout: Duration = .seconds(60)
  /// The timeout of a request that many later ones have overtaken, counted from their responses.
  public var overtakenTimeout: Duration = .seconds(10)
  /// How long pushes wait while none is answered, before they come back `unsent`.
  public var queueTimeout: Duration = .seconds(30)
  /// How long an address that a customer, an app or a device has named may take for a response, and how long requests that hold places
  /// may wait to leave. Also how long an OpenID provider may take, from the look-up of its name on.
  public var untrustedTimeout: Duration = .seconds(10)
  /// How long a request waits for a place at such an address.
  public var placeTimeout: Duration = .seconds(1)
  /// Most connections that the hub has to such addresses at a time. They have a budget of their own, so that they leave clients theirs.
  public var namedConnections = 1024
  /// How many connections may fail in a row before waiting pushes come back `unsent`. From then on they do with every further
  /// failure.
  public var connectAttempts = 5
  /// When a lost connection is replaced. Losses are counted until a request is answered.
  public var reconnect = RetryPolicy.connections
  /// Silence on an idle connection after which a PING keeps it alive.
  public var pingWhenIdle: Duration = .seconds(3600)
  /// Silence on an idle connection after which a PING has to be answered before pushes leave on it.
  public var pingBeforeUse: Duration = .seconds(30)
  /// Silence while responses are awaited, after which a PING checks the connection. Nothing leaves until it is answered.
  public var pingWhenWaiting: Duration = .seconds(2)
  /// How long the reply to a PING may take before the connection is closed.
  public var pingTimeout: Duration = .seconds(4)

  public init() {}

  /// The address that a setting names, or else its default; nil if there is none.
  public subscript(setting: ServiceSetting) -> String? {
    get { addresses[setting] ?? setting.value }
    set { addresses[setting] = newValue }
  }

  /// Whether the text is `https://host[:port]`, as the address of a push service must be.
  public static func isAddress(_ text: String) -> Bool { ServiceAddress(url: text) != nil }

  /// Whether the text is `https://host[:port]/path`, as the address of a token endpoint must be.
  public static func isAddressWithPath(_ text: String) -> Bool { ServiceAddress.withPath(url: text) != nil }

  /// Whether the file of certificates to trust, if there is one, holds some in PEM.
  public var hasUsableCAFile: Bool { (try? NIOSSLContext.pushService(caFile: caFile)) != nil }
}

extension PushServiceSettings {
  var timeouts: HTTP2ConnectionTimeouts {
    HTTP2ConnectionTimeouts(
      settings: TimeAmount(connectTimeout), request: TimeAmount(requestTimeout),
      overtaken: TimeAmount(overtakenTimeout), trust: TimeAmount(pingBeforeUse), idle: TimeAmount(pingWhenIdle),
      silence: TimeAmount(pingWhenWaiting), ping: TimeAmount(pingTimeout))
  }

  /// Half of the connections are the first ones to an origin, so that none keeps another from its first.
  var quotas: Quotas.Limits {
    var limits = Quotas.Limits()
    limits.allOrigins = max(2, namedConnections / 2)
    limits.allConnections = max(2, namedConnections / 2)
    return limits
  }

  var pool: PoolSettings {
    PoolSettings(
      size: max(1, connectionsPerPool), queueTimeout: TimeAmount(queueTimeout),
      attempts: max(1, connectAttempts), reconnect: reconnect)
  }
}
