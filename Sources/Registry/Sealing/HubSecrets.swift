import Crypto
import Postgres

/// Secrets the hub makes for itself, and shares with every other hub on the same database.
struct HubSecrets: Sendable {
  private let database: any Querying
  private let vault: Vault

  init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// Makes 32 random bytes and keeps them under `name`, unless there are some already.
  /// - Returns: whether they were made: hubs that do this together agree on one value.
  func make(_ name: String) async throws -> Bool {
    let made = Secret(bytes: SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    let sealed = try vault.seal(made, context: Self.context(name))
    return try await database.query(HubSecretQueries.add, name, Bytes(sealed.bytes), sealed.masterKeyID).affected == 1
  }

  /// The secrets whose names begin so, by name.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens one of them.
  func load(namesBeginningWith prefix: String) async throws -> [String: Secret] {
    var secrets: [String: Secret] = [:]
    for row in try await database.query(HubSecretQueries.find, prefix) {
      let (name, bytes, key) = try row.decode(String.self, Bytes.self, String.self)
      secrets[name] = try vault.open(Sealed(bytes: bytes.bytes, masterKeyID: key), context: Self.context(name))
    }
    return secrets
  }

  static func context(_ name: String) -> String { "hub_secret/\(name)" }
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
    "SELECT name, sealed, master_key_id FROM hub_secret WHERE starts_with(name, $1::text) ORDER BY name")

  static let all: [Statement] = [add, find]
}
