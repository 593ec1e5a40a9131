import Foundation
import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct ConsoleSignInTests {
  @Test func `A link sets the password once, and signs in`() async throws {
    try await withConsole { console in
      let user = try await console.invite()
      let link = TestConsole.token(user)
      let person = try #require(try await console.signIn.person(ofLink: link))
      #expect(person == LinkedUser(user: user.userId, email: "mia@example.com", name: "Mia"))
      await #expect(throws: RegistryError.self) {
        try await console.signIn.setPassword("short", ofLink: link, from: TestConsole.client())
      }
      let session = try await console.signIn.setPassword(TestConsole.password, ofLink: link, from: TestConsole.client())
      let signedIn = try #require(try await console.sessions.find(session.token))
      #expect(signedIn.user == user.userId && signedIn.email == "mia@example.com" && signedIn.name == "Mia")
      #expect(signedIn.customer == console.customer && signedIn.role == .owner && signedIn.seesPersonal)
      #expect(!signedIn.needsCode && !session.needsCode)
      await #expect(throws: RegistryError.linkRefused) {
        try await console.signIn.setPassword(TestConsole.password, ofLink: link, from: TestConsole.client())
      }
      let found = try await console.users.find(console.customer, user.userId)
      #expect(found.hasPassword && found.lastSignInAt != nil && found.linkExpiresAt == nil)
    }
  }

  @Test(arguments: ["", "x", "Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU"])
  func `A link that nobody made opens nothing`(link: String) async throws {
    try await withConsole { console in
      let person = try await console.signIn.person(ofLink: link)
      #expect(person == nil)
      await #expect(throws: RegistryError.linkRefused) {
        try await console.signIn.setPassword(TestConsole.password, ofLink: link, from: TestConsole.client())
      }
    }
  }

  @Test func `A link works for 24 hours`() async throws {
    try await withConsole { console in
      let link = TestConsole.token(try await console.invite())
      try await console.database.query("UPDATE password_link SET created_at = now() - interval '23 hours 59 minutes'")
      #expect(try await console.signIn.person(ofLink: link) != nil)
      try await console.database.query("UPDATE password_link SET created_at = now() - interval '24 hours'")
      #expect(try await console.signIn.person(ofLink: link) == nil)
      await #expect(throws: RegistryError.linkRefused) {
        try await console.signIn.setPassword(TestConsole.password, ofLink: link, from: TestConsole.client())
      }
    }
  }

  @Test func `E-mail address, in any case, and password sign in; nothing else does`() async throws {
    try await withConsole { console in
      _ = try await console.user()
      #expect(try await console.sessions.find(console.begin("MIA@example.com").token) != nil)
      for (email, password) in [
        ("mia@example.com", "correct horse batter"), ("mia@example.com", ""),
        ("lars@example.com", TestConsole.password),
        ("", ""), ("mia@example.com\0", TestConsole.password.replacing("c", with: "C")),
      ] {
        await #expect(throws: RegistryError.signInRefused) { try await console.begin(email, password) }
      }
    }
  }

  @Test func `Who has no password yet, is disabled or was removed is refused like anybody unknown`() async throws {
    try await withConsole { console in
      _ = try await console.invite("new@example.com")
      await #expect(throws: RegistryError.signInRefused) { try await console.begin("new@example.com") }
      let (user, token) = try await console.user()
      _ = try await console.users.change(console.customer, user, UserRequest(disabled: true))
      #expect(try await console.sessions.find(token) == nil)
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
      _ = try await console.users.change(console.customer, user, UserRequest(disabled: false))
      #expect(try await console.sessions.find(token) != nil)
      _ = try await console.users.remove(console.customer, user)
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
    }
  }

  @Test func `An account takes ten wrong passwords in 15 minutes, whether there is one or not`() async throws {
    try await withConsole { console in
      _ = try await console.user()
      for email in ["Mia@example.com", "nobody@example.com"] {
        for number in 0..<10 {
          await #expect(throws: RegistryError.signInRefused) {
            try await console.begin(email, "wrong", from: "203.0.113.\(number)")
          }
        }
        let error = await #expect(throws: RegistryError.self) { try await console.begin(email, from: "203.0.113.99") }
        guard case .tooManySignIns(let seconds)? = error else {
          Issue.record("\(String(describing: error))")
          return
        }
        #expect((800...900).contains(seconds))
      }
      try await console.database.query("UPDATE sign_in_attempt SET began_at = now() - interval '15 minutes'")
      #expect(try await console.sessions.find(console.begin().token) != nil)
    }
  }

  @Test func `A network takes thirty wrong passwords in 15 minutes, and those that were right do not count`()
    async throws
  {
    try await withConsole { console in
      _ = try await console.user()
      for _ in 0..<40 { _ = try await console.begin() }
      for number in 0..<30 {
        await #expect(throws: RegistryError.signInRefused) { try await console.begin("\(number)@example.com", "wrong") }
      }
      await #expect(throws: RegistryError.self) { try await console.begin() }
      #expect(try await console.sessions.find(console.begin(from: "198.51.100.1").token) != nil)
    }
  }

  @Test func `Guesses at the same time are counted like those one after the other`() async throws {
    try await withConsole { console in
      let refused = try await withThrowingTaskGroup(of: Bool.self) { group in
        for _ in 0..<30 {
          group.addTask {
            do {
              _ = try await console.begin("mia@example.com", "wrong")
              return false
            } catch RegistryError.signInRefused {
              return true
            } catch {
              return false
            }
          }
        }
        return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(refused <= 10)
    }
  }

  @Test func `With an authenticator app, a session waits for its code, which is taken once`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      let (totp, _, _) = try await console.turnOnTOTP(token)
      let code = console.code(totp)
      let session = try await console.begin()
      let waiting = try #require(try await console.sessions.find(session.token))
      #expect(session.needsCode && waiting.needsCode)
      await #expect(throws: RegistryError.codeRefused) { try await console.signIn.enter(code: "000000", in: waiting) }
      try await console.signIn.enter(code: " \(code.prefix(3)) \(code.suffix(3)) ", in: waiting)
      #expect(try await console.sessions.find(session.token)?.needsCode == false)
      let second = try #require(try await console.sessions.find(try await console.begin().token))
      await #expect(throws: RegistryError.codeRefused) { try await console.signIn.enter(code: code, in: second) }
      console.date.now.addTimeInterval(30)
      try await console.signIn.enter(code: console.code(totp), in: second)
    }
  }

  @Test func `A code that two sessions send at once is taken from one of them`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      let (totp, _, _) = try await console.turnOnTOTP(token)
      let code = console.code(totp)
      var sessions: [SignedIn] = []
      for _ in 0..<4 { sessions.append(try #require(try await console.sessions.find(try await console.begin().token))) }
      let accepted = await withTaskGroup(of: Bool.self) { group in
        for session in sessions {
          group.addTask { (try? await console.signIn.enter(code: code, in: session)) != nil }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(accepted == 1)
    }
  }

  @Test func `Each of ten recovery codes signs in once`() async throws {
    try await withConsole { console in
      let (user, token) = try await console.user()
      let (_, codes, _) = try await console.turnOnTOTP(token)
      #expect(codes.count == 10 && Set(codes).count == 10)
      for (index, code) in codes.enumerated() {
        let session = try #require(try await console.sessions.find(try await console.begin().token))
        try await console.signIn.enter(code: code.lowercased(), in: session)
        #expect(try await console.signIn.security(of: user).recoveryCodesLeft == 9 - index)
        let again = try #require(try await console.sessions.find(try await console.begin().token))
        await #expect(throws: RegistryError.codeRefused) { try await console.signIn.enter(code: code, in: again) }
        try await console.database.query("DELETE FROM sign_in_attempt")
      }
      let dump = try await console.database.dump()
      for code in codes { #expect(!dump.contains(code)) }
    }
  }

  @Test func `A user takes five wrong codes in 15 minutes`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      let (totp, _, _) = try await console.turnOnTOTP(token)
      let session = try #require(try await console.sessions.find(try await console.begin().token))
      for _ in 0..<5 {
        await #expect(throws: RegistryError.codeRefused) { try await console.signIn.enter(code: "12345", in: session) }
      }
      let error = await #expect(throws: RegistryError.self) {
        try await console.signIn.enter(code: console.code(totp), in: session)
      }
      guard case .tooManySignIns? = error else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }

  @Test func `Neither tokens, passwords nor the app's secret stand in the database`() async throws {
    try await withConsole { console in
      let user = try await console.invite()
      let link = TestConsole.token(user)
      let session = try await console.signIn.setPassword(TestConsole.password, ofLink: link, from: TestConsole.client())
      let (totp, _, _) = try await console.turnOnTOTP(session.token)
      let dump = try await console.database.dump()
      let hidden = totp.secret.bytes.map { byte in (byte < 16 ? "0" : "") + String(byte, radix: 16) }.joined()
      for secret in [link, session.token, TestConsole.password, totp.base32, hidden] {
        #expect(!dump.contains(secret))
      }
    }
  }

  @Test func `The app's secret is sealed anew under a new master key`() async throws {
    try await withConsole { console in
      let (_, token) = try await console.user()
      let (totp, _, _) = try await console.turnOnTOTP(token)
      let other = try Vault.fresh()
      let signIn = ConsoleSignIn(console.database.pool, vault: other, passwords: console.passwords) {
        [date = console.date] in date.now
      }
      let session = try #require(try await console.sessions.find(try await console.begin().token))
      await #expect(throws: RegistryError.self) { try await signIn.enter(code: console.code(totp), in: session) }
      #expect(SealedColumn.registry.contains { $0.table == "console_user" && $0.column == "totp_secret" })
    }
  }
}
