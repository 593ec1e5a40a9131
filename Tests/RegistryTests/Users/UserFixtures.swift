import Foundation
import Postgres
import Support
import Wire

@testable import Registry

/// A customer's console, with hashes that take no time and a clock that moves when it is told to.
struct TestConsole: Sendable {
  let database: TestDatabase
  let customer: CustomerID
  let vault: Vault
  let date = SteerableDate()
  let passwords = Passwords(cost: 1)

  static let password = "correct horse battery"

  var users: Users { Users(database.pool, isOperator: false) }
  var operators: Users { Users(database.pool, isOperator: true) }
  var sessions: Sessions { Sessions(database.pool) }
  var signIn: ConsoleSignIn {
    ConsoleSignIn(database.pool, vault: vault, passwords: passwords) { [date] in date.now }
  }

  static func client(_ network: String = "203.0.113.7") -> SignInClient {
    SignInClient(address: network, network: network, userAgent: "Firefox")
  }

  /// Adds a user who has not used their link.
  func invite(_ email: String = "mia@example.com", _ role: Role = .owner, to other: CustomerID? = nil) async throws
    -> UserReply
  {
    try await users.add(other ?? customer, UserRequest(email: email, name: "Mia", role: role))
  }

  /// The token of a link.
  static func token(_ user: UserReply) -> String { String((user.link ?? "").split(separator: "/").last ?? "") }

  /// Adds a user with a password.
  /// - Returns: the user's number, and the token of the session that the link has begun.
  func user(_ email: String = "mia@example.com", _ role: Role = .owner) async throws -> (id: UserID, token: String) {
    let user = try await invite(email, role)
    let session = try await signIn.setPassword(Self.password, ofLink: Self.token(user), from: Self.client())
    return (user.userId, session.token)
  }

  /// Signs in.
  func begin(
    _ email: String = "mia@example.com", _ password: String = password, from network: String = "203.0.113.7"
  ) async throws -> NewSession {
    try await signIn.begin(email: email, password: password, from: Self.client(network))
  }

  /// Turns an authenticator app on, and lets its step pass.
  /// - Returns: also the session's new token.
  func turnOnTOTP(_ token: String) async throws -> (totp: TOTP, codes: [String], token: String) {
    let totp = TOTP()
    guard let session = try await sessions.find(token) else { throw RegistryError.signInRefused }
    let code = totp.code(in: TOTP.step(at: date.now))
    let (codes, new) = try await signIn.turnOnTOTP(session, totp, code: code, password: Self.password)
    date.now.addTimeInterval(30)
    return (totp, codes, new.token)
  }

  /// What the app shows now.
  func code(_ totp: TOTP) -> String { totp.code(in: TOTP.step(at: date.now)) }
}

func withConsole(_ body: (TestConsole) async throws -> Void) async throws {
  try await withDatabase { database in
    try await body(TestConsole(database: database, customer: try await database.customer(), vault: try .fresh()))
  }
}
