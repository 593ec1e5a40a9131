import Crypto
package import Postgres
package import Wire

/// The store of users, as each customer sees them.
///
/// A user of several customers has one name and one password. Whoever asks for one customer alone may change what the user may do for it,
/// and nothing that others rely on: no API key may take over, or prepare, an account that opens the data of others.
package struct Users: Sendable {
  private let database: any Querying
  /// Whether the hub's operator asks, at the command line, who may change what customers share.
  private let isOperator: Bool

  package init(_ database: any Querying, isOperator: Bool) {
    self.database = database
    self.isOperator = isOperator
  }

  /// The customer's users by number.
  package func list(_ customer: CustomerID, _ page: PageRequest<UserID>) async throws -> Page<UserReply, UserID> {
    let rows = try await database.query(
      MembershipQueries.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply(UserReply.self) }, cursor: \.userId)
  }

  /// - Throws: `RegistryError.numberUnknown`.
  package func find(_ customer: CustomerID, _ user: UserID) async throws -> UserReply {
    try await row(MembershipQueries.find, customer, user)
  }

  /// Adds a user. It is to be called in a transaction.
  ///
  /// The user gets a link. What an account that there was signed in with opens nothing any more, for none of its customers: whoever
  /// invited it before may have used the link, and know password, authenticator app or a session. Nothing else is safe, since no
  /// customer may reach the data of another by an account that it has prepared.
  /// - Returns: the user, with the path of their link.
  /// - Throws: `RegistryError.invalid`, `.userTaken`, `.userShared`, `.customerUnknown`.
  package func add(_ customer: CustomerID, _ request: UserRequest) async throws -> UserReply {
    let email = try Self.check(email: request.email ?? "")
    guard let role = request.role else { throw RegistryError.invalid(field: "role", problem: "is missing") }
    let name = try request.name.map(Self.check(name:)) ?? email
    let user: UserID
    if let row = try await database.query(UserQueries.add, email, name).first {
      user = UserID(try row.decode(Int64.self))
    } else {
      let id = try await database.query(UserQueries.lockByEmail, email)[0].column(0, as: Int64.self)
      user = UserID(id)
      guard try await database.query(MembershipQueries.find, customer.rawValue, id).isEmpty else {
        throw RegistryError.userTaken
      }
      let isShared = try await isShared(customer, user)
      guard isOperator || !isShared else { throw RegistryError.userShared }
      try await database.query(UserQueries.reset, id)
      if !isShared { try await database.query(UserQueries.rename, id, name) }
    }
    let added = try await database.mapViolations(["membership_customer_id_fkey": .customerUnknown(customer)]) {
      try await $0.query(
        MembershipQueries.add, customer.rawValue, user.rawValue, role.rawValue,
        request.seesPersonal ?? role.seesPersonal)
    }
    if added.isEmpty { throw RegistryError.userTaken }
    let link = try await makeLink(user)
    var reply = try await find(customer, user)
    reply.link = link
    return reply
  }

  /// Changes a user; fields that are absent stay as they are, but that another role has its own `seesPersonal`. It is to be called in a
  /// transaction.
  /// - Throws: `RegistryError.numberUnknown`, `.invalid`, `.userShared`.
  package func change(
    _ customer: CustomerID, _ user: UserID, _ request: UserRequest
  ) async throws -> (before: UserReply, after: UserReply) {
    let before: UserReply = try await row(MembershipQueries.lock, customer, user)
    if let name = try request.name.map(Self.check(name:)), !name.hasSameBytes(as: before.name) {
      guard try await mayChange(customer, user) else { throw RegistryError.userShared }
      try await database.query(UserQueries.rename, user.rawValue, name)
    }
    let role = request.role ?? before.role
    let seesPersonal = request.seesPersonal ?? (role == before.role ? before.seesPersonal : role.seesPersonal)
    try await database.query(
      MembershipQueries.change, customer.rawValue, user.rawValue, role.rawValue, seesPersonal,
      request.disabled ?? before.disabled)
    return (before, try await find(customer, user))
  }

  /// Makes a new link. Password, authenticator app and recovery codes open nothing any more, and every session ends. It is to be called in
  /// a transaction.
  /// - Returns: the user as they were, and with the path of their link.
  /// - Throws: `RegistryError.numberUnknown`, `.userShared`.
  package func reset(_ customer: CustomerID, _ user: UserID) async throws -> (before: UserReply, after: UserReply) {
    let before: UserReply = try await row(MembershipQueries.lock, customer, user)
    guard try await mayChange(customer, user) else { throw RegistryError.userShared }
    try await database.query(UserQueries.reset, user.rawValue)
    let link = try await makeLink(user)
    var after = try await find(customer, user)
    after.link = link
    return (before, after)
  }

  /// Removes a user from the customer. Sessions show nothing of it from then on. It is to be called in a transaction.
  /// - Returns: what the user was.
  /// - Throws: `RegistryError.numberUnknown`.
  package func remove(_ customer: CustomerID, _ user: UserID) async throws -> UserReply {
    let user: UserReply = try await row(MembershipQueries.lock, customer, user)
    try await database.query(MembershipQueries.remove, customer.rawValue, user.userId.rawValue)
    return user
  }

  private func row(_ statement: Statement, _ customer: CustomerID, _ user: UserID) async throws -> UserReply {
    guard let row = try await database.query(statement, customer.rawValue, user.rawValue).first else {
      throw RegistryError.numberUnknown("user")
    }
    return try row.reply()
  }

  private func mayChange(_ customer: CustomerID, _ user: UserID) async throws -> Bool {
    if isOperator { return true }
    return try await !isShared(customer, user)
  }

  private func isShared(_ customer: CustomerID, _ user: UserID) async throws -> Bool {
    try await database.query(MembershipQueries.isShared, customer.rawValue, user.rawValue)[0].decode(Bool.self)
  }

  /// - Returns: the path where the user sets a password.
  private func makeLink(_ user: UserID) async throws -> String {
    let token = ConsoleToken()
    try await database.query(UserQueries.addLink, user.rawValue, Bytes(token.hash), isOperator)
    return "/console/welcome/\(token.text)"
  }

  static func check(name: String) throws(RegistryError) -> String {
    try TextRule("name", maximum: UserReply.fieldTable.maximum(of: "name")).require(name)
  }

  /// Something, an @ and something with no blanks: what else an address may be, only its mail server knows.
  static func check(email: String) throws(RegistryError) -> String {
    let rule = TextRule("email", maximum: UserReply.fieldTable.maximum(of: "email"))
    let email = try rule.require(email)
    let parts = email.split(separator: "@", omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), !email.contains(where: \.isWhitespace) else {
      throw rule.refuse("is no e-mail address, such as mia@example.com")
    }
    return email
  }
}

extension Role {
  /// Whether it sees personal fields of contacts unless a membership says otherwise.
  package var seesPersonal: Bool { self != .analyst }
}

/// 256 random bits that a browser or a link holds, of which only the SHA-256 is stored.
struct ConsoleToken {
  let text: String
  let hash: [UInt8]

  private static let length = 43

  init() {
    let text = Base64URL.text(SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    self.init(checked: text)
  }

  /// - Returns: `nil` for a text that is none.
  init?(_ text: String) {
    guard text.utf8.count == Self.length, Base64URL.decode(Array(text.utf8)) != nil else { return nil }
    self.init(checked: text)
  }

  private init(checked text: String) {
    self.text = text
    hash = Array(SHA256.hash(data: Array(text.utf8)))
  }

  /// What forms carry, so that other sites cannot send them.
  var csrf: String {
    Base64URL.text(
      Array(HMAC<SHA256>.authenticationCode(for: Array("csrf".utf8), using: SymmetricKey(data: Array(text.utf8)))))
  }
}
