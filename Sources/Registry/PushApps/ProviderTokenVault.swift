public import FoundationEssentials
public import Postgres
public import Wire

/// Keeps the provider tokens that all hubs share: sealed, one for each signing key of a customer, dated by the database's clock.
///
/// Customers share none, even if they have the same key: a token is sealed for one customer, and routed by it.
public struct ProviderTokenVault: Sendable {
  private let database: any Querying
  private let vault: Vault

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// The key's token, if there is one less than an hour old, and the database's time.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public func find(_ key: ProviderTokenKey) async throws -> (token: ProviderToken?, now: Date) {
    let row = try await database.query(ProviderTokenQueries.find, key.customer.rawValue, key.signingKey)[0]
    let (now, bytes, masterKey, issuedAt) = try row.decode(Date.self, Bytes?.self, String?.self, Date?.self)
    guard let bytes, let masterKey, let issuedAt else { return (nil, now) }
    let sealed = Sealed(bytes: bytes.bytes, masterKeyID: masterKey)
    let secret = try vault.open(sealed, context: Self.context(key.customer, key.signingKey))
    return (ProviderToken(text: secret.text, issuedAt: issuedAt), now)
  }

  /// Keeps a new token in place of the one that was found, if that is still there. Of hubs that do this together, one succeeds.
  /// - Parameter seen: when the token that was found was issued; `nil` if there was none.
  public func replace(_ seen: Date?, with token: ProviderToken, for key: ProviderTokenKey) async throws -> Bool {
    let sealed = try vault.seal(Secret(token.text), context: Self.context(key.customer, key.signingKey))
    return try await database.query(
      ProviderTokenQueries.replace, key.customer.rawValue, key.signingKey, Bytes(sealed.bytes), sealed.masterKeyID,
      token.issuedAt, seen, token.issuedAt.addingTimeInterval(-3600)
    ).affected == 1
  }

  /// The place that a token is sealed for.
  static func context(_ customer: CustomerID, _ signingKey: String) -> String {
    SealedColumn.providerToken.place(customer, signingKey)
  }
}

/// Statements on `provider_token`. `$1` is the customer, `$2` the signing key.
enum ProviderTokenQueries {
  /// One row always, for the database's time.
  static let find = Statement(
    "provider_token.find", .read,
    """
    SELECT moment.now, held.sealed, held.master_key_id, held.issued_at
      FROM (SELECT now() AS now) AS moment
      LEFT JOIN LATERAL (SELECT sealed, master_key_id, issued_at FROM provider_token
                          WHERE customer_id = $1::bigint AND signing_key = $2::text
                            AND issued_at > now() - interval '1 hour') AS held ON true
    """)

  /// Writes the token `$3` of the moment `$5`, unless there is another than that of `$6`, and younger than `$7`. Locks the row.
  static let replace = Statement(
    "provider_token.replace", .write,
    """
    INSERT INTO provider_token AS held (customer_id, signing_key, sealed, master_key_id, issued_at)
    VALUES ($1::bigint, $2::text, $3::bytea, $4::text, $5::timestamptz)
    ON CONFLICT (customer_id, signing_key) DO UPDATE
      SET sealed = excluded.sealed, master_key_id = excluded.master_key_id, issued_at = excluded.issued_at
      WHERE held.issued_at = $6::timestamptz OR held.issued_at <= $7::timestamptz
    """)

  static let all: [Statement] = [find, replace]
}
