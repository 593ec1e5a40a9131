import FoundationEssentials
public import Postgres
public import Wire

/// Opens what authenticates push apps to their push services, once for each change of their app.
///
/// Kept apart from `PushApps`, so that what answers requests has no way to a key.
public final class PushCredentialVault: Sendable {
  private struct Key: Hashable {
    let customer: CustomerID
    let app: PushAppID
    let updatedAt: Date
  }

  private let database: any Querying
  private let vault: Vault
  private let opened = SharedCache<Key, PushServiceCredentials?>(capacity: 100, lifetime: .seconds(3600))

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// What opens the app's push service; `nil` if it has no credentials. At hand, once opened, for as long as the app does not
  /// change.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public func credentials(for app: PushApp) async throws -> PushServiceCredentials? {
    let key = Key(customer: app.customer, app: app.id, updatedAt: app.updatedAt)
    let service = app.type.service
    return try await opened.value(key) { [database, vault] in
      let rows = try await database.query(PushAppQueries.sending, key.customer.rawValue, key.app.rawValue)
      guard let first = rows.first else { return nil }
      let (team, id, contact): (String?, String?, String?) = try first.decode(
        String?.self, String?.self, String?.self)
      var secrets: [PushCredential.Kind: Secret] = [:]
      for row in rows {
        let (_, _, _, kind, bytes, masterKey) = try row.decode(
          String?.self, String?.self, String?.self, String.self, Bytes.self, String.self)
        guard let known = PushCredential.Kind(rawValue: kind) else { continue }
        secrets[known] = try vault.open(
          Sealed(bytes: bytes.bytes, masterKeyID: masterKey),
          context: PushCredential.context(key.customer, key.app, kind))
      }
      return try Self.credentials(of: service, teamID: team, keyID: id, contact: contact, secrets)
    }
  }

  /// Tells hubs that the app's push service has accepted the credentials, so that lanes which are closed for them need not wait.
  package func announceAccepted(_ app: PushApp) async throws {
    try await database.notify(.pushApp, app.customer.description)
  }

  /// Keeps what the app's push service said of its credentials, for people.
  package func note(_ checks: [PushAppCheckReply.Check], of app: PushApp) async throws {
    try await database.query(
      PushAppQueries.noteChecks, app.customer.rawValue, app.id.rawValue,
      JSONDocument(String(decoding: try JSONCoding.encode(checks), as: UTF8.self)), app.updatedAt)
  }

  /// What the stored secrets of an app come to; `nil` if something is missing.
  private static func credentials(
    of service: PushService, teamID: String?, keyID: String?, contact: String?,
    _ secrets: [PushCredential.Kind: Secret]
  ) throws -> PushServiceCredentials? {
    var certificates: [PushEnvironmentCertificate] = []
    for signIn in service.signIns {
      guard let secret = secrets[signIn.kind] else { continue }
      switch signIn.form {
      case .signingKey:
        if let teamID, let keyID { return .apns(teamID: teamID, keyID: keyID, signingKey: secret.text) }
      case .certificate(let isForDevelopment):
        certificates.append((isForDevelopment, try JSONCoding.decode(PushCertificate.self, from: secret.bytes)))
      case .vapidKey: return .webPush(try VAPIDKeyFile(secret).credentials(contact: contact))
      case .account(let form):
        if let account = try signIn.open(form, secret) { return account }
      case .ownRequest: return .sms(try JSONCoding.decode(SMSAccount.self, from: secret.bytes))
      }
    }
    guard let any = certificates.first?.certificate else { return nil }
    // One certificate can be for both environments.
    return .apnsCertificates(
      development: certificates.first { $0.isForDevelopment }?.certificate ?? (any.isForDevelopment ? any : nil),
      production: certificates.first { !$0.isForDevelopment }?.certificate ?? (any.isForProduction ? any : nil))
  }

  private typealias PushEnvironmentCertificate = (isForDevelopment: Bool, certificate: PushCertificate)
}

extension PushCredential {
  /// The place that a credential is sealed for.
  static func context(_ customer: CustomerID, _ app: PushAppID, _ kind: Kind) -> String {
    context(customer, app, kind.rawValue)
  }

  /// - Parameter kind: as the table has it, which may hold kinds that this version does not know.
  static func context(_ customer: CustomerID, _ app: PushAppID, _ kind: String) -> String {
    SealedColumn.credential.place(customer, "\(app)", kind)
  }
}
