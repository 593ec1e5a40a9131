import Crypto
package import FoundationEssentials
package import Postgres
package import Wire

/// Signs users in to the console: by a password, and then by a code of their authenticator app if they use one. Changes both for them.
///
/// What is refused looks and takes the same whether there is such a user or not.
package struct ConsoleSignIn: Sendable {
  let database: any Querying
  let passwords: Passwords
  let factors: SecondFactors
  let date: @Sendable () -> Date

  /// - Parameter date: the wall clock that codes go by, which tests steer.
  package init(
    _ database: any Querying, vault: Vault, passwords: Passwords, date: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.database = database
    self.passwords = passwords
    factors = SecondFactors(database, vault: vault)
    self.date = date
  }

  /// Begins a session.
  /// - Throws: `RegistryError.signInRefused`, `.tooManySignIns`, `.tooManyPasswords`.
  package func begin(email: String, password: String, from client: SignInClient) async throws -> NewSession {
    // The network first: one that is refused counts against nobody's account.
    let attempts = [Attempts.ofNetwork(client.network), .ofEmail(email)]
    for attempt in attempts { try await attempt.count(in: database) }
    let row = try await database.query(UserQueries.find, Self.shortened(email)).first
    let (user, hash) = try row?.decode(Int64.self, String?.self) ?? (Int64(0), nil)
    guard try await passwords.verify(password, hash), let hash,
      let session = try await begin(UserID(user), hash, client)
    else { throw RegistryError.signInRefused }
    for attempt in attempts { try await attempt.takeBack(in: database) }
    return session
  }

  /// The second step: a code of the authenticator app, or a recovery code. Each is taken once.
  /// - Throws: `RegistryError.codeRefused`, `.tooManySignIns`; `.sealed` if the secret of the app cannot be opened.
  package func enter(code: String, in session: SignedIn) async throws {
    guard session.needsCode else { return }
    let attempt = Attempts.ofCodes(session.user)
    try await attempt.count(in: database)
    guard try await factors.take(code, of: session.user, at: date()) else { throw RegistryError.codeRefused }
    try await attempt.takeBack(in: database)
    try await database.query(SessionQueries.complete, session.session.rawValue)
    try await database.query(UserQueries.noteSignIn, session.user.rawValue)
  }

  /// Whose password a link sets; `nil` if it was used, replaced, or made more than 24 hours ago.
  package func person(ofLink token: String) async throws -> LinkedUser? {
    guard let token = ConsoleToken(token),
      let row = try await database.query(UserQueries.findLink, Bytes(token.hash)).first
    else { return nil }
    let (user, email, name) = try row.decode(Int64.self, String.self, String.self)
    return LinkedUser(user: UserID(user), email: email, name: name)
  }

  /// Sets the password of a link's user, uses the link up, and begins a session.
  /// - Throws: `RegistryError.linkRefused`, `.invalid` naming `password`, `.tooManyPasswords`. The link stays good if the password is refused.
  package func setPassword(
    _ password: String, ofLink text: String, from client: SignInClient
  ) async throws -> NewSession {
    guard let token = ConsoleToken(text), let person = try await person(ofLink: text) else {
      throw RegistryError.linkRefused
    }
    try PasswordRule.check(password, email: person.email, name: person.name)
    let hash = try await passwords.hash(password)
    guard try await !database.query(UserQueries.useLink, Bytes(token.hash), hash).isEmpty,
      let session = try await begin(person.user, hash, client)
    else { throw RegistryError.linkRefused }
    return session
  }

  /// - Returns: `nil` if the user has another password by now.
  private func begin(_ user: UserID, _ hash: String, _ client: SignInClient) async throws -> NewSession? {
    let token = ConsoleToken()
    let begun = try await database.query(
      SessionQueries.begin, Bytes(token.hash), user.rawValue, hash, client.address.map(Self.shortened),
      client.userAgent.map(Self.shortened))
    guard let needsCode = try begun.first?.decode(Bool.self) else { return nil }
    // A user of no customer, or of those only who have disabled them, is told nothing else than anybody.
    guard try await Sessions(database).find(token.text) != nil else { return nil }
    try await database.query(SessionQueries.trim, user.rawValue)
    if !needsCode { try await database.query(UserQueries.noteSignIn, user.rawValue) }
    return NewSession(token: token.text, needsCode: needsCode)
  }

  /// As much of a text as is looked at or kept: PostgreSQL takes no U+0000.
  static func shortened(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.prefix(Attempts.longestText).filter { $0 != "\0" }))
  }
}

