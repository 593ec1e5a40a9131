import Crypto
import FoundationEssentials
public import Postgres
public import Wire

/// The addresses where providers of SMS post their status reports, and the tokens in them.
///
/// A token names its customer and is signed with a secret of the hub. It opens nothing else, and changes only with that secret.
public struct SMSStatusAddresses: Sendable {
  private let key: SymmetricKey
  private let publicURL: String

  private static let name = "sms/status"

  /// - Parameters:
  ///   - key: 32 random bytes.
  ///   - publicURL: under which providers reach the hub, without a slash at its end.
  package init(key: [UInt8], publicURL: String) {
    self.key = SymmetricKey(data: key)
    self.publicURL = publicURL
  }

  /// The secret that all hubs share, made now if there is none.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public static func load(
    _ database: any Querying, vault: Vault, publicURL: String
  ) async throws -> SMSStatusAddresses {
    let secrets = HubSecrets(database, vault: vault)
    if let known = try await secrets.load(namesBeginningWith: name)[name] {
      return Self(key: known.secret.bytes, publicURL: publicURL)
    }
    _ = try await secrets.make(name)
    guard let made = try await secrets.load(namesBeginningWith: name)[name] else {
      throw RegistryError.sealed(what: HubSecrets.context(name))
    }
    return Self(key: made.secret.bytes, publicURL: publicURL)
  }

  /// As in `https://push.example.com/sms/status/17-vT0c2nUe0nEJzN0bXwKpQy`.
  public func url(of customer: CustomerID) -> String { "\(publicURL)/sms/status/\(token(of: customer))" }

  /// As in `17-vT0c2nUe0nEJzN0bXwKpQy`.
  public func token(of customer: CustomerID) -> String {
    "\(customer)-\(Base64URL.text(Array(Data(code(of: customer)).prefix(16))))"
  }

  /// The customer whose token it is; nil for any other text.
  public func customer(of token: String) -> CustomerID? {
    guard token.utf8.count <= 60, let number = Int64(token.prefix { $0 != "-" }), number > 0 else { return nil }
    let expected = Array(self.token(of: CustomerID(number)).utf8)
    let given = Array(token.utf8)
    guard given.count == expected.count else { return nil }
    // Takes the same time wherever they differ.
    return zip(given, expected).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0 ? CustomerID(number) : nil
  }

  private func code(of customer: CustomerID) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Data("sms/status/\(customer)".utf8), using: key)
  }
}
