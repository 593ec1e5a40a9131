import NIOCore
import NIOPosix
import NIOSSL

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Words for why a connection failed, short enough for the ledger.
enum HTTP2ConnectionFailure {
  static func reason(_ error: any Error) -> String {
    switch error {
    case let error as NIOConnectionError:
      if error.connectionErrors.isEmpty { return "NameUnknown" }
      return error.connectionErrors.first.map { reason($0.error) } ?? "ConnectionFailed"
    case let error as IOError where error.errnoCode == ECONNREFUSED: return "ConnectionRefused"
    case let error as IOError where error.errnoCode == ECONNRESET: return "ConnectionReset"
    case ChannelError.connectTimeout: return "ConnectTimeout"
    case is NIOSSLExtraError: return "CertificateUntrusted"
    case NIOSSLError.handshakeFailed(let cause):
      return "\(cause)".contains("CERTIFICATE_VERIFY_FAILED") ? "CertificateUntrusted" : "HandshakeFailed"
    case is NIOSSLError: return "HandshakeFailed"
    default: return "ConnectionFailed"
    }
  }
}
