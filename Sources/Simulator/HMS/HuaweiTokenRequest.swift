import Wire
import CryptoExtras
import FoundationEssentials

/// A request for an access token by a client's id and secret (RFC 6749, section 4.4).
struct HuaweiTokenRequest: TokenRequest {
  static let path = "/oauth2/v3/token"

  private let form: ClientCredentialsForm

  init?(_ request: IncomingRequest) {
    guard request.path == Self.path else { return nil }
    form = ClientCredentialsForm(request.form)
  }

  var client: String { form.clientID }
  var lifetime: Int { 3600 }
  /// Huawei's tokens hold slashes, which its JSON escapes.
  var newToken: String { "DQEBAA/\(UUID().uuidString)/=" }

  func response(_ token: String) -> SimulatedResponse {
    let token = token.replacing("/", with: "\\/")
    return SimulatedResponse(
      #"{"access_token":"\#(token)","expires_in":\#(lifetime),"token_type":"Bearer"}"#,
      contentType: SimulatedHMS.contentType)
  }

  /// The reason not to issue an access token.
  /// - Parameter known: the client's secret; nil for a client that is not registered.
  func refusal(secret known: String?, trustsUnknownKeys: Bool) -> SimulatedHMS.Refusal? {
    switch form.fault(secret: known, trustsUnknownKeys: trustsUnknownKeys) {
    case nil: nil
    case .grantType: .signIn(1102, "invalid grant type")
    case .missingField: .signIn(1102, "missing required parameter")
    case .unknownClient: .signIn(1101, "invalid client_id")
    case .wrongSecret: .signIn(1101, "invalid client_secret")
    }
  }
}

/// The check of a token that a service account has signed.
enum HuaweiJWTCheck {
  private struct Header: Decodable {
    var alg: String
    var kid: String?
  }

  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var iat: Double
    var exp: Double
  }

  /// The reason not to accept it.
  /// - Parameters:
  ///   - project: the one in the address.
  ///   - accounts: by `sub_account`.
  static func refusal(
    _ bearer: String, project: String, accounts: [String: RegisteredHuaweiAccount], trustsUnknownKeys: Bool, now: Date
  ) -> SimulatedHMS.Refusal? {
    func refuse(_ message: String) -> SimulatedHMS.Refusal { .code("80200001", message: message) }
    guard let jwt = CompactJWT(bearer), let header = jwt.header(as: Header.self),
      let claims = jwt.claims(as: Claims.self)
    else { return refuse("The JWT cannot be read.") }
    guard header.alg == "PS256" else { return refuse("The algorithm of the JWT must be PS256.") }
    let account = accounts[claims.iss]
    guard account != nil || trustsUnknownKeys else { return refuse("The service account is unknown.") }
    if let account {
      let signature = _RSA.Signing.RSASignature(rawRepresentation: jwt.signature)
      guard header.kid == account.keyID,
        account.publicKey.isValidSignature(signature, for: jwt.signed, padding: .PSS)
      else { return refuse("The signature of the JWT is invalid.") }
      guard account.projectID == project else { return refuse("The service account belongs to another project.") }
    }
    guard claims.aud == "https://oauth-login.cloud.huawei.com\(HuaweiTokenRequest.path)" else {
      return refuse("The audience of the JWT is another.")
    }
    let now = now.timeIntervalSince1970
    guard claims.exp > claims.iat, claims.exp <= claims.iat + 3600, claims.iat <= now + 300 else {
      return refuse("The JWT must be valid for an hour at most.")
    }
    return claims.exp > now ? nil : .code("80200005", message: "The JWT has expired.")
  }
}

/// What the simulated Push Kit keeps of a service account: the public half.
struct RegisteredHuaweiAccount: Sendable {
  let projectID: String
  let subAccount: String
  let keyID: String
  let publicKey: _RSA.Signing.PublicKey

  /// - Throws: if this is no key file of a service account.
  init(keyFile: String) throws {
    let file = try JSONCoding.decode(KeyFile.self, from: keyFile.utf8)
    projectID = file.project_id
    subAccount = file.sub_account
    keyID = file.key_id
    publicKey = try _RSA.Signing.PrivateKey(pemRepresentation: file.private_key).publicKey
  }

  /// Members have the file's names.
  private struct KeyFile: Decodable {
    var project_id: String
    var sub_account: String
    var key_id: String
    var private_key: String
  }
}
