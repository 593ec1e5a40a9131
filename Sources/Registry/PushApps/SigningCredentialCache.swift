public import Postgres

/// Opens signing keys once for each change of their app, so that sending need not ask for every push.
public final class SigningCredentialCache: Sendable {
  public init(_ database: any Querying, vault: Vault) {
  }

  /// What signs for this app, as `PushApps.credentials` says.
  public func credentials(for app: PushApp) async throws -> SigningCredentials? {
    fatalError()
  }
}
