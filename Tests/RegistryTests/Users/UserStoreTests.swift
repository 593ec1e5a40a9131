import Postgres
import Support
import Testing
import Wire

@testable import Registry

@Suite struct UserStoreTests {
  @Test func `A user is added, listed, changed, disabled and removed`() async throws {
    try await withConsole { console in
      let added = try await console.invite("Mia@Example.com", .analyst)
      #expect(added.email == "Mia@Example.com" && added.role == .analyst && !added.seesPersonal)
      #expect(!added.hasPassword && !added.totp && !added.disabled && added.lastSignInAt == nil)
      #expect(added.link?.hasPrefix("/console/welcome/") == true && added.linkExpiresAt != nil)
      let found = try await console.users.find(console.customer, added.userId)
      #expect(found.link == nil)
      #expect(try await console.users.list(console.customer, PageRequest()).items == [found])
      #expect(try await console.users.list(console.customer, PageRequest(after: added.userId)).items == [])

      let (before, after) = try await console.users.change(
        console.customer, added.userId, UserRequest(name: "Mia J.", role: .marketer, disabled: true))
      #expect(before == found)
      #expect(after.name == "Mia J." && after.role == .marketer && after.seesPersonal && after.disabled)
      let same = try await console.users.change(console.customer, added.userId, UserRequest())
      #expect(same.before == after && same.after == after)
      let granted = try await console.users.change(
        console.customer, added.userId, UserRequest(role: .analyst, seesPersonal: true, disabled: false))
      #expect(granted.after.seesPersonal && !granted.after.disabled)

      #expect(try await console.users.remove(console.customer, added.userId) == granted.after)
      await #expect(throws: RegistryError.numberUnknown("user")) {
        try await console.users.find(console.customer, added.userId)
      }
    }
  }

  @Test(arguments: [
    ("", "is empty"), ("mia", "is no e-mail address"), ("mia@", "is no e-mail address"),
    ("@example.com", "is no e-mail"),
    ("mia@a@b", "is no e-mail address"), ("mia @example.com", "is no e-mail address"),
    ("m\u{1}@example.com", "holds a control"),
    (String(repeating: "m", count: 250) + "@e.de", "is longer than 254 characters"),
  ])
  func `What is no e-mail address is refused`(email: String, problem: String) async throws {
    let error = await #expect(throws: RegistryError.self) {
      try await Users(NoDatabase(), isOperator: false).add(CustomerID(1), UserRequest(email: email, role: .owner))
    }
    guard case .invalid("email", let reason)? = error else {
      Issue.record("\(String(describing: error))")
      return
    }
    #expect(reason.hasPrefix(problem), "\(reason)")
  }

  @Test func `A customer has an e-mail address once, in any case of its letters`() async throws {
    try await withConsole { console in
      _ = try await console.invite("mia@example.com")
      await #expect(throws: RegistryError.userTaken) { try await console.invite("MIA@Example.COM") }
      await #expect(throws: RegistryError.customerUnknown(CustomerID(4711))) {
        try await console.invite("lars@example.com", to: CustomerID(4711))
      }
    }
  }

  @Test func `A customer neither sees nor changes the users of another`() async throws {
    try await withConsole { console in
      let other = try await console.database.customer("Other")
      let user = try await console.invite().userId
      let unknown = RegistryError.numberUnknown("user")
      #expect(try await console.users.list(other, PageRequest()).items == [])
      await #expect(throws: unknown) { try await console.users.find(other, user) }
      await #expect(throws: unknown) { try await console.users.change(other, user, UserRequest(role: .analyst)) }
      await #expect(throws: unknown) { try await console.users.reset(other, user) }
      await #expect(throws: unknown) { try await console.users.remove(other, user) }
      #expect(try await console.users.find(console.customer, user).role == .owner)
    }
  }

  @Test func `One customer's key takes over no user of another, and the hub's operator may add them`() async throws {
    try await withConsole { console in
      let other = try await console.database.customer("Other")
      let (user, _) = try await console.user()
      await #expect(throws: RegistryError.userShared) { try await console.invite(to: other) }
      let shared = try await console.operators.add(other, UserRequest(email: "mia@example.com", role: .analyst))
      #expect(shared.userId == user && shared.name == "Mia" && shared.link != nil && !shared.hasPassword)
      let session = try await console.signIn.setPassword(
        "another horse battery", ofLink: TestConsole.token(shared), from: TestConsole.client())
      for customer in [console.customer, other] {
        await #expect(throws: RegistryError.userShared) { try await console.users.reset(customer, user) }
        await #expect(throws: RegistryError.userShared) {
          try await console.users.change(customer, user, UserRequest(name: "Somebody"))
        }
      }
      // Nothing of it has touched what the user signs in with.
      #expect(try await console.sessions.find(session.token) != nil)
      let changed = try await console.users.change(other, user, UserRequest(role: .marketer, disabled: true))
      #expect(changed.after.disabled)
      #expect(try await !console.users.find(console.customer, user).disabled)
      #expect(try await console.operators.change(other, user, UserRequest(name: "Mia J.")).after.name == "Mia J.")
      #expect(try await console.operators.reset(other, user).after.link != nil)
      #expect(try await console.sessions.find(session.token) == nil)
    }
  }

  @Test func `Nothing that the first customer knows opens an account that has got a second one`() async throws {
    try await withConsole { console in
      let other = try await console.database.customer("Other")
      func share(_ email: String) async throws {
        _ = try await console.operators.add(other, UserRequest(email: email, role: .owner))
      }
      // The owner of the first customer has used the link, and made the account theirs.
      let (user, begun) = try await console.user()
      let token = try await console.turnOnTOTP(begun).token
      #expect(try await console.sessions.find(token) != nil)
      try await share("mia@example.com")
      #expect(try await console.sessions.find(token) == nil)
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
      let found = try await console.users.find(other, user)
      #expect(!found.hasPassword && !found.totp)
      #expect(try await console.signIn.security(of: user).recoveryCodesLeft == 0)
      // Or they have kept it.
      let kept = try await console.invite("noah@example.com")
      try await share("noah@example.com")
      #expect(try await console.signIn.person(ofLink: TestConsole.token(kept)) == nil)
      await #expect(throws: RegistryError.linkRefused) {
        try await console.signIn.setPassword(
          TestConsole.password, ofLink: TestConsole.token(kept), from: TestConsole.client())
      }
    }
  }

  /// Who had been invited before by somebody else might know the password.
  @Test func `A user who belongs to no customer any more comes back with a new link and nothing else`() async throws {
    try await withConsole { console in
      let other = try await console.database.customer("Other")
      let (user, begun) = try await console.user()
      let token = try await console.turnOnTOTP(begun).token
      #expect(try await console.sessions.find(token) != nil)
      _ = try await console.users.remove(console.customer, user)
      #expect(try await console.sessions.find(token) == nil)
      let back = try await console.invite(to: other)
      #expect(back.userId == user && back.link != nil && !back.hasPassword && !back.totp)
      #expect(try await console.sessions.find(token) == nil)
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
    }
  }

  @Test func `A reset takes password, app and sessions, and a new link replaces the one before`() async throws {
    try await withConsole { console in
      let (user, begun) = try await console.user()
      let token = try await console.turnOnTOTP(begun).token
      #expect(try await console.sessions.find(token) != nil)
      let first = try await console.users.reset(console.customer, user)
      #expect(first.before.hasPassword && first.before.totp)
      #expect(!first.after.hasPassword && !first.after.totp)
      #expect(try await console.sessions.find(token) == nil)
      await #expect(throws: RegistryError.signInRefused) { try await console.begin() }
      let second = try await console.users.reset(console.customer, user)
      #expect(try await console.signIn.person(ofLink: TestConsole.token(first.after)) == nil)
      let session = try await console.signIn.setPassword(
        "another horse battery", ofLink: TestConsole.token(second.after), from: TestConsole.client())
      #expect(!session.needsCode)
    }
  }

  @Test func `Roles of the schema are those of the code`() async throws {
    try await withConsole { console in
      for role in Role.allCases {
        let user = try await console.invite("\(role.rawValue)@example.com", role)
        #expect(user.role == role && user.seesPersonal == (role != .analyst))
      }
    }
  }

  @Test func `The name of a user stays in the audit log after they are removed`() async throws {
    try await withConsole { console in
      let user = try await console.invite().userId
      try await console.database.pool.transaction { transaction in
        let change = ManagementChange(
          transaction, customer: console.customer, actor: .user(user, address: "203.0.113.7"))
        try await change.record("list.add", "list 1", after: ["name": "news"])
        try await change.holdUser(as: [.owner])
      }
      _ = try await console.users.remove(console.customer, user)
      let line = try #require(try await AuditLog(console.database.pool).list(console.customer).items.first)
      #expect(line.userId == user && line.userEmail == "mia@example.com" && line.address == "203.0.113.7")
      #expect(line.keyId == nil && line.osUser == nil)
    }
  }

  @Test func `A change is refused to a user who has lost the role, is disabled or removed`() async throws {
    try await withConsole { console in
      let user = try await console.invite().userId
      func hold(_ roles: Set<Role>) async throws {
        try await console.database.pool.transaction { transaction in
          try await ManagementChange(transaction, customer: console.customer, actor: .user(user, address: nil))
            .holdUser(as: roles)
        }
      }
      try await hold([.owner, .marketer])
      await #expect(throws: RegistryError.roleRefused) { try await hold([.marketer]) }
      _ = try await console.users.change(console.customer, user, UserRequest(disabled: true))
      await #expect(throws: RegistryError.roleRefused) { try await hold([.owner]) }
      _ = try await console.users.remove(console.customer, user)
      await #expect(throws: RegistryError.roleRefused) { try await hold([.owner]) }
    }
  }
}
