import FoundationEssentials
import Postgres
package import Wire

/// What users change about how they sign in, in a session of theirs. Whoever finds a console open cannot do so: each change needs the password.
/// It ends every other session, and gives this one a new token, as somebody may have a copy of the one that it had.
extension ConsoleSignIn {
  /// How the user signs in.
  package func security(of user: UserID) async throws -> AccountSecurity {
    let found = try await factors.find(user)
    return AccountSecurity(
      hasPassword: found.passwordHash != nil, usesTOTP: found.totp != nil, recoveryCodesLeft: found.recoveryCodes)
  }

  /// Changes the password.
  /// - Throws: `RegistryError.passwordRefused`, `.tooManySignIns`, `.tooManyPasswords`, `.invalid` naming `password`.
  package func changePassword(_ session: SignedIn, from current: String, to new: String) async throws -> NewSession {
    try await check(current, session)
    try PasswordRule.check(new, email: session.email, name: session.name)
    let hash = try await passwords.hash(new)
    let token = ConsoleToken()
    try await database.query(
      UserQueries.setPassword, session.user.rawValue, session.session.rawValue, Bytes(token.hash), hash)
    return NewSession(token: token.text, needsCode: false)
  }

  /// Turns the authenticator app on, once it shows the right code.
  /// - Parameters:
  ///   - totp: what the app was given, as the form carries it.
  ///   - code: what it shows now.
  /// - Returns: ten recovery codes, shown once. Earlier ones open nothing any more.
  /// - Throws: `RegistryError.passwordRefused`, `.tooManySignIns`, `.tooManyPasswords`, `.codeRefused`.
  package func turnOnTOTP(
    _ session: SignedIn, _ totp: TOTP, code: String, password: String
  ) async throws -> (recoveryCodes: [String], session: NewSession) {
    try await check(password, session)
    guard let step = totp.step(of: SecondFactors.digits(of: code), at: date(), after: 0) else {
      throw RegistryError.codeRefused
    }
    return try await factors.turnOn(totp, in: session, acceptedStep: step)
  }

  /// Turns the authenticator app off; its recovery codes open nothing any more.
  /// - Throws: `RegistryError.passwordRefused`, `.tooManySignIns`, `.tooManyPasswords`.
  package func turnOffTOTP(_ session: SignedIn, password: String) async throws -> NewSession {
    try await check(password, session)
    let token = ConsoleToken()
    try await database.query(
      UserQueries.turnOffTOTP, session.user.rawValue, session.session.rawValue, Bytes(token.hash))
    return NewSession(token: token.text, needsCode: false)
  }

  private func check(_ password: String, _ session: SignedIn) async throws {
    let attempt = Attempts.ofEmail(session.email)
    try await attempt.count(in: database)
    guard try await passwords.verify(password, try await factors.find(session.user).passwordHash) else {
      throw RegistryError.passwordRefused
    }
    try await attempt.takeBack(in: database)
  }
}

/// How a user signs in.
package struct AccountSecurity: Sendable, Equatable {
  package let hasPassword: Bool
  package let usesTOTP: Bool
  package let recoveryCodesLeft: Int
}

/// What users have beside their password: the secret of an authenticator app, and recovery codes.
struct SecondFactors: Sendable {
  struct Found {
    let passwordHash: String?
    let totp: Sealed?
    let lastStep: Int64
    let recoveryCodes: Int
  }

  private let database: any Querying
  private let vault: Vault

  init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  func find(_ user: UserID) async throws -> Found {
    guard let row = try await database.query(UserQueries.factors, user.rawValue).first else {
      throw RegistryError.numberUnknown("user")
    }
    let (hash, totp, step, codes) = try row.decode(String?.self, Bytes?.self, Int64.self, Int32.self)
    return Found(
      passwordHash: hash, totp: totp.map { Sealed(joined: $0.bytes) }, lastStep: step, recoveryCodes: Int(codes))
  }

  /// Takes a code of the authenticator app, or a recovery code, once.
  /// - Returns: whether it was right.
  func take(_ code: String, of user: UserID, at moment: Date) async throws -> Bool {
    let digits = Self.digits(of: code)
    if digits.utf8.count != 6 {
      guard let hash = RecoveryCode.hash(code) else { return false }
      return try await !database.query(UserQueries.takeRecoveryCode, user.rawValue, Bytes(hash)).isEmpty
    }
    let found = try await find(user)
    guard let sealed = found.totp, let totp = TOTP(secret: try vault.open(sealed, context: Self.place(user))),
      let step = totp.step(of: digits, at: moment, after: found.lastStep)
    else { return false }
    return try await !database.query(UserQueries.takeStep, user.rawValue, step).isEmpty
  }

  /// - Returns: new recovery codes, and the session with another token.
  func turnOn(
    _ totp: TOTP, in session: SignedIn, acceptedStep step: Int64
  ) async throws -> (recoveryCodes: [String], session: NewSession) {
    let codes = (0..<RecoveryCode.count).map { _ in RecoveryCode.make() }
    let sealed = try vault.seal(totp.secret, context: Self.place(session.user))
    let token = ConsoleToken()
    try await database.query(
      UserQueries.turnOnTOTP, session.user.rawValue, session.session.rawValue, Bytes(token.hash), Bytes(sealed.joined),
      step, codes.compactMap(RecoveryCode.hash).map { Bytes($0) })
    return (codes, NewSession(token: token.text, needsCode: false))
  }

  /// The code without blanks, which apps show in its middle.
  static func digits(of code: String) -> String { String(code.filter { !$0.isWhitespace }) }

  private static func place(_ user: UserID) -> String { SealedColumn.totp.place(nil, "\(user)") }
}
