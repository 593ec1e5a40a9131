import CryptoExtras
import FoundationEssentials

/// A request for an access token: a JWT that a service account has signed (RFC 7523, section 2.1).
struct GoogleTokenRequest: TokenRequest {
  static let path = "/token"
  static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  private static let grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer"

  private let assertion: CompactJWT?
  private let header: Header?
  private let claims: Claims?
  /// Why it is refused, before anybody looks at the account.
  private let formRefusal: SimulatedFCM.Refusal?

  init?(_ request: IncomingRequest) {
    guard request.path == Self.path else { return nil }
    let form = request.form
    assertion = form["assertion"].flatMap { CompactJWT($0) }
    header = assertion?.header(as: Header.self)
    claims = assertion?.claims(as: Claims.self)
    formRefusal =
      switch form["grant_type"] {
      case nil: .oauth("invalid_request", "Required parameter is missing: grant_type")
      case Self.grantType:
        form["assertion"] == nil ? .oauth("invalid_request", "Required parameter is missing: assertion") : nil
      case let other?: .oauth("unsupported_grant_type", "Invalid grant_type: \(other)")
      }
  }

  /// The `client_email` of the account that asks; empty if the JWT does not name it.
  var client: String { claims?.iss ?? "" }
  var lifetime: Int { 3599 }
  var newToken: String { "ya29.c.\(UUID().uuidString)" }

  func response(_ token: String) -> SimulatedResponse {
    SimulatedResponse(
      #"{"access_token":"\#(token)","expires_in":\#(lifetime),"token_type":"Bearer"}"#,
      contentType: SimulatedFCM.contentType)
  }

  /// The reason not to issue an access token, in the order of Google's checks.
  /// - Parameter account: nil for an account that is not registered.
  func refusal(account: RegisteredAccount?, trustsUnknownKeys: Bool, now: Date) -> SimulatedFCM.Refusal? {
    if let formRefusal { return formRefusal }
    guard let assertion, let header, let claims else {
      return .oauth("invalid_grant", "Invalid JWT: Failed to parse the assertion.")
    }
    guard header.alg == "RS256" else { return .oauth("invalid_grant", "Invalid JWT: The algorithm must be RS256.") }
    guard account != nil || (trustsUnknownKeys && !claims.iss.isEmpty) else { return .accountNotFound }
    if let account, !Self.isSigned(assertion, header, by: account) { return .invalidSignature }
    guard claims.aud.hasPrefix("https://"), claims.aud.hasSuffix(Self.path) else {
      return .oauth("invalid_grant", "Invalid JWT: Failed audience check.")
    }
    guard isShortLived(claims, now) else { return .invalidLifetime }
    guard claims.scope?.split(separator: " ").contains(Substring(Self.scope)) == true else {
      return .oauth("invalid_scope", "Invalid OAuth scope or ID token audience provided.")
    }
    return nil
  }

  private static func isSigned(_ assertion: CompactJWT, _ header: Header, by account: RegisteredAccount) -> Bool {
    if let named = header.kid, let keyID = account.keyID, named != keyID { return false }
    return account.publicKey.isValidSignature(
      _RSA.Signing.RSASignature(rawRepresentation: assertion.signature), for: assertion.signed,
      padding: .insecurePKCS1v1_5)
  }

  /// At most an hour, and valid now; clocks may differ by five minutes.
  private func isShortLived(_ claims: Claims, _ now: Date) -> Bool {
    guard let issued = claims.iat, let expires = claims.exp else { return false }
    let now = now.timeIntervalSince1970
    return expires > issued && expires <= issued + 3600 && issued <= now + 300 && expires > now - 300
  }

  private struct Header: Decodable {
    var alg: String
    var kid: String?
  }

  private struct Claims: Decodable {
    var iss: String
    var aud: String
    var scope: String?
    var iat: Double?
    var exp: Double?
  }
}
