import NIOSSL

/// What a push service's certificate is checked against.
enum TLSTrust {
  /// TLS 1.2 or newer, ALPN `h2`, full verification.
  /// - Parameter caFile: PEM of the certificates to trust; nil for the system's.
  static func context(caFile: String?) throws(ProviderError) -> NIOSSLContext {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.minimumTLSVersion = .tlsv12
    configuration.applicationProtocols = ["h2"]
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
