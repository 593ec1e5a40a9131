import Crypto
import FoundationEssentials
public import Postgres
public import Wire

/// Proves that a request with a device key is about the user who is signed in to the app.
///
/// For apps that require it, the customer's back end computes HMAC-SHA256 over the originalId with the app's identity
/// secret. The app sends the result along. The device key alone, which every copy of the app holds, then changes no
/// contact.
public final class IdentityVerifier: Sendable {
  private struct Key: Hashable {
    let customer: CustomerID
    let apps: [PushAppID]
    let updatedAt: [Date]
  }

  private let database: any Querying
  private let vault: Vault
  /// Briefly, as a secret that was replaced 30 days ago verifies no more.
  private let opened = SharedCache<Key, [Secret]>(capacity: 1000, lifetime: .seconds(60))

  public init(_ database: any Querying, vault: Vault) {
    self.database = database
    self.vault = vault
  }

  /// Does nothing when none of the apps requires an identity. One that does is enough, as its contacts are those of all: through
  /// another app of the customer nobody gets around it. Right is what any of the apps' secrets makes, since all are the customer's.
  /// - Parameters:
  ///   - identity: what the request says; hexadecimal or base64url.
  ///   - apps: all apps of one customer.
  /// - Throws: `RegistryError.identityRefused`; `.sealed` when no master key at hand opens a secret.
  public func verify(_ identity: String?, of originalID: String?, for apps: [PushApp]) async throws {
    guard let first = apps.first(where: \.identityRequired) else { return }
    guard let originalID, let code = identity.flatMap(Self.code) else { throw RegistryError.identityRefused }
    let apps = apps.filter { app in app.credentials.contains { $0.kind == .identitySecret } }
    let key = Key(customer: first.customer, apps: apps.map(\.id), updatedAt: apps.map(\.updatedAt))
    let secrets = try await opened.value(key) { try await self.load(key) }
    let message = Array(originalID.utf8)
    // Each comparison takes the same time wherever the two differ.
    let isRight = secrets.contains { secret in
      HMAC<SHA256>.isValidAuthenticationCode(
        code, authenticating: message, using: SymmetricKey(data: secret.bytes))
    }
    guard isRight else { throw RegistryError.identityRefused }
  }

  private func load(_ key: Key) async throws -> [Secret] {
    let apps = key.apps.map(\.rawValue)
    return try await database.query(PushAppQueries.identitySecrets, key.customer.rawValue, apps).map { row in
      let (app, kind, bytes, masterKey) = try row.decode(Int64.self, String.self, Bytes.self, String.self)
      return try vault.open(
        Sealed(bytes: bytes.bytes, masterKeyID: masterKey),
        context: PushCredential.context(key.customer, PushAppID(app), kind))
    }
  }

  /// The 32 bytes that 64 hexadecimal digits, or 43 of base64url, stand for.
  private static func code(_ text: String) -> [UInt8]? {
    let digits = Array(text.utf8)
    let bytes = digits.count == 64 ? DeviceToken.bytes(hex: text) : Base64URL.decode(digits.filter { $0 != 0x3D })
    return bytes?.count == 32 ? bytes : nil
  }
}

/// A new identity secret: the one time that it is shown.
public struct AppIdentity: Sendable {
  public let app: PushApp
  /// `pis_` and 43 characters. Its bytes as they stand are the key of the HMAC.
  public let secret: String
  /// Whether the one before it is accepted for another 30 days.
  public let hasPrevious: Bool
}

extension PushApps {
  /// Makes a new identity secret for an app. The one before it is accepted for 30 days, or until the next is made.
  /// - Throws: `RegistryError.numberUnknown`.
  public func rotateIdentity(_ customer: CustomerID, _ id: PushAppID) async throws -> AppIdentity {
    guard let app = try await find(customer, id) else { throw RegistryError.numberUnknown("push app") }
    let previous = try await identitySecret(of: app)
    if let previous { try await store(previous, as: .previousIdentitySecret, of: app) }
    let text = "pis_" + Base64URL.text(SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) })
    try await store(Secret(text), as: .identitySecret, of: app)
    return AppIdentity(app: try await changed(customer, id), secret: text, hasPrevious: previous != nil)
  }

  /// Refuses identities of the secret before the current one.
  /// - Throws: `RegistryError.numberUnknown`.
  public func revokePreviousIdentity(_ customer: CustomerID, _ id: PushAppID) async throws -> PushApp {
    try await database.query(PushAppQueries.deletePreviousIdentity, customer.rawValue, id.rawValue)
    return try await changed(customer, id)
  }

  /// - Returns: `nil` if there is none, or none that opens.
  private func identitySecret(of app: PushApp) async throws -> Secret? {
    let rows = try await database.query(PushAppQueries.identitySecrets, app.customer.rawValue, [app.id.rawValue])
    for row in rows {
      let (_, kind, bytes, masterKey) = try row.decode(Int64.self, String.self, Bytes.self, String.self)
      guard kind == PushCredential.Kind.identitySecret.rawValue else { continue }
      return try? requiredVault.open(
        Sealed(bytes: bytes.bytes, masterKeyID: masterKey), context: PushCredential.context(app.customer, app.id, kind))
    }
    return nil
  }

  private func store(_ secret: Secret, as kind: PushCredential.Kind, of app: PushApp) async throws {
    let sealed = try requiredVault.seal(secret, context: PushCredential.context(app.customer, app.id, kind))
    try await database.query(
      PushAppQueries.storeCredential, app.customer.rawValue, app.id.rawValue, kind.rawValue, Bytes(sealed.bytes),
      sealed.masterKeyID, SHA256.hash(data: secret.bytes).fingerprint)
  }
}
