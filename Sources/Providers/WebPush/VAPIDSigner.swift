import Crypto
import FoundationEssentials
import Wire

/// Signs in at push services of browsers with an app's key (RFC 8292).
struct VAPIDSigner: Sendable {
  /// How long a token is valid, in seconds. Push services take 24 hours at most.
  static let lifetime: TimeInterval = 12 * 3600

  private let key: P256.Signing.PrivateKey
  /// The claim `sub`.
  private let contact: String

  /// - Parameter contact: the hub's, for keys without one.
  /// - Throws: if the private key is unusable.
  init(_ credentials: VAPIDKey, contact: String) throws {
    key = try P256.Signing.PrivateKey(rawRepresentation: credentials.privateKey)
    self.contact = credentials.contact ?? contact
  }

  /// The header `authorization`.
  /// - Parameter audience: the origin of the endpoint, as in `https://push.example.com`.
  func authorization(for audience: String, now: Date) throws -> String {
    var claims = JSONWriter(capacity: 128)
    claims.open("{")
    claims.member("aud", audience)
    claims.member("exp", Int64(now.timeIntervalSince1970 + Self.lifetime))
    claims.member("sub", contact)
    claims.close("}")
    let signed = Self.header + "." + Base64URL.text(claims.bytes)
    let signature = try key.signature(for: Array(signed.utf8))
    let token = "\(signed).\(Base64URL.text(Array(signature.rawRepresentation)))"
    return "vapid t=\(token), k=\(Base64URL.text(Array(key.publicKey.x963Representation)))"
  }

  private static let header = Base64URL.text(Array(#"{"typ":"JWT","alg":"ES256"}"#.utf8))
}
