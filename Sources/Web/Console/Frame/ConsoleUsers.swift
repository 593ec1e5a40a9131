package import Registry

/// Who uses the console: their sign-in, their sessions and what they change about themselves.
package struct ConsoleUsers: Sendable {
  let signIn: ConsoleSignIn
  let sessions: Sessions
  /// `nil` without a provider.
  let openID: OpenIDSignIn?

  package init(signIn: ConsoleSignIn, sessions: Sessions, openID: OpenIDSignIn? = nil) {
    self.signIn = signIn
    self.sessions = sessions
    self.openID = openID
  }
}
