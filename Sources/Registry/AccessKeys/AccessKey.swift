import Crypto
public import FoundationEssentials
public import Wire

/// A key that was just created, and the only sight of its token.
public struct NewAccessKey: Sendable {
  public let key: AccessKeyReply
  /// `pck_<customerId>_<49 characters>`, or a GUID if its scope is gateway. Show it to its owner; it cannot be had again.
  public let token: String
}

/// What revoking a key did.
public struct AccessKeyRevocation: Sendable, Equatable {
  public let key: AccessKeyReply
  /// Each key that was asked for or revoked along with it, as it was before; the one asked for comes first.
  public let before: [AccessKeyReply]
  /// Keys that it had created, and those that these had, which this revoked too.
  public let alsoRevoked: [AccessKeyID]
  /// Keys of that kind that are still valid.
  public let stillValid: [AccessKeyID]
}

/// What a valid token opens.
public struct Access: Sendable, Hashable {
  public let customer: CustomerID
  public let key: AccessKeyID
  public let scope: AccessScope
  /// The only app whose routes it opens; `nil` for all of the customer's.
  public let appID: String?
  /// When it stops opening anything; `nil` for never.
  public let expiresAt: Date?

  public init(
    customer: CustomerID, key: AccessKeyID, scope: AccessScope, appID: String? = nil, expiresAt: Date? = nil
  ) {
    self.customer = customer
    self.key = key
    self.scope = scope
    self.appID = appID
    self.expiresAt = expiresAt
  }

  /// Whether this opens what asks for `scope`: each scope opens what the ones before it open, and more. The scopes gateway and
  /// datasync open only what asks for them, and no other scope does.
  public func opens(_ scope: AccessScope) -> Bool {
    guard !self.scope.standsAlone, !scope.standsAlone else { return self.scope == scope }
    let order = AccessScope.allCases
    return (order.firstIndex(of: self.scope) ?? 0) >= (order.firstIndex(of: scope) ?? order.count)
  }

  /// Whether this opens the routes of an app.
  public func opens(appID: String) -> Bool { self.appID == nil || self.appID == appID }
}

/// The text of an access key: `pck_<customerId>_<49 characters of base64url>`, 256 random bits and a checksum of all before it.
///
/// It carries the customer's number because `/api/v1` has none in its paths. The checksum keeps mistyped and made-up tokens from
/// the database. Only the token's SHA-256 is ever stored or cached; as the token is random, a plain hash is enough.
///
/// The token of scope gateway is a GUID, as CM's clients hold it: a UUID of version 8 whose first 48 bits are the customer's number.
/// 74 bits are random. It has no room for a checksum.
struct AccessToken: Sendable {
  let customer: CustomerID
  let hash: SHA256Digest

  private static let randomLength = 43
  /// 36 bits: one made-up token in 69 billion passes.
  private static let checksumLength = 6
  private static let prefix = "pck_"
  /// No token is longer: a customer's number has at most 19 digits.
  static let maximumLength = 4 + 19 + 1 + randomLength + checksumLength

  /// Reads a token as it came in; `nil` when it cannot be one.
  /// - Parameter checked: whether to look at the checksum, which only the way to the database needs.
  init?(_ text: String, checked: Bool = true) {
    if text.utf8.count == Self.productTokenLength {
      self.init(productToken: text)
      return
    }
    let bytes = text.utf8
    guard bytes.count <= Self.maximumLength, text.hasPrefix(Self.prefix) else { return nil }
    let parts = text.dropFirst(4).split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == Self.randomLength + Self.checksumLength,
      let customer = CustomerID(String(parts[0]))
    else { return nil }
    guard !checked || Self.hasChecksum(bytes) else { return nil }
    self.init(customer: customer, hash: SHA256.hash(data: Array(bytes)))
  }

  private init(customer: CustomerID, hash: SHA256Digest) {
    self.customer = customer
    self.hash = hash
  }

  /// Characters of a GUID.
  private static let productTokenLength = 36
  /// Customers with a higher number have no product tokens.
  static let highestProductCustomer: Int64 = 1 << 48 - 1

  /// Reads a GUID, in either case of its letters; the hash is that of small ones.
  private init?(productToken text: String) {
    guard let uuid = UUID(uuidString: text) else { return nil }
    let bytes = withUnsafeBytes(of: uuid.uuid) { Array($0) }
    guard bytes[6] >> 4 == 8, bytes[8] >> 6 == 0b10 else { return nil }
    let number = bytes[..<6].reduce(Int64(0)) { $0 << 8 | Int64($1) }
    guard let customer = CustomerID(String(number)) else { return nil }
    self.init(customer: customer, hash: SHA256.hash(data: Array(uuid.uuidString.lowercasedASCII.utf8)))
  }

  /// Makes a new token of scope gateway.
  /// - Parameter customer: with a number of at most `highestProductCustomer`.
  static func makeProductToken(for customer: CustomerID) -> (text: String, hash: SHA256Digest) {
    var bytes = SymmetricKey(size: .bits128).withUnsafeBytes { Array($0) }
    for index in 0..<6 { bytes[index] = UInt8(truncatingIfNeeded: customer.rawValue >> (40 - 8 * index)) }
    bytes[6] = bytes[6] & 0x0F | 0x80
    bytes[8] = bytes[8] & 0x3F | 0x80
    let uuid = bytes.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
    let text = uuid.uuidString.lowercasedASCII
    return (text, SHA256.hash(data: Array(text.utf8)))
  }

  /// Makes a new token.
  static func make(for customer: CustomerID) -> (text: String, hash: SHA256Digest) {
    let random = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    var bytes = Array("\(prefix)\(customer)_\(Base64URL.text(random))".utf8)
    bytes += checksum(bytes)
    return (String(decoding: bytes, as: UTF8.self), SHA256.hash(data: bytes))
  }

  private static func hasChecksum(_ bytes: String.UTF8View) -> Bool {
    checksum(Array(bytes.dropLast(checksumLength))).isEqual(inConstantTime: Array(bytes.suffix(checksumLength)))
  }

  private static func checksum(_ body: [UInt8]) -> [UInt8] {
    Array(Base64URL.encode(Array(SHA256.hash(data: body).prefix(5))).prefix(checksumLength))
  }
}
