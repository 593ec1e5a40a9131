import FoundationEssentials
public import Postgres
import Wire

/// What signs provider tokens for APNs.
public struct SigningCredentials: Sendable, Equatable {
  public let teamID: String
  public let keyID: String
  /// The private key as PKCS#8 PEM.
  public let signingKey: Secret
}

/// Opens the signing keys of push apps, once for each change of their app.
///
/// Kept apart from `PushApps`, so that what answers requests has no way to a key.
public final class SigningCredentialVault: Sendable {
  private struct Key: Hashable {
    let customer: CustomerID
    let app: PushAppID
    let updatedAt: Date
  }

  private let database: any Querying
  private let vault: Vault
  private let opened = ExpiringCache<Key, SigningCredentials?>(timeToLive: .seconds(3600), capacity: 100)

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// What signs for an iOS app; `nil` if it has no signing key. At hand, once opened, for as long as the app does not change.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public func credentials(for app: PushApp) async throws -> SigningCredentials? {
    let key = Key(customer: app.customer, app: app.id, updatedAt: app.updatedAt)
    return try await opened.value(key) { [database, vault] in
      let rows = try await database.query(PushAppQueries.signing, key.customer.rawValue, key.app.rawValue)
      guard let row = rows.first else { return nil }
      let (team, id, bytes, masterKey) = try row.decode(String?.self, String?.self, Bytes.self, String.self)
      guard let team, let id else { return nil }
      let context = PushCredential.context(key.customer, key.app, .apnsSigningKey)
      let secret = try vault.open(Sealed(bytes: bytes.bytes, masterKeyID: masterKey), context: context)
      return SigningCredentials(teamID: team, keyID: id, signingKey: secret)
    }
  }
}

extension PushCredential {
  /// The place that a credential is sealed for.
  static func context(_ customer: CustomerID, _ app: PushAppID, _ kind: Kind) -> String {
    context(customer, app, kind.rawValue)
  }

  /// - Parameter kind: as the table has it, which may hold kinds that this version does not know.
  static func context(_ customer: CustomerID, _ app: PushAppID, _ kind: String) -> String {
    "push_credential/\(customer)/\(app)/\(kind)"
  }
}
