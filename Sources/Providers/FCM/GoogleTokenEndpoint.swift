import CryptoExtras
import FoundationEssentials
import Wire

/// Where service accounts get access tokens, by a JWT that they sign (RFC 7523; Google, "Using OAuth 2.0 for server to server
/// applications").
struct GoogleTokenEndpoint: AccessTokenEndpoint {
  /// As it is configured; the claim `aud`.
  let url: String
  let address: ServiceAddress
  let path: String

  var name: String { "Google's token endpoint" }
  var label: String { "google" }

  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// In seconds; Google takes an hour at most.
  private static let lifetime: Int64 = 3600

  func address(for credentials: PushServiceCredentials) -> ServiceAddress { address }

  func grant(to credentials: PushServiceCredentials, now: Date) throws -> AccessTokenGrant {
    guard case .fcm(let account) = credentials else { preconditionFailure("an account of another service") }
    return .request(try request(account, now: now))
  }

  /// The request for an access token.
  /// - Throws: if the key is no RSA key in PEM.
  func request(_ account: GoogleServiceAccount, now: Date) throws -> PushRequest {
    let issued = Int64(now.timeIntervalSince1970)
    let assertion = try SignedJWT(
      Claims(iss: account.clientEmail, scope: Self.scope, aud: url, iat: issued, exp: issued + Self.lifetime),
      algorithm: "RS256", padding: .insecurePKCS1v1_5, keyID: account.privateKeyID, privateKey: account.privateKey)
    let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    return request(path: path, form: "grant_type=\(grant)&assertion=\(assertion.text)")
  }

  private struct Claims: Encodable {
    var iss: String
    var scope: String
    var aud: String
    var iat: Int64
    var exp: Int64
  }
}
