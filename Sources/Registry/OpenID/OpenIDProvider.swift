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
  /// It was so some seconds ago, which is in the log. It was not asked again.
  case stillUnreachable
  /// What came is not what the provider would send.
  case untrusted(String)
}

/// An OpenID provider: where its endpoints are and with which keys it signs, by its own documents.
///
/// They are read when somebody wants to sign in, by one reader for all who wait, and kept for an hour. A token that they do not prove has them
/// read again, once a minute at most. A failure is remembered for some seconds, so that nobody waits for a provider that is away.
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
  /// By issuer, too.
  private let failures: SharedCache<String, Bool>
  private let now: @Sendable () -> ContinuousClock.Instant
  private let lastReread = Mutex<ContinuousClock.Instant?>(nil)

  /// How long documents are believed, and how often a token that they do not prove has them read again.
  private static let (lifetime, rereadInterval) = (Duration.seconds(3600), Duration.seconds(60))
  /// How long the provider is not asked again after a failure. `OpenIDRefusal.unreachable` asks people to wait for longer.
  private static let pause = Duration.seconds(10)

  init(
    _ settings: OpenIDSettings, now: @escaping @Sendable () -> ContinuousClock.Instant, fetch: @escaping OpenIDFetch
  ) {
    self.settings = settings
    self.fetch = fetch
    self.now = now
    documents = SharedCache(capacity: 1, lifetime: Self.lifetime, now: now)
    failures = SharedCache(capacity: 1, lifetime: Self.pause, now: now)
  }

  /// - Throws: `OpenIDFault`.
  func known() async throws -> Known {
    let issuer = settings.issuer
    if let known = documents.cached(issuer) { return known }
    if failures.cached(issuer) != nil { throw OpenIDFault.stillUnreachable }
    return try await documents.value(issuer) { [settings, fetch, failures] in
      // A reader before this one may have failed since the look above.
      if failures.cached(issuer) != nil { throw OpenIDFault.stillUnreachable }
      do {
        return try await Self.within(settings.documentsTimeout) { try await Self.read(issuer, fetch) }
      } catch {
        failures.keep(issuer, true)
        throw error
      }
    }
  }

  /// Judges a token by what is known of the provider. If that does not prove the token, it is read again and the token judged anew: the
  /// provider may have other keys by now.
  /// - Parameter judgement: what is wrong with the token; `nil` if nothing is.
  /// - Throws: `OpenIDFault`.
  func judge(_ judgement: @Sendable (Known) async -> String?) async throws -> String? {
    guard await judgement(try await known()) != nil else { return nil }
    let now = now()
    lastReread.withLock { last in
      if let last, now - last < Self.rereadInterval { return }
      last = now
      // Whoever comes meanwhile waits for the same answer.
      documents.flush()
    }
    return await judgement(try await known())
  }

  /// - Throws: `OpenIDFault.unreachable` if the work takes longer; the work is cancelled then.
  private static func within(
    _ limit: Duration, _ work: @escaping @Sendable () async throws -> Known
  ) async throws -> Known {
    try await withThrowingTaskGroup(of: Known?.self) { group in
      group.addTask { try await work() }
      group.addTask {
        try? await Task.sleep(for: limit)
        return nil
      }
      defer { group.cancelAll() }
      guard let known = try await group.next() ?? nil else {
        throw OpenIDFault.unreachable("its documents took longer than \(limit)")
      }
      return known
    }
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
