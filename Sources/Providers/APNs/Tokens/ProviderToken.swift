import Crypto
import FoundationEssentials
import Wire

/// A JWT that proves to APNs who sends: ES256, header `kid`, claims `iss` and `iat` (a number), and nothing else.
struct ProviderToken: Hashable, Sendable {
  /// The header `authorization`, ready to send; never logged.
  let authorization: String
  /// The claim `iat`.
  let mintedAt: Date

  /// ECDSA is randomised: minting twice gives two tokens, and APNs counts them.
  init(_ credentials: APNsCredentials, key: P256.Signing.PrivateKey, now: Date) throws {
    let issuedAt = Int64(now.timeIntervalSince1970)
    let header = try Self.encode(["alg": "ES256", "kid": credentials.keyID])
    let claims = try Self.encode(Claims(iss: credentials.teamID, iat: issuedAt))
    let signed = header + "." + claims
    let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
    authorization = "bearer \(signed).\(Base64URL.text(Array(signature)))"
    mintedAt = Date(timeIntervalSince1970: Double(issuedAt))
  }

  private struct Claims: Encodable {
    var iss: String
    var iat: Int64
  }

  private static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Base64URL.text(Array(try encoder.encode(value)))
  }
}
