import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct SessionTests {
  @Test(arguments: [
    ("seen_at = now() - interval '11 hours 59 minutes'", true), ("seen_at = now() - interval '12 hours'", false),
    ("created_at = now() - interval '13 days 23 hours'", true), ("created_at = now() - interval '14 days'", false),
    ("needs_code = true, created_at = now() - interval '9 minutes'", true),
    ("needs_code = true, created_at = now() - interval '10 minutes'", false),
  ])
  func `A session ends 12 hours after its last use, after 14 days, and after 10 minutes without its code`(
    change: String, isValid: Bool
  ) async throws {
    try await withConsole { console in
      let (user, token) = try await console.user()
      try await console.database.query("UPDATE console_session SET \(change)")
      let found = try await console.sessions.find(token)
      #expect((found != nil) == isValid)
      try await console.sessions.forgetExpired()
      let left = try await console.database.query("SELECT count(*) FROM console_session")[0].decode(Int.self)
      #expect(left == (isValid ? 1 : 0))
      let listed = try await console.sessions.list(user).count
      #expect(listed == (isValid && !change.contains("needs_code") ? 1 : 0))
    }
  }

  @Test func `The use of a session is written once a minute at most`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      func seen() async throws -> String {
        try await console.database.query("SELECT seen_at::text FROM console_session")[0].decode(String.self)
      }
      let first = try await seen()
      _ = try await console.sessions.find(token)
      #expect(try await seen() == first)
      try await console.database.query("UPDATE console_session SET seen_at = now() - interval '61 seconds'")
      let old = try await seen()
      _ = try await console.sessions.find(token)
      #expect(try await seen() != old)
    }
  }

  @Test(arguments: [
    "", "x", "Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU", "Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oT\0U",
  ])
  func `A token that nobody made opens nothing`(token: String) async throws {
    try await withConsole { console in
      _ = try await console.user()
      #expect(try await console.sessions.find(token) == nil)
    }
  }

  @Test func `A user sees their own sessions, and ends them one by one`() async throws {
    try await withConsole { console in
      let (user, first) = try await console.user()
      let second = try await console.begin().token
      let (other, foreign) = try await console.user("lars@example.com")
      let list = try await console.sessions.list(user)
      #expect(list.count == 2 && list.allSatisfy { $0.address == "203.0.113.7" && $0.userAgent == "Firefox" })
      let session = try #require(try await console.sessions.find(second)).session
      try await console.sessions.end(session, of: other)
      #expect(try await console.sessions.find(second) != nil)
      try await console.sessions.end(session, of: user)
      #expect(try await console.sessions.find(second) == nil)
      for token in [first, foreign] { #expect(try await console.sessions.find(token) != nil) }
    }
  }

  @Test func `A new password ends every other session, renews its own, and the old one opens nothing`() async throws {
    try await withConsole { console in
      let (_, first) = try await console.user()
      let second = try await console.begin().token
      let session = try #require(try await console.sessions.find(first))
      await #expect(throws: RegistryError.passwordRefused) {
        try await console.signIn.changePassword(session, from: "wrong", to: "another horse battery")
      }
      await #expect(throws: RegistryError.self) {
        try await console.signIn.changePassword(session, from: TestConsole.password, to: "short")
      }
      #expect(try await console.sessions.find(second) != nil)
      let renewed = try await console.signIn.changePassword(
        session, from: TestConsole.password, to: "another horse battery")
      let kept = try #require(try await console.sessions.find(renewed.token))
      #expect(kept.session == session.session && kept.customer == session.customer && !kept.needsCode)
      #expect(kept.csrfToken != session.csrfToken)
      // Nor does a copy of its own cookie open anything.
      for token in [first, second] { #expect(try await console.sessions.find(token) == nil) }
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
      _ = try await console.begin("mia@example.com", "another horse battery")
    }
  }

  @Test func `A session that begins while the password is being changed ends with it`() async throws {
    try await withConsole { console in
      let (user, _) = try await console.user()
      let begun = try await console.database.withPool { other in
        try await other.transaction { transaction in
          try await transaction.query(
            UserQueries.setPassword, user.rawValue, Int64?.none, Bytes(ConsoleToken().hash), "another hash")
          let begun = Task { try? await console.begin() }
          try await console.database.someoneWaits(as: other)
          return begun
        }
      }
      #expect(await begun.value == nil)
      #expect(try await console.sessions.list(user) == [])
    }
  }

  @Test func `A session that was being begun when the password changed opens nothing`() async throws {
    try await withConsole { console in
      let (user, token) = try await console.user()
      let session = try #require(try await console.sessions.find(token))
      let hash = try await console.database.query("SELECT password_hash FROM console_user")[0].decode(String.self)
      let begun = ConsoleToken()
      let changed = try await console.database.withPool { other in
        let changed = try await other.transaction { transaction in
          _ = try await transaction.query(
            SessionQueries.begin, Bytes(begun.hash), user.rawValue, hash, String?.none, String?.none)
          // It does not see the session, and waits for the user's row.
          let changed = Task {
            try await console.signIn.changePassword(
              session, from: TestConsole.password, to: "another horse battery")
          }
          try await console.database.someoneWaits(as: other)
          return changed
        }
        return try await changed.value
      }
      #expect(try await console.sessions.find(begun.text) == nil)
      #expect(try await console.sessions.list(user).map(\.sessionId) == [session.session])
      #expect(try await console.sessions.find(changed.token)?.session == session.session)
      try await console.sessions.forgetExpired()
      let left = try await console.database.query("SELECT count(*) FROM console_session")[0].decode(Int.self)
      #expect(left == 1)
    }
  }

  @Test func `Where passwords open nothing, sessions that began with one are deleted`() async throws {
    try await withConsole { console in
      _ = try await console.user()
      let kept = try await console.begin().token
      try await console.database.query("UPDATE console_session SET by_provider = session_id > 1")
      var sessions = console.sessions
      try await sessions.forgetExpired()
      let all = try await console.database.query("SELECT count(*) FROM console_session")[0].decode(Int.self)
      #expect(all == 2)
      sessions.isByProviderOnly = true
      try await sessions.forgetExpired()
      let left = try await console.database.query("SELECT count(*) FROM console_session")[0].decode(Int.self)
      #expect(left == 1)
      #expect(try await sessions.find(kept) != nil)
    }
  }

  @Test func `A user of two customers chooses, and sees nothing of one that they do not belong to`() async throws {
    try await withConsole { console in
      let (second, third) = (
        try await console.database.customer("Second"), try await console.database.customer("Third")
      )
      let (user, _) = try await console.user()
      let added = try await console.operators.add(second, UserRequest(email: "mia@example.com", role: .analyst))
      // Whoever adds an account that is there already ends its password: it may be somebody else's.
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
      _ = try await console.signIn.setPassword(
        TestConsole.password, ofLink: TestConsole.token(added), from: TestConsole.client())
      let token = try await console.begin().token
      let session = try #require(try await console.sessions.find(token))
      #expect(session.customer == nil && session.role == nil && !session.seesPersonal)
      #expect(
        try await console.sessions.customers(session) == [
          CustomerChoice(customer: console.customer, name: "ACME", role: .owner),
          CustomerChoice(customer: second, name: "Second", role: .analyst),
        ])
      await #expect(throws: RegistryError.customerUnknown(third)) {
        try await console.sessions.choose(third, in: session)
      }
      try await console.sessions.choose(second, in: session)
      let chosen = try #require(try await console.sessions.find(token))
      #expect(chosen.customer == second && chosen.role == .analyst && !chosen.seesPersonal)
      // What an owner changes counts from the next request.
      _ = try await console.users.change(second, user, UserRequest(role: .marketer))
      #expect(try await console.sessions.find(token)?.role == .marketer)
      _ = try await console.users.remove(second, user)
      let left = try #require(try await console.sessions.find(token))
      #expect(left.customer == nil && left.role == nil)
      #expect(try await console.sessions.customers(left).map(\.customer) == [console.customer])
    }
  }

  @Test func `No customer can be chosen before the code was entered`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      _ = try await console.turnOnTOTP(token)
      let waiting = try #require(try await console.sessions.find(try await console.begin().token))
      await #expect(throws: RegistryError.customerUnknown(console.customer)) {
        try await console.sessions.choose(console.customer, in: waiting)
      }
    }
  }

  @Test func `Forms' tokens follow from the session's, and differ from session to session`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      let one = try #require(try await console.sessions.find(token))
      let two = try #require(try await console.sessions.find(try await console.begin().token))
      #expect(try await console.sessions.find(token)?.csrfToken == one.csrfToken)
      #expect(one.csrfToken != two.csrfToken && one.csrfToken != token && one.csrfToken.utf8.count == 43)
    }
  }

  @Test func `A user keeps 50 sessions, those that were used last`() async throws {
    try await withConsole { console in
      let (user, first) = try await console.user()
      try await console.database.query("UPDATE console_session SET seen_at = now() - interval '1 hour'")
      for _ in 0..<50 { _ = try await console.begin() }
      #expect(try await console.sessions.list(user).count == 50)
      #expect(try await console.sessions.find(first) == nil)
    }
  }

  @Test func `An authenticator app is turned on by its code and the password, and off by the password`() async throws {
    try await withConsole { console in
      let (user, token) = try await console.user()
      let session = try #require(try await console.sessions.find(token))
      let totp = TOTP()
      await #expect(throws: RegistryError.passwordRefused) {
        try await console.signIn.turnOnTOTP(session, totp, code: console.code(totp), password: "wrong")
      }
      await #expect(throws: RegistryError.codeRefused) {
        try await console.signIn.turnOnTOTP(session, totp, code: "12345", password: TestConsole.password)
      }
      #expect(
        try await console.signIn.security(of: user)
          == AccountSecurity(hasPassword: true, usesTOTP: false, recoveryCodesLeft: 0))
      let elsewhere = try await console.begin().token
      let (_, on) = try await console.signIn.turnOnTOTP(
        session, totp, code: console.code(totp), password: TestConsole.password)
      #expect(
        try await console.signIn.security(of: user)
          == AccountSecurity(hasPassword: true, usesTOTP: true, recoveryCodesLeft: 10))
      for token in [token, elsewhere] { #expect(try await console.sessions.find(token) == nil) }
      let renewed = try #require(try await console.sessions.find(on.token))
      #expect(renewed.session == session.session && !renewed.needsCode)
      await #expect(throws: RegistryError.passwordRefused) {
        try await console.signIn.turnOffTOTP(renewed, password: "wrong")
      }
      let off = try await console.signIn.turnOffTOTP(renewed, password: TestConsole.password)
      #expect(try await console.sessions.find(on.token) == nil)
      #expect(try await console.sessions.find(off.token)?.session == session.session)
      #expect(try await console.begin().needsCode == false)
    }
  }

  @Test func `What has ended is deleted in portions`() async throws {
    try await withConsole { console in
      _ = try await console.user()
      for _ in 0..<4 { _ = try await console.begin() }
      _ = try await console.invite("lars@example.com")
      try await console.database.query(
        "UPDATE console_session SET seen_at = now() - interval '1 day' WHERE session_id > 1")
      try await console.database.query("UPDATE password_link SET created_at = now() - interval '2 days'")
      try await console.database.query("UPDATE sign_in_attempt SET began_at = now() - interval '1 hour'")
      try await console.sessions.forgetExpired(portion: 2)
      let counts = try await console.database.query(
        """
        SELECT (SELECT count(*) FROM console_session), (SELECT count(*) FROM password_link),
          (SELECT count(*) FROM sign_in_attempt)
        """)[0].decode(Int.self, Int.self, Int.self)
      #expect(counts == (1, 0, 0))
    }
  }
}
