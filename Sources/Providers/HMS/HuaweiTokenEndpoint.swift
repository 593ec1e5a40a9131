import CryptoExtras
import FoundationEssentials
import Wire

/// How accounts sign in to Push Kit. A client gets an access token by its id and secret (RFC 6749, section 4.4). A service account
/// signs a token of its own (Huawei, "Generating an authentication token based on the service account").
struct HuaweiTokenEndpoint: AccessTokenEndpoint {
  let address: ServiceAddress
  let path: String

  var name: String { "Huawei's token endpoint" }
  var label: String { "huawei" }

  /// The claim `aud` of a service account's token, wherever the endpoint is.
  static let audience = "https://oauth-login.cloud.huawei.com/oauth2/v3/token"
  /// Of a service account's token, in seconds.
  private static let lifetime: Int64 = 3600

  func address(for credentials: PushServiceCredentials) -> ServiceAddress { address }

  func grant(to credentials: PushServiceCredentials, now: Date) throws -> AccessTokenGrant {
    guard case .hms(let account) = credentials else { preconditionFailure("an account of another service") }
    switch account {
    case .client(let id, let secret):
      return .request(clientCredentials(id, secret, path: path))
    case .serviceAccount(let account):
      let issued = Int64(now.timeIntervalSince1970)
      let token = try SignedJWT(
        Claims(iss: account.subAccount, aud: Self.audience, iat: issued, exp: issued + Self.lifetime),
        algorithm: "PS256", padding: .PSS, keyID: account.keyID, privateKey: account.privateKey)
      return .token(.init(authorization: "Bearer \(token.text)", lifetime: TimeInterval(Self.lifetime)))
    }
  }

  private struct Claims: Encodable {
    var iss: String
    var aud: String
    var iat: Int64
    var exp: Int64
  }
}
