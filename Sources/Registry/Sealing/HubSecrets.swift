import Crypto
public import Postgres

/// Secrets the hub makes for itself once, and then shares with every other hub on the same database.
public struct HubSecrets: Sendable {
  private let database: any Querying
  private let vault: Vault

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// The 32 random bytes kept under `name`, made now if they are not there yet. Hubs that start together agree on one value.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens them.
  public func load(_ name: String) async throws -> Secret {
    if let secret = try await find(name) { return secret }
    let made = Secret(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    let sealed = try vault.seal(made, context: Self.context(name))
    try await database.query(HubSecretQueries.add, name, Bytes(sealed.bytes), sealed.masterKeyID)
    guard let secret = try await find(name) else { throw RegistryError.sealed(what: Self.context(name)) }
    return secret
  }

  private func find(_ name: String) async throws -> Secret? {
    guard let row = try await database.query(HubSecretQueries.find, name).first else { return nil }
    let (bytes, key) = try row.decode(Bytes.self, String.self)
    return try vault.open(Sealed(bytes: bytes.bytes, masterKeyID: key), context: Self.context(name))
  }

  static func context(_ name: String) -> String { "hub_secret/\(name)" }
}
