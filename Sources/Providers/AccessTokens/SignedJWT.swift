import CryptoExtras
import FoundationEssentials
import Wire

/// A JWT that a service account signs with its RSA key (RFC 7515, section 7.1).
struct SignedJWT: Sendable {
  let text: String

  /// - Parameters:
  ///   - algorithm: `RS256` with `.insecurePKCS1v1_5`, `PS256` with `.PSS`.
  ///   - privateKey: PKCS#8 PEM, RSA.
  /// - Throws: if that is no such key.
  init(
    _ claims: some Encodable, algorithm: String, padding: _RSA.Signing.Padding, keyID: String, privateKey: String
  ) throws {
    let key = try _RSA.Signing.PrivateKey(pemRepresentation: privateKey)
    let header = try Self.encode(["alg": algorithm, "typ": "JWT", "kid": keyID])
    let signed = header + "." + (try Self.encode(claims))
    let signature = try key.signature(for: Data(signed.utf8), padding: padding)
    text = "\(signed).\(Base64URL.text(Array(signature.rawRepresentation)))"
  }

  private static func encode(_ value: some Encodable) throws -> String {
    Base64URL.text(try JSONCoding.encode(value))
  }
}
