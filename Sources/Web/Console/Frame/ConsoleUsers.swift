package import Registry

/// Who uses the console: their sign-in, their sessions and what they change about themselves.
package struct ConsoleUsers: Sendable {
  let signIn: ConsoleSignIn
  let sessions: Sessions
  let account: OwnAccount

  package init(signIn: ConsoleSignIn, sessions: Sessions, account: OwnAccount) {
    self.signIn = signIn
    self.sessions = sessions
    self.account = account
  }
}
