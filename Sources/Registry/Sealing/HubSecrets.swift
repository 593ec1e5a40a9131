import Crypto
import FoundationEssentials
package import Postgres

/// Secrets the hub makes for itself, and shares with every other hub on the same database.
package struct HubSecrets: Sendable {
  private let database: any Querying
  private let vault: Vault

  package init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// Makes 32 random bytes and keeps them under `name`, unless there are some already.
  /// - Returns: whether they were made: hubs that do this together agree on one value.
  package func make(_ name: String) async throws -> Bool {
    let made = Secret(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    let sealed = try vault.seal(made, context: Self.context(name))
    return try await database.query(HubSecretQueries.add, name, Bytes(sealed.bytes), sealed.masterKeyID).affected == 1
  }

  /// The secrets whose names begin so, by name, retired ones too.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens one of them.
  package func load(namesBeginningWith prefix: String) async throws -> [String: HubSecret] {
    var secrets: [String: HubSecret] = [:]
    for row in try await database.query(HubSecretQueries.find, prefix) {
      let (name, bytes, key, createdAt, retiredAt) = try row.decode(
        String.self, Bytes.self, String.self, Date.self, Date?.self)
      let secret = try vault.open(Sealed(bytes: bytes.bytes, masterKeyID: key), context: Self.context(name))
      secrets[name] = HubSecret(secret: secret, createdAt: createdAt, isRetired: retiredAt != nil)
    }
    return secrets
  }

  /// - Returns: whether there was a secret of that name that was not retired before.
  func retire(_ name: String) async throws -> Bool {
    try await database.query(HubSecretQueries.retire, name).affected == 1
  }

  static func context(_ name: String) -> String { SealedColumn.hubSecret.place(nil, name) }
}

/// A secret that the hub made for itself.
package struct HubSecret: Sendable {
  package let secret: Secret
  let createdAt: Date
  let isRetired: Bool
}

/// Statements on `hub_secret`, a reference table: they need no customer_id to be routed by.
enum HubSecretQueries {
  /// Adds nothing when another hub was quicker.
  static let add = Statement(
    "hub_secret.add", .write,
    """
    INSERT INTO hub_secret (name, sealed, master_key_id) VALUES ($1::text, $2::bytea, $3::text)
    ON CONFLICT (name) DO NOTHING
    """)

  static let find = Statement(
    "hub_secret.find", .read,
    """
    SELECT name, sealed, master_key_id, created_at, retired_at FROM hub_secret
    WHERE starts_with(name, $1::text) ORDER BY name
    """)

  static let retire = Statement(
    "hub_secret.retire", .write,
    "UPDATE hub_secret SET retired_at = now() WHERE name = $1::text AND retired_at IS NULL")

  static let all: [Statement] = [add, find, retire]
}
