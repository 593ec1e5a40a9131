import Crypto
public import FoundationEssentials
public import Postgres
public import Wire

/// The store of access keys.
public struct AccessKeys: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Creates a key with a token of 256 random bits, or with a product token of 74, of which only a hash is stored. The name has 1 to
  /// 200 characters.
  /// - Parameters:
  ///   - appID: the only app whose routes the key is to open; not for the scopes admin and gateway. Scope datasync needs it.
  ///   - expiresAt: when it is to stop opening anything; in the future. A key never outlives the one that creates it.
  ///   - createdBy: the key that creates it; `nil` for the command line.
  /// - Throws: `RegistryError.invalid`, `.appUnknown`, `.customerUnknown`.
  public func make(
    _ customer: CustomerID, name: String, scope: AccessScope, appID: String? = nil, expiresAt: Date? = nil,
    createdBy: AccessKeyID? = nil
  ) async throws -> NewAccessKey {
    let name = try TextRule("name", maximum: 200).require(name)
    if let expiresAt, expiresAt <= Date() {
      throw RegistryError.invalid(field: "expiresAt", problem: "must be in the future")
    }
    if let appID {
      try await checkBinding(customer, to: appID, scope)
    } else if scope == .datasync {
      throw RegistryError.invalid(
        field: "appId", problem: "is missing. A key of scope datasync opens the data tree of one app: name it")
    }
    let token = try Self.token(for: customer, scope)
    let rows = try await database.mapViolations(["access_key_customer_id_fkey": .customerUnknown(customer)]) {
      try await $0.query(
        AccessKeyQueries.add, customer.rawValue, name, scope.rawValue, Bytes(token.hash), appID, expiresAt,
        createdBy?.rawValue)
    }
    return NewAccessKey(key: try rows[0].reply(), token: token.text)
  }

  private static func token(for customer: CustomerID, _ scope: AccessScope) throws -> (text: String, hash: SHA256Digest)
  {
    guard scope == .gateway else { return AccessToken.make(for: customer) }
    guard customer.rawValue <= AccessToken.highestProductCustomer else {
      throw RegistryError.invalid(
        field: "scope", problem: "gateway is not for a customer whose number has over 48 bits")
    }
    return AccessToken.makeProductToken(for: customer)
  }

  private func checkBinding(_ customer: CustomerID, to appID: String, _ scope: AccessScope) async throws {
    guard scope != .admin else {
      throw RegistryError.invalid(field: "appId", problem: "cannot bind a key of scope admin, which manages all apps")
    }
    guard scope != .gateway else {
      throw RegistryError.invalid(
        field: "appId", problem: "cannot bind a key of scope gateway, whose messages name their apps by app keys")
    }
    guard try await !PushApps.apps(database, customer, appID).isEmpty else {
      throw RegistryError.appUnknown(appID: appID)
    }
  }

  /// Revokes a key: it opens nothing from now on. Hubs that have it in their cache hear of it as soon as this is committed.
  /// Revoking it again changes nothing. It is to be called in a transaction.
  ///
  /// A key in use may create another until its row is locked (`holdValid`). So descendants are listed again until no
  /// valid one is left.
  /// - Parameter withCreated: whether to revoke also the keys that it created, and those that these created, and so on.
  /// - Throws: `RegistryError.numberUnknown`.
  @discardableResult
  public func revoke(_ customer: CustomerID, _ key: AccessKeyID, withCreated: Bool = false) async throws
    -> AccessKeyRevocation
  {
    var before = try await lock(customer).filter { $0.keyId == key }
    guard let revoked = try await revoke(customer, [key]).first else { throw RegistryError.numberUnknown("access key") }
    var descendants = Self.validDescendants(of: key, among: try await lock(customer))
    var alsoRevoked: [AccessKeyID] = []
    while withCreated, !descendants.isEmpty {
      _ = try await revoke(customer, descendants.map(\.keyId))
      before += descendants
      alsoRevoked += descendants.map(\.keyId)
      descendants = Self.validDescendants(of: key, among: try await lock(customer))
    }
    try await database.notify(.accessKey, customer.description)
    return AccessKeyRevocation(
      key: revoked, before: before, alsoRevoked: alsoRevoked, stillValid: descendants.map(\.keyId))
  }

  private func revoke(_ customer: CustomerID, _ keys: [AccessKeyID]) async throws -> [AccessKeyReply] {
    try await database.query(AccessKeyQueries.revoke, customer.rawValue, keys.map(\.rawValue)).map { try $0.reply() }
  }

  private func lock(_ customer: CustomerID) async throws -> [AccessKeyReply] {
    try await database.query(AccessKeyQueries.lock, customer.rawValue).map { try $0.reply() }
  }

  /// What a key created, directly or through others that may be revoked by now. The order is that of the numbers, as a
  /// key is always created after its creator.
  package static func validDescendants(of key: AccessKeyID, among keys: [AccessKeyReply]) -> [AccessKeyReply] {
    var family: Set<AccessKeyID> = [key]
    return keys.filter { candidate in
      guard let creator = candidate.createdBy, family.contains(creator) else { return false }
      family.insert(candidate.keyId)
      return candidate.revokedAt == nil && candidate.expiresAt.map { $0.date > Date() } ?? true
    }
  }

  /// Every key of a customer, revoked ones too, in the order they were created.
  public func list(_ customer: CustomerID) async throws -> [AccessKeyReply] {
    try await database.query(AccessKeyQueries.list, customer.rawValue).map { try $0.reply() }
  }

  /// The customer's key of that number; `nil` if there is none.
  public func find(_ customer: CustomerID, _ key: AccessKeyID) async throws -> AccessKeyReply? {
    try await list(customer).first { $0.keyId == key }
  }

  /// What a token opens; `nil` for a token that is unknown, revoked, expired, no token at all, or not of `customer`.
  ///
  /// Another customer's number and an unknown one look the same, as only the token's own customer is looked up.
  /// - Parameter customer: whose data the caller asks for; `nil` for that of the token's own customer.
  public func authenticate(_ token: String, for customer: CustomerID? = nil) async throws -> Access? {
    guard let token = AccessToken(token), customer == nil || customer == token.customer else { return nil }
    return try await authenticate(token)
  }

  func authenticate(_ token: AccessToken) async throws -> Access? {
    let rows = try await database.query(
      AccessKeyQueries.authenticate, token.customer.rawValue, Bytes(token.hash))
    guard let row = rows.first else { return nil }
    let (id, scope, appID, expiresAt) = try row.decode(Int64.self, String.self, String?.self, Date?.self)
    return Access(
      customer: token.customer, key: AccessKeyID(id), scope: try AccessScope(stored: scope), appID: appID,
      expiresAt: expiresAt)
  }
}
