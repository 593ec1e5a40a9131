import Crypto
import FoundationEssentials
public import Postgres
public import Wire

/// The secret by which hubs hash whom suppressions name. So the table names nobody, and only who has the secret can ask it about a person.
///
/// A hash is an HMAC-SHA256 over `<customer>/<kind>/` and what is suppressed. Statements compute it, too, by PostgreSQL's `sha256` and the
/// key's two pads (RFC 2104), which are parameters.
public struct SuppressionKey: Sendable {
  /// 64 bytes that stand before what is hashed.
  package let inner: Bytes
  /// 64 bytes that stand before the inner hash.
  package let outer: Bytes
  private let key: SymmetricKey

  private static let name = "suppressions/1"
  /// Bytes of a block of SHA-256.
  private static let block = 64

  /// - Parameter key: 32 random bytes.
  public init(key: [UInt8]) {
    precondition(key.count <= Self.block, "a longer key would have to be hashed first")
    self.key = SymmetricKey(data: key)
    let padded = key + Array(repeating: 0, count: Self.block - key.count)
    inner = Bytes(padded.map { $0 ^ 0x36 })
    outer = Bytes(padded.map { $0 ^ 0x5C })
  }

  /// Loads the secret that all hubs share, and makes it if there is none. It is never replaced, as suppressions cannot be hashed anew.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public static func load(_ database: any Querying, vault: Vault) async throws -> SuppressionKey {
    let secrets = HubSecrets(database, vault: vault)
    var secret = try await secrets.load(namesBeginningWith: name)[name]
    if secret == nil {
      _ = try await secrets.make(name)
      secret = try await secrets.load(namesBeginningWith: name)[name]
    }
    guard let secret else { throw RegistryError.sealed(what: HubSecrets.context(name)) }
    return SuppressionKey(key: secret.secret.bytes)
  }

  /// The hash of what a suppression of the customer names.
  package func hash(_ suppressed: Suppressed, of customer: CustomerID) -> [UInt8] {
    let text = "\(customer)/\(suppressed.kind.rawValue)/\(suppressed.text)"
    return Array(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
  }
}

/// What a suppression names.
public enum Suppressed: Sendable, Hashable {
  case contact(originalID: String)
  case number(PhoneNumber)
  case device(PushAppID, DeviceToken)

  package var kind: SuppressionKind {
    switch self {
    case .contact: .contact
    case .number: .number
    case .device: .device
    }
  }

  /// All suppressions that may stop the same recipient: a number may also be the original id of a contact.
  package var concerning: [Suppressed] {
    switch self {
    case .contact(let originalID): Suppressions.concerning(originalID)
    case .number(let number): Suppressions.concerning(number.international)
    case .device: [self]
    }
  }

  /// The original id of the contact that it names; nil for a device.
  var originalID: String? { if case .device = self { nil } else { text } }

  /// The device that it names; nil for others.
  var device: (app: PushAppID, token: DeviceToken)? {
    if case .device(let app, let token) = self { (app, token) } else { nil }
  }

  /// What follows the kind in the text that is hashed.
  fileprivate var text: String {
    switch self {
    case .contact(let originalID): originalID
    case .number(let number): number.international
    case .device(let app, let token):
      "\(app)/\(token.key.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined())"
    }
  }
}
