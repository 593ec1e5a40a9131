import Crypto
public import FoundationEssentials
import Locking
public import Wire

/// An OpenID provider on this machine, for the console of a hub that trusts its certificate authority: discovery, keys, a page where
/// somebody is chosen, and tokens for codes with PKCE.
public final class SimulatedOpenID: Sendable {
  /// Somebody whom the provider knows.
  public struct Person: Sendable {
    public var subject: String
    public var email: String
    /// The claim `email_verified`; nil for none.
    public var isVerified: Bool?
    public var name: String
    /// The claim `roles`.
    public var roles: [String]

    public init(_ subject: String, email: String, isVerified: Bool? = true, name: String, roles: [String] = []) {
      (self.subject, self.email, self.isVerified) = (subject, email, isVerified)
      (self.name, self.roles) = (name, roles)
    }
  }

  /// The only client.
  public struct Client: Sendable {
    public var id: String
    /// Nil for a public one.
    public var secret: String?
    /// Where browsers are sent back to.
    public var redirectURL: String

    public init(id: String, secret: String?, redirectURL: String) {
      (self.id, self.secret, self.redirectURL) = (id, secret, redirectURL)
    }
  }

  /// A sign-in that was asked for through a browser.
  private struct Asked {
    let state: String
    let nonce: String
    let challenge: String
  }

  private struct State {
    var people: [Person]
    var key: OpenIDKey
    var oldKeys: [OpenIDKey] = []
    var codes: [String: (person: Person, asked: Asked)] = [:]
    var forgery = OpenIDForgery.none
    /// In place of members of the discovery document.
    var document: [UTF8String: JSONValue] = [:]
    var keyReads = 0
    var listener: ServiceListener?
  }

  private let client: Client
  private let now: @Sendable () -> Date
  private let connections = ConnectionTable()
  private let state: Mutex<State>

  /// - Parameters:
  ///   - algorithm: what ID tokens are signed by.
  ///   - now: the clock that tokens go by.
  /// - Throws: if no key can be made.
  public init(
    _ client: Client, _ people: [Person], algorithm: OpenIDKey.Algorithm = .es256,
    now: @escaping @Sendable () -> Date = { Date() }
  ) throws {
    self.client = client
    self.now = now
    state = Mutex(State(people: people, key: try OpenIDKey(algorithm)))
  }

  /// Listens at a port of this machine, with a certificate of the authority in `caFile`, which is written if there is none.
  /// - Parameter port: 0 for any free one.
  public func start(caFile: String, port: Int = 0) async throws {
    var settings = SimulatorSettings(caFile: caFile)
    let place = SimulatedPort(option: "openid-port", usual: port, help: "", name: "OpenID")
    settings.ports = [place.option: port]
    let host = ListeningHost(settings: settings, authority: try CertificateAuthority.stored(in: caFile))
    let listener = try await host.listen(
      on: place, connections, protocols: ["h2", "http/1.1"], http1: { try ServiceListener.http1($0, $1) }
    ) { OpenIDConnection(provider: self) }
    state.withLock { $0.listener = listener }
  }

  public func stop() async {
    let listener = state.withLock { exchange(&$0.listener, with: nil) }
    await listener?.close()
    connections.order(.cut)
  }

  /// `https://localhost:8450`, say. Call it after `start`.
  public var issuer: String { "https://localhost:\(state.withLock { $0.listener?.port } ?? 0)" }

  // MARK: What tests change

  /// Replaces whoever has this subject, or adds them.
  public func know(_ person: Person) {
    state.withLock { state in
      state.people.removeAll { $0.subject == person.subject }
      state.people.append(person)
    }
  }

  /// What is wrong with ID tokens from now on.
  public func forge(_ forgery: OpenIDForgery) { state.withLock { $0.forgery = forgery } }

  /// Says something else in the discovery document; `null` leaves a member out.
  public func say(_ members: [UTF8String: JSONValue]) { state.withLock { $0.document = members } }

  /// Signs by a new key; tokens of the old one stay valid.
  public func rotateKey() throws {
    let key = try OpenIDKey(state.withLock { $0.key.algorithm })
    state.withLock { state in
      state.oldKeys.append(state.key)
      state.key = key
    }
  }