/// Where a sign-in comes from.
package struct SignInClient: Sendable {
  /// The address, as people see it later.
  package let address: String?
  /// What is counted as one client: the address, or the network of 64 bits of an IPv6 address.
  package let network: String
  package let userAgent: String?

  package init(address: String?, network: String, userAgent: String?) {
    self.address = address
    self.network = network
    self.userAgent = userAgent
  }
}

/// A session that was just begun, or got another token, and the only sight of that.
package struct NewSession: Sendable, Equatable {
  /// For the browser's cookie.
  package let token: String
  /// Whether a code of the authenticator app is asked for next.
  package let needsCode: Bool
}

/// Whose password a link sets.
package struct LinkedUser: Sendable, Equatable {
  package let user: UserID
  package let email: String
  package let name: String
}

/// What is counted of attempts to sign in, for 15 minutes from the first. Hubs count together.
///
/// An attempt is counted before it is checked, so that many at a time guess no more than one after the other.
struct Attempts: Sendable {
  /// Characters of a text that are looked at: no user has a longer e-mail address.
  static let longestText = 300

  private let subject: [UInt8]
  private let most: Int32

  private init(_ subject: String, most: Int32) {
    self.subject = Array(SHA256.hash(data: Array(subject.utf8)))
    self.most = most
  }

  /// Whether there is such a user or not.
  static func ofEmail(_ email: String) -> Self {
    Self("email \(String(email.unicodeScalars.prefix(longestText)).lowercasedASCII)", most: 10)
  }
  /// Many people may share a network.
  static func ofNetwork(_ network: String) -> Self { Self("network \(network)", most: 30) }
  /// By an OpenID provider, which ends once. What is counted is kept for longer than a sign-in may take.
  static func ofState(_ state: String) -> Self { Self("state \(state)", most: 1) }
  static func ofCodes(_ user: UserID) -> Self { Self("codes \(user)", most: 5) }

  /// - Throws: `RegistryError.tooManySignIns`.
  func count(in database: any Querying) async throws {
    let (attempts, seconds) = try await database.query(SignInQueries.count, Bytes(subject))[0].decode(
      Int32.self, Int64.self)
    if attempts > most { throw RegistryError.tooManySignIns(seconds: max(1, seconds)) }
  }

  /// Counts an attempt of those that there is to be one of.
  func isFirst(in database: any Querying) async throws -> Bool {
    do {
      try await count(in: database)
      return true
    } catch RegistryError.tooManySignIns {
      return false
    }
  }

  /// Of an attempt that succeeded.
  func takeBack(in database: any Querying) async throws {
    try await database.query(SignInQueries.takeBack, Bytes(subject))
  }
}

/// Statements on `sign_in_attempt`, a reference table.
enum SignInQueries {
  /// Counts an attempt. Returns how many there are, and in how many seconds they are forgotten.
  static let count = Statement(
    "sign_in_attempt.count", .write,
    """
    INSERT INTO sign_in_attempt AS counted (subject) VALUES ($1::bytea)
    ON CONFLICT (subject) DO UPDATE SET
      began_at = CASE WHEN counted.began_at <= now() - interval '15 minutes' THEN now() ELSE counted.began_at END,
      attempts = CASE WHEN counted.began_at <= now() - interval '15 minutes' THEN 1
                      ELSE least(counted.attempts, 1000000) + 1 END
    RETURNING attempts, ceil(extract(epoch FROM began_at + interval '15 minutes' - now()))::bigint
    """)

  static let takeBack = Statement(
    "sign_in_attempt.take_back", .write,
    "UPDATE sign_in_attempt SET attempts = attempts - 1 WHERE subject = $1::bytea AND attempts > 0")

  static let forget = Statement(
    "sign_in_attempt.forget", .write,
    """
    DELETE FROM sign_in_attempt WHERE subject IN
      (SELECT subject FROM sign_in_attempt WHERE began_at <= now() - interval '15 minutes' LIMIT $1::bigint)
    """)

  static let all: [Statement] = [count, takeBack, forget]
}
