import HTTPTypes
import Operations
package import Registry
import Wire

/// Who uses the console: their sign-in, their sessions and what they change about themselves.
package struct ConsoleUsers: Sendable {
  let sessions: Sessions
  /// `nil` without a provider.
  let openID: OpenIDSignIn?
  private let signIn: ConsoleSignIn

  /// - Parameter openID: where it alone signs people in, sessions that began with a password have ended.
  package init(signIn: ConsoleSignIn, sessions: Sessions, openID: OpenIDSignIn? = nil) {
    self.signIn = signIn
    self.openID = openID
    var sessions = sessions
    sessions.isByProviderOnly = openID?.settings.isOnly ?? false
    self.sessions = sessions
  }

  /// Whatever is done by a password, or to one. Routes reach it in no other way, so each of them keeps the rule.
  /// - Throws: `HTTPErrorResponse` (403) where the OpenID provider alone signs people in.
  func passwords() throws -> ConsoleSignIn {
    guard let openID, openID.settings.isOnly else { return signIn }
    throw HTTPErrorResponse(
      .forbidden, "Passwords open nothing here. Sign in with \(openID.settings.name), on the page /console/sign-in.")
  }

  /// How the user signs in.
  func security(of user: UserID) async throws -> AccountSecurity { try await signIn.security(of: user) }
}
