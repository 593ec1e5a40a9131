import Postgres
import Wire

/// Finds or adds the user whom an ID token names, and gives them the roles that its claim has. It is to be used in a transaction.
struct OpenIDUsers: Sendable {
  private let database: any Querying
  private let settings: OpenIDSettings

  init(_ database: any Querying, _ settings: OpenIDSettings) {
    self.database = database
    self.settings = settings
  }

  /// - Parameter address: for the audit log: the user changes their own roles.
  /// - Throws: `RegistryError.openID`.
  func settle(_ token: IDToken, address: String?) async throws -> UserID {
    let granted = grants(token)
    let user: UserID
    if let known = try await find(token) { user = known } else { user = try await add(token, granted, address) }
    try await apply(granted, to: user, address)
    return user
  }

  /// The first role for each customer.
  private func grants(_ token: IDToken) -> [OpenIDGrant] {
    let values = Set(token.values(of: settings.rolesClaim).map { UTF8String($0) })
    return settings.grants.reduce(into: []) { granted, grant in
      guard values.contains(UTF8String(grant.value)), !granted.contains(where: { $0.customer == grant.customer })
      else { return }
      granted.append(grant)
    }
  }

  // MARK: Who it is

  private func find(_ token: IDToken) async throws -> UserID? {
    let known = try await database.query(UserQueries.findBySubject, settings.issuer, token.subject)
    return try known.first.map { UserID(try $0.decode(Int64.self)) }
  }

  /// Somebody whom the provider has never named before: a new user, or the one who was invited with their address.
  ///
  /// Whoever invites sees the link. So a password proves only who was given the link, and the provider proves whose the address is. No customer
  /// keeps a person out by an invitation that it has used itself. Two things hold a password nevertheless: the hub's operator has made its
  /// link, or the claim gives the person no role, so that nothing is kept from them.
  private func add(_ token: IDToken, _ granted: [OpenIDGrant], _ address: String?) async throws -> UserID {
    guard token.isEmailVerified || settings.trustsEmail, let email = token.email,
      let email = try? Users.check(email: email)
    else { throw RegistryError.openID(.unverified) }
    let user: Int64
    if let known = try await database.query(UserQueries.lockByEmail, email).first {
      let (id, hasPassword, isVouched, issuer, subject) = try known.decode(
        Int64.self, Bool.self, Bool.self, String?.self, String?.self)
      // Two sign-ins of the same person may be under way.
      let isSame = issuer?.hasSameBytes(as: settings.issuer) == true && subject?.hasSameBytes(as: token.subject) == true
      guard issuer == nil || isSame else { throw RegistryError.openID(.otherSubject) }
      if hasPassword {
        guard !isVouched, !granted.isEmpty else { throw RegistryError.openID(.hasPassword) }
        try await takeOver(UserID(id), address)
      }
      user = id
    } else {
      guard !granted.isEmpty else { throw RegistryError.openID(.noRole) }
      let name = token.name.flatMap { try? Users.check(name: $0) } ?? email
      let added = try await database.query(UserQueries.add, email, name)
      // Another sign-in, or an owner, was faster: it works at the next attempt.
      guard let row = added.first else { throw RegistryError.openID(.stale) }
      user = try row.decode(Int64.self)
    }
    _ = try await database.mapViolations(["console_user_oidc_key": .openID(.stale)]) {
      try await $0.query(UserQueries.setSubject, user, settings.issuer, token.subject)
    }
    return UserID(user)
  }

  /// Nothing that the user has signed in with so far opens anything any more. Each of their customers finds it in its audit log.
  private func takeOver(_ user: UserID, _ address: String?) async throws {
    let customers = try await database.query(MembershipQueries.lockAll, user.rawValue).map { row in
      CustomerID(try row.column(0, as: Int64.self))
    }
    var known: [(CustomerID, UserReply?)] = []
    for customer in customers { known.append((customer, try await find(customer, user))) }
    _ = try await database.query(UserQueries.reset, user.rawValue)
    for (customer, before) in known {
      let change = ManagementChange(database, customer: customer, actor: .user(user, address: address))
      try await change.record(.resetUser, "user \(user)", before: before, after: try await find(customer, user))
    }
  }

  // MARK: What they may do

  /// What people have given stays as it is, and so does who is disabled.
  private func apply(_ granted: [OpenIDGrant], to user: UserID, _ address: String?) async throws {
    var left = granted
    for row in try await database.query(MembershipQueries.lockAll, user.rawValue) {
      let (customer, role, isByClaim, isDisabled) = try row.decode(Int64.self, String.self, Bool.self, Bool.self)
      let grant = left.firstIndex { $0.customer.rawValue == customer }.map { left.remove(at: $0) }
      guard isByClaim else { continue }
      if let grant {
        guard grant.role.rawValue != role else { continue }
        try await change(.changeUser, grant.customer, user, address) {
          try await $0.query(
            MembershipQueries.setRole, customer, user.rawValue, grant.role.rawValue, grant.role.seesPersonal)
        }
      } else if !isDisabled {
        // A disabled one stays, so that the claim does not bring them back enabled.
        try await change(.removeUser, CustomerID(customer), user, address) {
          try await $0.query(MembershipQueries.remove, customer, user.rawValue)
        }
      }
    }
    for grant in left.sorted(by: { $0.customer < $1.customer }) {
      try await change(.addUser, grant.customer, user, address) {
        try await $0.query(
          MembershipQueries.addByClaim, grant.customer.rawValue, user.rawValue, grant.role.rawValue,
          grant.role.seesPersonal)
      }
    }
  }

  /// A change of the user with its line in the audit log.
  private func change(
    _ action: AuditAction, _ customer: CustomerID, _ user: UserID, _ address: String?,
    _ work: (any Querying) async throws -> Rows
  ) async throws {
    let before = try await find(customer, user)
    _ = try await work(database)
    let change = ManagementChange(database, customer: customer, actor: .user(user, address: address))
    try await change.record(action, "user \(user)", before: before, after: try await find(customer, user))
  }

  private func find(_ customer: CustomerID, _ user: UserID) async throws -> UserReply? {
    try await database.query(MembershipQueries.find, customer.rawValue, user.rawValue).first?.reply()
  }
}
