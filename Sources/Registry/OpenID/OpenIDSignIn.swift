import Crypto
package import FoundationEssentials
package import Logging
package import Postgres
import Wire

/// Signs users in to the console by an OpenID provider: the authorization code flow with PKCE (OpenID Connect Core 1.0, section 3.1;
/// RFC 7636).
///
/// What a sign-in began with is in a sealed cookie, so that it ends in the browser where it began. Each ends once, within ten minutes.
package struct OpenIDSignIn: Sendable {
  /// Where the provider sends browsers back to, below the console's address.
  package static let callbackPath = "/console/sign-in/openid/callback"
  /// Seconds that a person has at the provider.
  package static let lifetime = 600

  package let settings: OpenIDSettings
  private let pool: Pool
  private let vault: Vault
  private let provider: OpenIDProvider
  private let redirectURL: String
  private let logger: Logger
  private let date: @Sendable () -> Date

  /// - Parameters:
  ///   - consoleURL: where people reach the console, without a slash at its end.
  ///   - date: the wall clock that tokens go by, which tests steer.
  ///   - now: the clock that the provider's documents get old by.
  package init(
    _ pool: Pool, vault: Vault, settings: OpenIDSettings, consoleURL: String, logger: Logger,
    date: @escaping @Sendable () -> Date = { Date() },
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }, fetch: @escaping OpenIDFetch
  ) {
    self.settings = settings
    self.pool = pool
    self.vault = vault
    self.logger = logger
    self.date = date
    provider = OpenIDProvider(settings, now: now, fetch: fetch)
    redirectURL = consoleURL + Self.callbackPath
  }

  /// What comes back with a browser, in the address.
  package struct Answer: Sendable {
    package var state: String?
    package var code: String?
    package var issuer: String?
    /// The provider's word for a refusal, such as `access_denied`.
    package var error: String?

    package init(state: String?, code: String?, issuer: String?, error: String?) {
      (self.state, self.code, self.issuer, self.error) = (state, code, issuer, error)
    }
  }

  /// What a sign-in began with.
  private struct Begun: Codable {
    let state: String
    let nonce: String
    let verifier: String
    let next: String?
    /// In seconds since 1970.
    let at: Int64
  }

  /// Begins a sign-in. Nothing is stored but in the browser.
  /// - Parameter next: the page to come back to.
  /// - Returns: where the browser goes, and what its cookie holds.
  /// - Throws: `RegistryError.openID`.
  package func begin(next: String?) async throws -> (url: String, cookie: String) {
    let known = try await logged { try await provider.known() }
    let begun = Begun(
      state: ConsoleToken().text, nonce: ConsoleToken().text, verifier: ConsoleToken().text, next: next,
      at: Int64(date().timeIntervalSince1970))
    let query = OpenIDProvider.form([
      ("response_type", "code"), ("client_id", settings.clientID), ("redirect_uri", redirectURL),
      ("scope", settings.scopes), ("state", begun.state), ("nonce", begun.nonce),
      ("code_challenge", Base64URL.text(Array(SHA256.hash(data: Array(begun.verifier.utf8))))),
      ("code_challenge_method", "S256"),
    ])
    let sealed = try vault.seal(Secret(bytes: try JSONCoding.encode(begun)), context: Self.place)
    let url = known.authorizationURL
    return ("\(url)\(url.contains("?") ? "&" : "?")\(query)", Base64URL.text(sealed.joined))
  }

  /// Ends a sign-in: begins a session of the person whom the provider names.
  /// - Parameter cookie: what `begin` has put into this browser.
  /// - Returns: the session, and the page to come back to.
  /// - Throws: `RegistryError.openID`, `.tooManySignIns`.
  package func finish(
    _ answer: Answer, cookie: String?, from client: SignInClient
  ) async throws -> (session: NewSession, next: String?) {
    guard let begun = open(cookie), let state = answer.state, state.hasSameBytes(as: begun.state) else {
      throw RegistryError.openID(.stale)
    }
    let network = Attempts.ofNetwork(client.network)
    try await network.count(in: pool)
    guard try await Attempts.ofState(state).isFirst(in: pool) else { throw RegistryError.openID(.stale) }
    let token = try await logged { try await identify(answer, begun) }
    let user = try await pool.transaction { try await OpenIDUsers($0, settings).settle(token, address: client.address) }
    let session = try await session(of: user, token, client)
    try await network.takeBack(in: pool)
    return (session, begun.next)
  }

  private static let place = "openid_sign_in"

  private func open(_ cookie: String?) -> Begun? {
    guard let bytes = cookie.flatMap({ Base64URL.decode(Array($0.utf8)) }),
      let secret = try? vault.open(Sealed(joined: bytes), context: Self.place),
      let begun = try? JSONCoding.decode(Begun.self, from: secret.bytes)
    else { return nil }
    let age = Int64(date().timeIntervalSince1970) - begun.at
    return (-60...Int64(Self.lifetime)).contains(age) ? begun : nil
  }

  /// The ID token for the code that came back.
  private func identify(_ answer: Answer, _ begun: Begun) async throws -> IDToken {
    let known = try await provider.known()
    // The answer of another provider that this browser was sent to (RFC 9207).
    if known.namesIssuer || answer.issuer != nil {
      guard answer.issuer?.hasSameBytes(as: settings.issuer) == true else {
        throw OpenIDFault.untrusted("the browser brought another provider's answer")
      }
    }
    if let error = answer.error {
      if error == "access_denied" { throw RegistryError.openID(.denied) }
      throw OpenIDFault.untrusted("the provider refused the sign-in: \(OpenIDProvider.word(error))")
    }
    guard let code = answer.code, !code.isEmpty else { throw OpenIDFault.untrusted("the browser brought no code") }
    let token = try await provider.exchange(code, verifier: begun.verifier, redirectURL: redirectURL)
    return try await IDToken(token, from: provider, nonce: begun.nonce, now: date())
  }

  private func session(of user: UserID, _ token: IDToken, _ client: SignInClient) async throws -> NewSession {
    let new = ConsoleToken()
    let begun = try await pool.query(
      SessionQueries.beginBySubject, Bytes(new.hash), user.rawValue, settings.issuer,
      client.address.map(ConsoleSignIn.shortened), client.userAgent.map(ConsoleSignIn.shortened), token.subject)
    guard !begun.isEmpty, try await Sessions(pool).find(new.text) != nil else { throw RegistryError.openID(.noRole) }
    try await pool.query(SessionQueries.trim, user.rawValue)
    try await pool.query(UserQueries.noteSignIn, user.rawValue)
    return NewSession(token: new.text, needsCode: false)
  }

  /// The log gets the reason, and whoever signs in gets a sentence.
  private func logged<Answer>(_ work: () async throws -> Answer) async throws -> Answer {
    do {
      return try await work()
    } catch OpenIDFault.stillUnreachable {
      throw RegistryError.openID(.unreachable)
    } catch OpenIDFault.unreachable(let reason) {
      logger.warning("nobody can sign in by the OpenID provider", metadata: ["reason": "\(reason)"])
      throw RegistryError.openID(.unreachable)
    } catch OpenIDFault.untrusted(let reason) {
      logger.warning("refused a sign-in by the OpenID provider", metadata: ["reason": "\(reason)"])
      throw RegistryError.openID(.untrusted)
    }
  }
}

/// Why somebody cannot sign in by the OpenID provider.
public enum OpenIDRefusal: Sendable, Hashable {
  /// The sign-in began in another browser, or too long ago, or has ended before.
  case stale
  /// The person, or the provider for them, said no.
  case denied
  /// The provider does not answer, or not as one.
  case unreachable
  /// What came back is not to be trusted.
  case untrusted
  /// The provider does not say that the e-mail address is the person's.
  case unverified
  /// The user of this e-mail address signs in with a password.
  case hasPassword
  /// The user of this e-mail address is somebody else at the provider.
  case otherSubject
  /// The person belongs to no customer, or is disabled.
  case noRole
}
