import Crypto
import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// Makes the PINs that verify telephone numbers.
///
/// A PIN follows from a nonce, the number of its registration and a secret that all hubs share, so that a call can speak what an SMS had.
/// The database keeps the nonce and a keyed hash, and the SMS's message has `{{pin}}` and a `PINSource`. Who reads them without the hub's
/// master key learns no PIN, and nothing that opens the registration.
///
/// The first byte of a nonce says how many digits its PIN has, so that a PIN that was sent stays the same when the app's setting changes.
public struct PINs: Sendable {
  private let key: SymmetricKey

  /// How long a PIN is valid.
  public static let lifetime = Duration.seconds(600)
  /// Codes that can be tried for one PIN.
  public static let maximumTries = 5
  private static let secretName = "hybrid/pin"

  package init(secret: Secret) { key = SymmetricKey(data: secret.bytes) }

  /// Loads the secret, which is made now if there is none.
  public static func load(_ database: any Querying, vault: Vault) async throws -> PINs {
    let secrets = HubSecrets(database, vault: vault)
    while true {
      if let made = try await secrets.load(namesBeginningWith: secretName)[secretName] {
        return PINs(secret: made.secret)
      }
      _ = try await secrets.make(secretName)
    }
  }

  /// How many digits PINs can have. Shipped apps expect five.
  public static let lengths = 4...8

  /// - Parameter digits: how many digits its PIN has.
  static func nonce(digits: Int) -> [UInt8] {
    [UInt8(digits)] + SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
  }

  /// How many digits the PIN of a nonce has.
  static func digits(nonce: [UInt8]?) -> Int {
    nonce?.first.map { min(max(Int($0), lengths.lowerBound), lengths.upperBound) } ?? 5
  }

  func pin(_ customer: CustomerID, _ registration: RegistrationID, _ number: PhoneNumber, nonce: [UInt8]) -> String {
    let code = authenticate("pin/\(customer)/\(registration)/\(number.digits)/", nonce)
    let length = Self.digits(nonce: nonce)
    let limit = (0..<length).reduce(UInt64(1)) { limit, _ in limit * 10 }
    let digits = String(code.prefix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) } % limit)
    return String(repeating: "0", count: length - digits.utf8.count) + digits
  }

  /// The PIN that a message to the number has.
  /// - Parameter source: as the message names it.
  /// - Returns: nil if it is none.
  public func pin(_ customer: CustomerID, _ number: PhoneNumber, source: String) -> String? {
    PINSource(source).map { pin(customer, $0.registration, number, nonce: $0.nonce) }
  }

  func hash(_ customer: CustomerID, _ registration: RegistrationID, _ number: PhoneNumber, pin: String) -> [UInt8] {
    authenticate("hash/\(customer)/\(registration)/\(number.digits)/", Array(pin.utf8))
  }

  private func authenticate(_ place: String, _ bytes: [UInt8]) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(place.utf8) + bytes, using: key))
  }
}

/// What a PIN follows from, besides its number and the hubs' secret: the registration and a nonce.
struct PINSource: Equatable {
  let registration: RegistrationID
  let nonce: [UInt8]

  init(_ registration: RegistrationID, nonce: [UInt8]) {
    self.registration = registration
    self.nonce = nonce
  }

  init?(_ text: String) {
    let parts = text.split(separator: "/", maxSplits: 1)
    guard parts.count == 2, let id = RegistrationID(String(parts[0])),
      let nonce = Data(base64Encoded: String(parts[1]))
    else { return nil }
    self.init(id, nonce: Array(nonce))
  }

  var text: String { "\(registration)/\(Data(nonce).base64EncodedString())" }
}