  /// Signs by a new key of the old one's name, which is published no more.
  public func replaceKey() throws {
    let old = state.withLock { $0.key }
    let key = try OpenIDKey(old.algorithm, id: old.id)
    state.withLock { $0.key = key }
  }

  /// How often the keys were read.
  public var keyReads: Int { state.withLock { $0.keyReads } }
}

// MARK: - Browsers

extension SimulatedOpenID {
  /// Why a browser's request is refused.
  public struct RequestRefused: Error {
    /// The parameter that is missing or wrong.
    public let parameter: String
  }

  /// Signs somebody in, as their choice on the page does.
  /// - Parameter url: where the hub has sent the browser.
  /// - Returns: where the browser is sent back to.
  public func signIn(_ subject: String, at url: String) throws(RequestRefused) -> String {
    let asked = try read(url)
    guard let person = state.withLock({ $0.people.first { $0.subject == subject } }) else {
      throw RequestRefused(parameter: "subject")
    }
    let code = UUID().uuidString
    state.withLock { $0.codes[code] = (person, asked) }
    return back(["code": code, "state": asked.state, "iss": issuer])
  }

  /// Refuses a sign-in, as somebody who does not agree.
  /// - Returns: where the browser is sent back to.
  public func deny(at url: String) throws(RequestRefused) -> String {
    back(["error": "access_denied", "state": try read(url).state, "iss": issuer])
  }

  private func back(_ parameters: KeyValuePairs<String, String>) -> String {
    client.redirectURL + "?" + parameters.map { "\($0)=\(PercentEncoding.encode($1))" }.joined(separator: "&")
  }

  private func read(_ url: String) throws(RequestRefused) -> Asked {
    let sent = Self.query(of: url)
    let expected = [
      "response_type": "code", "client_id": client.id, "redirect_uri": client.redirectURL,
      "code_challenge_method": "S256",
    ]
    for (name, value) in expected where sent[name] != value { throw RequestRefused(parameter: name) }
    guard sent["scope"]?.split(separator: " ").contains("openid") == true else {
      throw RequestRefused(parameter: "scope")
    }
    func long(_ name: String) throws(RequestRefused) -> String {
      guard let value = sent[name], value.utf8.count >= 43 else { throw RequestRefused(parameter: name) }
      return value
    }
    return Asked(state: try long("state"), nonce: try long("nonce"), challenge: try long("code_challenge"))
  }

  private static func query(of url: String) -> [String: String] {
    let query = url.split(separator: "?", maxSplits: 1).dropFirst().first ?? ""
    return Dictionary(FormPairs.readLeniently(query.utf8).map { ($0.name, $0.value) }) { first, _ in first }
  }

  /// The page where somebody is chosen.
  private func page(_ url: String) -> SimulatedResponse {
    guard (try? read(url)) != nil else { return Self.error("invalid_request", status: 400) }
    let query = url.split(separator: "?", maxSplits: 1).last ?? ""
    let people = state.withLock { $0.people }.map { person in
      let link = "/choose?subject=\(PercentEncoding.encode(person.subject))&\(query)"
      return "<li><a href=\"\(Self.escaped(link))\">\(Self.escaped("\(person.name), \(person.email)"))</a></li>"
    }
    let html = """
      <!doctype html><html lang="en"><meta charset="utf-8"><title>Sign in</title>
      <h1>Who are you?</h1><ul>\(people.joined())</ul></html>
      """
    return SimulatedResponse(html, contentType: "text/html; charset=utf-8")
  }

  private static func escaped(_ text: String) -> String {
    text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing("\"", with: "&quot;")
  }
}

// MARK: - Answers

extension SimulatedOpenID {
  fileprivate func answer(_ request: IncomingRequest) -> SimulatedResponse {
    switch (request.method, request.path.split(separator: "?").first ?? "") {
    case ("GET", "/.well-known/openid-configuration"): return Self.json(document)
    case ("GET", "/keys"): return Self.json(keys)
    case ("GET", "/authorize"): return page(request.path)
    case ("GET", "/choose"):
      guard let url = try? signIn(Self.query(of: request.path)["subject"] ?? "", at: request.path) else {
        return Self.error("invalid_request", status: 400)
      }
      return SimulatedResponse(status: 302, headers: [("location", url)])
    case ("POST", "/token"): return token(request)
    default: return Self.error("not_found", status: 404)
    }
  }

