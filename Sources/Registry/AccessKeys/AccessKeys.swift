public import Postgres
public import Wire

/// The store of access keys.
public struct AccessKeys: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Makes a key with a token of 256 random bits, of which only a hash is stored. The name has 1 to 200 characters.
  /// - Throws: `RegistryError.invalid`, `.customerUnknown`.
  public func make(_ customer: CustomerID, name: String, scope: AccessScope) async throws -> NewAccessKey {
    let name = try TextRule("name", maximum: 200).require(name)
    let token = AccessToken.make(for: customer)
    let rows = try await database.meaning(["access_key_customer_id_fkey": .customerUnknown(customer)]) {
      try await $0.query(
        AccessKeyQueries.add, customer.rawValue, name, scope.rawValue, Bytes(token.hash))
    }
    return NewAccessKey(key: try AccessKey(rows[0]), token: token.text)
  }

  /// Makes a key open nothing from now on; hubs that have it in their cache hear of it as soon as this is committed. Revoking it
  /// again changes nothing.
  /// - Throws: `RegistryError.accessKeyUnknown`.
  public func revoke(_ customer: CustomerID, _ key: AccessKeyID) async throws -> AccessKey {
    let rows = try await database.query(AccessKeyQueries.revoke, customer.rawValue, key.rawValue)
    guard let row = rows.first else { throw RegistryError.accessKeyUnknown(key) }
    try await database.notify(.accessKey, customer.description)
    return try AccessKey(row)
  }

  /// Every key of a customer, revoked ones too, in the order they were made.
  public func list(_ customer: CustomerID) async throws -> [AccessKey] {
    try await database.query(AccessKeyQueries.list, customer.rawValue).map(AccessKey.init)
  }

  /// What a token opens; `nil` for a token that is unknown, revoked, no token at all, or not of `customer`.
  ///
  /// A foreign customer and an unknown one look the same: neither is ever looked up, only the token's own customer is.
  /// - Parameter customer: whose data the caller asks for; `nil` for that of the token's own customer.
  public func authenticate(_ token: String, for customer: CustomerID? = nil) async throws -> Access? {
    guard let token = AccessToken(token), customer == nil || customer == token.customer else { return nil }
    return try await authenticate(token)
  }

  func authenticate(_ token: AccessToken) async throws -> Access? {
    let rows = try await database.query(
      AccessKeyQueries.authenticate, token.customer.rawValue, Bytes(token.hash))
    guard let row = rows.first else { return nil }
    let (id, scope) = try row.decode(Int64.self, String.self)
    return Access(customer: token.customer, key: AccessKeyID(id), scope: try AccessScope(stored: scope))
  }
}
