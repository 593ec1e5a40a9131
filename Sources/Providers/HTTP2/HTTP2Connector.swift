import FoundationEssentials
import NIOCore
import NIOPosix
import NIOSSL
import Wire

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Opens connections to one address.
struct HTTP2Connector: Sendable {
  let address: ServiceAddress
  let tls: NIOSSLContext
  let connectTimeout: TimeAmount
  /// How the host's name is looked up.
  enum NameResolver: Sendable {
    case system
    /// By `PublicResolver`, for what a customer, one of its apps or a device named.
    case named(by: QuotaHolder, mayBePrivate: Bool)
  }
  var resolver = NameResolver.system

  /// Resolves the name, connects and adds the connection's handlers. Fails when no address answers; later errors, such as in the
  /// TLS handshake, are reported to the connection.
  func connect(_ connection: HTTP2Connection, on loop: any EventLoop) -> EventLoopFuture<Void> {
    let bound = NIOLoopBound(connection, eventLoop: loop)
    var names: PublicResolver?
    if case .named(let holder, let mayBePrivate) = resolver {
      names = PublicResolver(loop: loop, .shared, for: holder, mayBePrivate: mayBePrivate)
    }
    return ClientBootstrap(group: loop)
      .resolver(names)
      .connectTimeout(connectTimeout)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.writeBufferWaterMark, value: .init(low: 128 << 10, high: 512 << 10))
      .connect(host: address.host, port: address.port)
      .flatMapThrowing { channel in
        // Not in a channel initializer, which runs once for each address of a name.
        let pipeline = channel.pipeline.syncOperations
        if !address.isPlain {
          try pipeline.addHandler(
            NIOSSLClientHandler(context: tls, serverHostname: address.isNumeric ? nil : address.host))
        }
        try pipeline.addHandler(bound.value)
      }
  }
}

extension NIOSSLContext {
  /// For connections to a push service: TLS 1.2 or newer, ALPN `h2`, full verification.
  /// - Parameters:
  ///   - caFile: PEM of the certificates to trust; nil for the system's.
  ///   - allowsHTTP1: whether ALPN offers `http/1.1`, too.
  static func pushService(caFile: String?, allowsHTTP1: Bool = false) throws(ProviderError) -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.applicationProtocols = allowsHTTP1 ? ["h2", "http/1.1"] : ["h2"]
    return try pushService(caFile: caFile, configuration)
  }

  /// As above, with a certificate that the service may ask for.
  static func pushService(caFile: String?, certificate: PushCertificate) throws -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.applicationProtocols = ["h2"]
    configuration.certificateChain = try certificate.chain.map {
      .certificate(try NIOSSLCertificate(bytes: Array($0), format: .der))
    }
    configuration.privateKey = .privateKey(try NIOSSLPrivateKey(bytes: Array(certificate.privateKey), format: .der))
    return try pushService(caFile: caFile, configuration)
  }

  private static func pushService(
    caFile: String?, _ client: TLSConfiguration
  ) throws(ProviderError) -> NIOSSLContext {
    var configuration = client
    configuration.minimumTLSVersion = .tlsv12
    do {
      if let caFile {
        let certificates = try NIOSSLCertificate.fromPEMFile(caFile)
        guard !certificates.isEmpty else { throw ProviderError.caFileUnusable(path: caFile) }
        configuration.trustRoots = .certificates(certificates)
      }
      return try NIOSSLContext(configuration: configuration)
    } catch {
      throw .caFileUnusable(path: caFile ?? "the system's certificates")
    }
  }
}

/// Reasons why a connection failed, short enough for the ledger.
enum HTTP2ConnectionFailure {
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError where isOfAddress(error): return .hub(.addressNotAllowed)
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty { return .hub(.nameUnknown) }
      return error.connectionErrors.first.map { reason($0.error) } ?? .hub(.connectionFailed)
    case let error as IOError where error.errnoCode == ECONNREFUSED: return .hub(.connectionRefused)
    case let error as IOError where error.errnoCode == ECONNRESET: return .hub(.connectionReset)
    case ChannelError.connectTimeout: return .hub(.connectTimeout)
    case is NIOSSLExtraError: return .hub(.certificateUntrusted)
    case NIOSSLError.handshakeFailed(let cause):
      return "\(cause)".contains("CERTIFICATE_VERIFY_FAILED") ? .hub(.certificateUntrusted) : .hub(.handshakeFailed)
    case is NIOSSLError: return .hub(.handshakeFailed)
    default: return .hub(.connectionFailed)
    }
  }

  /// Whether the host has no address to which connections are allowed.
  static func isOfAddress(_ error: any Error) -> Bool {
    guard let error = error as? NIOConnectionError, error.connectionErrors.isEmpty else { return false }
    return error.dnsAError is PublicResolver.AddressNotAllowed || error.dnsAAAAError is PublicResolver.AddressNotAllowed
  }
}
