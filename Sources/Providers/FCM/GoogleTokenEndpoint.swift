import CryptoExtras
import FoundationEssentials
import Wire

/// Where service accounts get access tokens, by a JWT that they sign (RFC 7523; Google, "Using OAuth 2.0 for server to server
/// applications").
struct GoogleTokenEndpoint: Sendable {
  /// As it is configured; the claim `aud`.
  let url: String
  let address: ServiceAddress
  let path: String

  var label: String { "google" }

  private static let scope = "https://www.googleapis.com/auth/firebase.messaging"
  /// In seconds; Google takes an hour at most.
  private static let lifetime: Int64 = 3600

  /// The request for an access token.
  /// - Throws: if the key is no RSA key in PEM.
  func request(_ account: GoogleServiceAccount, now: Date) throws -> PushRequest {
    let grant = "urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
    let body = Array("grant_type=\(grant)&assertion=\(try assertion(account, now: now))".utf8)
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/x-www-form-urlencoded")
    headers.add("content-length", String(body.count), .changing)
    headers.add("accept", "application/json")
    return PushRequest(headers: headers, body: body)
  }

  private func assertion(_ account: GoogleServiceAccount, now: Date) throws -> String {
    let key = try _RSA.Signing.PrivateKey(pemRepresentation: account.privateKey)
    let issued = Int64(now.timeIntervalSince1970)
    let header = try Self.encode(["alg": "RS256", "typ": "JWT", "kid": account.privateKeyID])
    let claims = try Self.encode(
      Claims(iss: account.clientEmail, scope: Self.scope, aud: url, iat: issued, exp: issued + Self.lifetime))
    let signed = header + "." + claims
    let signature = try key.signature(for: Data(signed.utf8), padding: .insecurePKCS1v1_5)
    return "\(signed).\(Base64URL.text(Array(signature.rawRepresentation)))"
  }

  private struct Claims: Encodable {
    var iss: String
    var scope: String
    var aud: String
    var iat: Int64
    var exp: Int64
  }

  private static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return Base64URL.text(Array(try encoder.encode(value)))
  }
}

/// What connections have to know about Google's token endpoint.
struct GoogleTokenDescription: ServiceDescription {
  let endpoint: GoogleTokenEndpoint
  /// Takes the token out of a response, before its verdict is known to anybody.
  let receive: @Sendable (AccessTokenCache.AccessToken) -> Void

  var name: String { "Google's token endpoint" }
  var label: String { endpoint.label }
  var startsWithOneStream: Bool { false }

  /// The assertion in the body authenticates.
  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    .available(Authorization())
  }

  func classification(of response: ServiceResponse) -> ResponseClassification {
    let response = GoogleTokenResponse(response)
    if let token = response.token { receive(token) }
    return ResponseClassification(response)
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool { false }
  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}

/// A response of the token endpoint (RFC 6749, sections 5.1 and 5.2).
struct GoogleTokenResponse: Sendable {
  var status: Int
  var token: AccessTokenCache.AccessToken?
  /// Such as `invalid_grant`.
  var error: String?
  var retryAfter: Duration?

  init(_ response: ServiceResponse) {
    status = response.status
    retryAfter = response.retryAfter
    guard let body = try? JSONDecoder().decode(Body.self, from: Data(response.body)) else { return }
    error = body.error
    // Nothing passes that could break out of a header.
    guard status == 200, let token = body.access_token, !token.isEmpty,
      token.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F })
    else { return }
    self.token = AccessTokenCache.AccessToken(
      authorization: "Bearer \(token)", lifetime: max(1, body.expires_in ?? 3600))
  }

  private struct Body: Decodable {
    var access_token: String?
    var expires_in: Double?
    var error: String?
  }
}

extension ResponseClassification {
  /// The table of the token endpoint: it refuses the account for good with 4xx, and anything else passes with time.
  init(_ response: GoogleTokenResponse) {
    let word = response.error ?? "HTTP\(response.status)"
    switch response.status {
    case 200:
      self.init(verdict: response.token == nil ? .retry(after: nil, reason: "NoAccessToken") : .accepted)
    case 408, 429: self.init(verdict: .retry(after: response.retryAfter, reason: word))
    case 400..<500: self.init(verdict: .credentialsRefused(reason: word))
    default: self.init(verdict: .retry(after: response.retryAfter, reason: word))
    }
    let documented = ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_request", "invalid_scope"]
    reason = response.error.map { documented.contains($0) ? $0 : "other" }
  }
}
