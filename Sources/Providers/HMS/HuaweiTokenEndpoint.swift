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

  func grant(to credentials: PushServiceCredentials, now: Date) throws -> AccessTokenGrant {
    guard case .hms(let account) = credentials else { preconditionFailure("an account of another service") }
    switch account {
    case .client(let id, let secret):
      let form = "grant_type=client_credentials&client_id=\(Self.encoded(id))&client_secret=\(Self.encoded(secret))"
      return .request(request(path: path, form: form))
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

  /// A value of a form: everything but unreserved characters (RFC 3986, section 2.3) is escaped.
  private static func encoded(_ text: String) -> String {
    text.utf8.reduce(into: "") { encoded, byte in
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
  }
}