  private var document: JSONValue {
    let usual: JSONValue = [
      "issuer": .string(issuer), "authorization_endpoint": .string(issuer + "/authorize"),
      "token_endpoint": .string(issuer + "/token"), "jwks_uri": .string(issuer + "/keys"),
      "response_types_supported": ["code"], "subject_types_supported": ["public"],
      "id_token_signing_alg_values_supported": [
        .string(state.withLock { $0.key.algorithm.rawValue }), "HS256", "none",
      ],
      "code_challenge_methods_supported": ["S256"], "authorization_response_iss_parameter_supported": true,
    ]
    return usual.merging(.object(state.withLock { $0.document }))
  }

  private var keys: JSONValue {
    state.withLock { state in
      state.keyReads += 1
      // A key of another kind, and one that nobody knows: providers have them, too.
      let others: [JSONValue] = [
        ["kty": "RSA", "use": "enc", "kid": "for-encryption", "alg": "RSA-OAEP-256", "n": "AQAB", "e": "AQAB"],
        ["kty": "AKP", "kid": "of-tomorrow", "alg": "ML-DSA-65", "pub": "AQAB"],
      ]
      return ["keys": .array(others + (state.oldKeys + [state.key]).map(\.published))]
    }
  }

  private func token(_ request: IncomingRequest) -> SimulatedResponse {
    let form = request.form
    guard isClient(request, form) else { return Self.error("invalid_client", status: 401) }
    guard form["grant_type"] == "authorization_code", form["redirect_uri"] == client.redirectURL,
      let code = form["code"], let (person, asked) = state.withLock({ $0.codes.removeValue(forKey: code) }),
      let verifier = form["code_verifier"],
      Base64URL.text(Array(SHA256.hash(data: Array(verifier.utf8)))) == asked.challenge,
      let token = try? idToken(of: person, nonce: asked.nonce)
    else { return Self.error("invalid_grant", status: 400) }
    return Self.json([
      "token_type": "Bearer", "access_token": .string(UUID().uuidString), "expires_in": 300, "id_token": .string(token),
    ])
  }

  private func isClient(_ request: IncomingRequest, _ form: [String: String]) -> Bool {
    guard let secret = client.secret else { return form["client_id"] == client.id }
    if form["client_id"] == client.id, form["client_secret"] == secret { return true }
    let pair = "\(client.id.percentEncoded):\(secret.percentEncoded)"
    return request.header("authorization") == "Basic \(Data(pair.utf8).base64EncodedString())"
  }

  private func idToken(of person: Person, nonce: String) throws -> String {
    let (key, forgery) = state.withLock { ($0.key, $0.forgery) }
    let time = Int64(now().timeIntervalSince1970)
    var claims: [UTF8String: JSONValue] = [
      "iss": .string(issuer), "sub": .string(person.subject), "aud": .string(client.id), "nonce": .string(nonce),
      "iat": .integer(time), "exp": .integer(time + 300), "email": .string(person.email), "name": .string(person.name),
      "roles": .array(person.roles.map { .string($0) }),
    ]
    claims["email_verified"] = person.isVerified.map { .bool($0) }
    return try forgery.token(claims, key)
  }

  private static func json(_ value: JSONValue) -> SimulatedResponse {
    SimulatedResponse(String(decoding: value.json, as: UTF8.self), contentType: "application/json")
  }

  private static func error(_ word: String, status: Int) -> SimulatedResponse {
    SimulatedResponse(status: status, #"{"error":"\#(word)"}"#, contentType: "application/json")
  }
}

/// A client's connection to the provider, which remembers nothing of it.
private struct OpenIDConnection: ServiceConnection {
  let provider: SimulatedOpenID

  var streamLimit: Int { 100 }

  func receive(_ request: IncomingRequest) -> SimulatedAnswer<Never> {
    let response = provider.answer(request)
    return SimulatedAnswer(reply: .accept) { _ in response }
  }
}
