import Crypto
import Wire

/// The text of an access key: `pck_<customerId>_<49 characters of base64url>`, 256 random bits and a checksum of all before it.
///
/// It carries the customer's number because `/api/v1` has none in its paths. The checksum keeps mistyped and made-up tokens from
/// the database. Only the token's SHA-256 is ever stored or cached; as the token is random, a plain hash is enough.
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
  init?(_ text: String) {
    let bytes = text.utf8
    guard bytes.count <= Self.maximumLength, text.hasPrefix(Self.prefix) else { return nil }
    let parts = text.dropFirst(4).split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == Self.randomLength + Self.checksumLength,
      let customer = CustomerID(String(parts[0]))
    else { return nil }
    let body = bytes.dropLast(Self.checksumLength)
    // The comparison takes the same time wherever the two differ.
    let difference = zip(Self.checksum(Array(body)), bytes.suffix(Self.checksumLength))
      .reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) }
    guard difference == 0 else { return nil }
    self.customer = customer
    hash = SHA256.hash(data: Array(bytes))
  }

  /// Makes a new token.
  static func make(for customer: CustomerID) -> (text: String, hash: SHA256Digest) {
    let random = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    var bytes = Array("\(prefix)\(customer)_\(Base64URL.text(random))".utf8)
    bytes += checksum(bytes)
    return (String(decoding: bytes, as: UTF8.self), SHA256.hash(data: bytes))
  }

  private static func checksum(_ body: [UInt8]) -> ArraySlice<UInt8> {
    Base64URL.encode(Array(SHA256.hash(data: body).prefix(5))).prefix(checksumLength)
  }
}
