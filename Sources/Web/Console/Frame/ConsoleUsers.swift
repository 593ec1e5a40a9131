package import Registry

/// Who uses the console: their sign-in, their sessions and what they change about themselves.
package struct ConsoleUsers: Sendable {
  let signIn: ConsoleSignIn
  let sessions: Sessions

  package init(signIn: ConsoleSignIn, sessions: Sessions) {
    self.signIn = signIn
    self.sessions = sessions
  }
}
