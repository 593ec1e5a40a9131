import Crypto
import FoundationEssentials
public import Postgres
import Locking
public import Wire

/// The addresses where providers of SMS post their status reports, and the tokens in them.
///
/// A token names its customer and follows from a secret of the hub and from how often the customer's address was renewed. It opens nothing
/// else. Hubs notify each other of renewals (`CacheRefresh`), and the token before opens nothing from then on.
public final class SMSStatusAddresses: Sendable {
  private let key: SymmetricKey
  private let publicURL: String
  /// How often addresses were renewed, of customers whose was. It is a copy of all of them and no cache: an SMS has its address in it, and
  /// is prepared without a look at the database.
  private let serials: Mutex<[CustomerID: Int32]>

  private static let name = "sms/status"

  /// - Parameters:
  ///   - key: 32 random bytes.
  ///   - publicURL: under which providers reach the hub, without a slash at its end.
  package init(key: [UInt8], publicURL: String, serials: [CustomerID: Int32] = [:]) {
    self.key = SymmetricKey(data: key)
    self.publicURL = publicURL
    self.serials = Mutex(serials)
  }

  /// The secret that all hubs share, made now if there is none.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens it.
  public static func load(
    _ database: any Querying, vault: Vault, publicURL: String
  ) async throws -> SMSStatusAddresses {
    let secrets = HubSecrets(database, vault: vault)
    var secret = try await secrets.load(namesBeginningWith: name)[name]
    if secret == nil {
      _ = try await secrets.make(name)
      secret = try await secrets.load(namesBeginningWith: name)[name]
    }
    guard let secret else { throw RegistryError.sealed(what: HubSecrets.context(name)) }
    let addresses = SMSStatusAddresses(key: secret.secret.bytes, publicURL: publicURL)
    try await addresses.refresh(from: database)
    return addresses
  }

  /// Reads which addresses were renewed.
  public func refresh(from database: any Querying) async throws {
    let rows = try await database.query(CustomerQueries.smsStatusSerials)
    let read = try rows.map { row in
      let (customer, serial) = try row.decode(Int64.self, Int32.self)
      return (CustomerID(customer), serial)
    }
    // Another refresh may have read later ones meanwhile: serials only grow.
    serials.withLock { $0.merge(read) { max($0, $1) } }
  }

  /// Renews a customer's address when the transaction commits. All hubs are notified of it, and refresh theirs.
  /// - Returns: the serial of the new address.
  /// - Throws: `RegistryError.customerUnknown`.
  package func renew(_ customer: CustomerID, in transaction: any Querying) async throws -> Int32 {
    guard let row = try await transaction.query(CustomerQueries.renewSMSStatus, customer.rawValue).first else {
      throw RegistryError.customerUnknown(customer)
    }
    try await transaction.notify(.smsStatus, customer.description)
    return try row.decode(Int32.self)
  }

  /// As in `https://push.example.com/sms/status/17-vT0c2nUe0nEJzN0bXwKpQy`.
  public func url(of customer: CustomerID) -> String { url(of: customer, serial: serial(of: customer)) }

  /// The address of that serial.
  package func url(of customer: CustomerID, serial: Int32) -> String {
    "\(publicURL)/sms/status/\(token(of: customer, serial))"
  }

  /// As in `17-vT0c2nUe0nEJzN0bXwKpQy`.
  public func token(of customer: CustomerID) -> String { token(of: customer, serial(of: customer)) }

  private func token(of customer: CustomerID, _ serial: Int32) -> String {
    "\(customer)-\(Base64URL.text(Array(Data(code(of: customer, serial)).prefix(16))))"
  }

  /// The customer whose token it is; nil for any other text.
  public func customer(of token: String) -> CustomerID? {
    guard token.utf8.count <= 60, let number = Int64(token.prefix { $0 != "-" }), number > 0 else { return nil }
    let expected = Array(self.token(of: CustomerID(number)).utf8)
    return Array(token.utf8).isEqual(inConstantTime: expected) ? CustomerID(number) : nil
  }

  /// The reference with the code that only the hub can make. So the address alone is not enough to report on a message: that takes the
  /// reference which its provider got.
  public func signed(_ reference: SMSReference, of customer: CustomerID) -> SMSReference {
    let place = "sms/reference/\(customer)/\(reference.sendout)/\(reference.push)"
    let mac = HMAC<SHA256>.authenticationCode(for: Data(place.utf8), using: key)
    let limit = (0..<SMSReference.codeDigits).reduce(UInt64(1)) { limit, _ in limit * 36 }
    let number = Data(mac).prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % limit
    return SMSReference(
      sendout: reference.sendout, push: reference.push,
      code: SMSReference.padded(Int64(number), to: SMSReference.codeDigits))
  }

  /// Whether the hub gave that reference to the customer's provider.
  public func isSigned(_ reference: SMSReference, of customer: CustomerID) -> Bool {
    guard let given = reference.code, let expected = signed(reference, of: customer).code else { return false }
    return Array(given.utf8).isEqual(inConstantTime: Array(expected.utf8))
  }

  private func serial(of customer: CustomerID) -> Int32 { serials.withLock { $0[customer] ?? 0 } }

  private func code(of customer: CustomerID, _ serial: Int32) -> HMAC<SHA256>.MAC {
    HMAC<SHA256>.authenticationCode(for: Data("sms/status/\(customer)/\(serial)".utf8), using: key)
  }
}
