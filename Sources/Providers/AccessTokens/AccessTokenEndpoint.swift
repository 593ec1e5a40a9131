import FoundationEssentials
import Wire

/// Where accounts of one push service get access tokens.
protocol AccessTokenEndpoint: Sendable {
  /// For people, such as `Google's token endpoint`.
  var name: String { get }
  /// The dimension `service` of its metrics.
  var label: String { get }

  /// Where it is for an account.
  func address(for credentials: PushServiceCredentials) -> ServiceAddress

  /// How an account gets its token.
  /// - Throws: if the account's private key is unusable.
  func grant(to credentials: PushServiceCredentials, now: Date) throws -> AccessTokenGrant
}

/// How an account gets an access token.
enum AccessTokenGrant: Sendable {
  /// The endpoint answers this request with one.
  case request(PushRequest)
  /// The account has signed it itself, and nobody is asked.
  case token(AccessTokenCache.AccessToken)
}

extension AccessTokenEndpoint {
  /// A request for a token by a client's id and secret (RFC 6749, section 4.4).
  func clientCredentials(_ id: String, _ secret: String, scope: String? = nil, path: String) -> PushRequest {
    let form =
      "grant_type=client_credentials&client_id=\(FormText.encoded(id))&client_secret=\(FormText.encoded(secret))"
    return request(path: path, form: form + (scope.map { "&scope=\(FormText.encoded($0))" } ?? ""))
  }

  /// A request with a form (RFC 6749, appendix B), whose names and values are encoded already.
  func request(path: String, form: String) -> PushRequest {
    let body = Array(form.utf8)
    var headers = RequestHeaders()
    headers.add(":path", path)
    headers.add("content-type", "application/x-www-form-urlencoded")
    headers.add("content-length", String(body.count), .changing)
    headers.add("accept", "application/json")
    return PushRequest(headers: headers, body: body)
  }
}

/// What connections have to know about a token endpoint.
struct AccessTokenDescription: ServiceDescription {
  let endpoint: any AccessTokenEndpoint
  /// Takes the token out of a response, before its verdict is known to anybody.
  let receive: @Sendable (AccessTokenCache.AccessToken) -> Void

  var name: String { endpoint.name }
  var label: String { endpoint.label }
  /// One request at a time fetches a token, over whatever the endpoint speaks.
  var http1Connections: Int { 1 }

  /// The body authenticates.
  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    .available(Authorization())
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    let response = AccessTokenResponse(response)
    if let token = response.token { receive(token) }
    return ResponseClassification(response)
  }
}

/// A response of a token endpoint (RFC 6749, sections 5.1 and 5.2).
struct AccessTokenResponse: Sendable, StatusBearing {
  var status: Int
  var token: AccessTokenCache.AccessToken?
  /// Such as `invalid_grant`, or a number such as `1101`.
  var error: String?
  var retryAfter: Duration?

  init(_ response: ServiceResponse) {
    status = response.status
    retryAfter = response.retryAfter
    guard let body = try? JSONCoding.decode(Body.self, from: response.body) else { return }
    error = body.error?.text
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
    var error: Word?
  }

  /// A string, or a number as a string.
  private struct Word: Decodable {
    let text: String

    init(from decoder: any Decoder) throws {
      let container = try decoder.singleValueContainer()
      text = try (try? container.decode(String.self)) ?? String(container.decode(Int64.self))
    }
  }
}

extension ResponseClassification {
  /// The table of token endpoints: they refuse the account for good with 4xx, and anything else passes with time.
  ///
  /// Without a token nothing can be sent, so whatever wait they ask for applies to the service.
  init(_ response: AccessTokenResponse) {
    let word = response.error ?? "HTTP\(response.status)"
    let later = Verdict.putOff(word, by: response, wholeServiceAt: [response.status])
    switch response.status {
    case 200:
      self.init(verdict: response.token == nil ? .retry(after: nil, reason: .hub(.noAccessToken)) : .accepted)
    case 408, 429: self.init(verdict: later)
    case 400..<500: self.init(verdict: .credentialsRefused(reason: word))
    default: self.init(verdict: later)
    }
    let documented = ["invalid_grant", "invalid_client", "unauthorized_client", "invalid_request", "invalid_scope"]
    reason = response.error.map { documented.contains($0) ? $0 : "other" }
  }
}

/// Writes the values of a form (RFC 6749, appendix B), or of a query.
enum FormText {
  /// Everything but unreserved characters (RFC 3986, section 2.3) is escaped.
  static func encoded(_ text: String) -> String {
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
