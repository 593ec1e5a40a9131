/// Where the Simulator listens and how long its memory is.
public struct SimulatorSettings: Sendable {
  /// The address to bind.
  public var host = "127.0.0.1"
  /// The name in the URLs that are handed out; `localhost`, 127.0.0.1 and ::1 are always in the certificate.
  public var name = "localhost"
  /// APNs, production; 0 for any free port.
  public var productionPort = 8443
  /// APNs, sandbox; 0 for any free port.
  public var sandboxPort = 8444
  /// The phone page; 0 for any free port, nil for no phone page.
  public var phonePort: Int? = 8081
  /// Where the certificate authority's certificate is kept, in PEM: `PUSHCART_PROVIDER_CA_FILE` of the hub. Its key lies beside
  /// it in `<caFile>.key`, readable by its owner alone.
  public var caFile: String
  /// Streams a connection may have open at once, after its first accepted provider token; before that it is one.
  public var streamLimit = 1000
  /// Arrivals remembered; older ones are forgotten.
  public var arrivalsKept = 2000
  /// Whether a provider token of a key that nobody registered is taken as it is, its signature unread: for trying things
  /// out with any key.
  public var trustsUnknownKeys = false

  public init(caFile: String) { self.caFile = caFile }
}
