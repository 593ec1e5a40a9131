import FoundationEssentials
import Locking
import Postgres
import Wire

/// Asks an OpenID provider: an address, a form to post or `nil` to get, and the header `authorization`. `nil` for no answer.
package typealias OpenIDFetch =
  @Sendable (_ url: String, _ form: String?, _ authorization: String?) async -> (status: Int, body: [UInt8])?

/// Why a sign-in by an OpenID provider failed, in words for the log.
enum OpenIDFault: Error {
  /// The provider is away, or what it says of itself is of no use.
  case unreachable(String)
  /// What came is not what the provider would send.
  case untrusted(String)
}

/// An OpenID provider: where its endpoints are and with which keys it signs, by its own documents.
///
/// They are read when somebody wants to sign in, and kept for an hour. A token with an unknown key has them read again, once a minute at
/// most.
final class OpenIDProvider: Sendable {
  /// What the documents say (OpenID Connect Discovery 1.0, section 3; RFC 7517).
  struct Known: Sendable {
    let authorizationURL: String
    let tokenURL: String
    /// Those of `IDToken.algorithms` that ID tokens may be signed by.
    let algorithms: [String]
    /// Whether the client's secret goes into the header `authorization`, rather than into the form.
    let takesBasic: Bool
    /// Whether each answer through the browser names the issuer (RFC 9207).
    let namesIssuer: Bool
    let keys: [JSONValue]
  }

  let settings: OpenIDSettings
  private let fetch: OpenIDFetch
  private let documents: SharedCache<String, Known>
  private let now: @Sendable () -> ContinuousClock.Instant
  private let lastReread = Mutex<ContinuousClock.Instant?>(nil)

  /// How long documents are believed, and how often an unknown key has them read again.
  private static let (lifetime, rereadInterval) = (Duration.seconds(3600), Duration.seconds(60))

  init(
    _ settings: OpenIDSettings, now: @escaping @Sendable () -> ContinuousClock.Instant, fetch: @escaping OpenIDFetch
  ) {
    self.settings = settings
    self.fetch = fetch
    self.now = now
    documents = SharedCache(capacity: 1, lifetime: Self.lifetime, now: now)
  }

  /// - Throws: `OpenIDFault`.
  func known() async throws -> Known {
    try await documents.value(settings.issuer) { [settings, fetch] in try await Self.read(settings.issuer, fetch) }
  }

  /// The key that signed a token.
  /// - Parameter id: of the token's header; `nil` finds the only key that fits.
  /// - Throws: `OpenIDFault`.
  func key(_ id: String?, for algorithm: String) async throws -> JSONValue {
    if let key = IDToken.key(id, for: algorithm, among: try await known().keys) { return key }
    let now = now()
    let mayReread = lastReread.withLock { last in
      if let last, now - last < Self.rereadInterval { return false }
      last = now
      return true
    }
    if mayReread {
      documents.flush()
      if let key = IDToken.key(id, for: algorithm, among: try await known().keys) { return key }
    }
    throw OpenIDFault.untrusted("the provider has no key for its ID token")
  }

  private static func read(_ issuer: String, _ fetch: OpenIDFetch) async throws -> Known {
    let base = issuer.hasSuffix("/") ? String(issuer.dropLast()) : issuer
    let document = try await get("\(base)/.well-known/openid-configuration", fetch)
    guard let named = document["issuer"]?.text, named.hasSameBytes(as: issuer) else {
      throw OpenIDFault.unreachable("its document names another issuer than PUSHCART_OIDC_ISSUER")
    }
    let algorithms = texts(document["id_token_signing_alg_values_supported"])
    let methods = texts(document["token_endpoint_auth_methods_supported"])
    let keys = try await get(try address("jwks_uri", document), fetch)
    guard case .array(let keys)? = keys["keys"] else { throw OpenIDFault.unreachable("its jwks_uri has no keys") }
    return Known(
      authorizationURL: try address("authorization_endpoint", document),
      tokenURL: try address("token_endpoint", document),
      algorithms: IDToken.algorithms.filter(algorithms.contains),
      takesBasic: methods.isEmpty || methods.contains("client_secret_basic"),
      namesIssuer: document["authorization_response_iss_parameter_supported"] == true, keys: keys)
  }

  private static func get(_ url: String, _ fetch: OpenIDFetch) async throws -> JSONValue {
    guard let (status, body) = await fetch(url, nil, nil) else {
      throw OpenIDFault.unreachable("no answer from \(url)")
    }
    guard status == 200, let json = try? JSONValue(json: body), case .object = json else {
      throw OpenIDFault.unreachable("status \(status) from \(url), or no JSON object")
    }
    return json
  }

  /// An address of https that can stand in a header.
  private static func address(_ name: String, _ document: JSONValue) throws -> String {
    guard let url = document[name]?.text, url.hasPrefix("https://"), url.utf8.count <= 1000,
      url.utf8.allSatisfy({ (0x21..<0x7F).contains($0) && $0 != UInt8(ascii: "#") })
    else { throw OpenIDFault.unreachable("its document has no https address for \(name)") }
    return url
  }

  private static func texts(_ list: JSONValue?) -> [String] {
    if case .array(let items)? = list { items.compactMap(\.text) } else { [] }
  }

  // MARK: Tokens

  /// Exchanges a code for an ID token, as text (RFC 6749, section 4.1.3; RFC 7636, section 4.5).
  /// - Throws: `OpenIDFault`.
  func exchange(_ code: String, verifier: String, redirectURL: String) async throws -> String {
    let known = try await known()
    var fields = [
      ("grant_type", "authorization_code"), ("code", code), ("redirect_uri", redirectURL), ("code_verifier", verifier),
      ("client_id", settings.clientID),
    ]
    var authorization: String?
    if let secret = settings.clientSecret {
      if known.takesBasic {
        let pair = "\(PercentEncoding.encode(settings.clientID)):\(PercentEncoding.encode(secret.text))"
        authorization = "Basic \(Data(pair.utf8).base64EncodedString())"
      } else {
        fields.append(("client_secret", secret.text))
      }
    }
    guard let (status, body) = await fetch(known.tokenURL, Self.form(fields), authorization) else {
      throw OpenIDFault.unreachable("no answer from \(known.tokenURL)")
    }
    let answer = try? JSONValue(json: body)
    guard status == 200 else {
      let word = answer?["error"]?.text.map(Self.word) ?? "no reason"
      let reason = "the token endpoint refused the code: status \(status), \(word)"
      throw status >= 500 || status == 429 ? OpenIDFault.unreachable(reason) : .untrusted(reason)
    }
    guard let token = answer?["id_token"]?.text else {
      throw OpenIDFault.untrusted("the token endpoint sent no ID token; does PUSHCART_OIDC_SCOPES have openid?")
    }
    return token
  }

  /// A word of the provider's for the log: printable ASCII, and not much of it.
  static func word(_ text: String) -> String {
    String(decoding: text.utf8.prefix(60).filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
  }

  static func form(_ fields: [(String, String)]) -> String {
    fields.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
  }
}
