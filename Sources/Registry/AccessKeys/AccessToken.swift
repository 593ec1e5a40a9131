import Crypto
import Wire

/// The text of an access key: `pck_<customerId>_<43 characters of base64url>`, 256 random bits.
///
/// It carries the customer's number because `/api/v1` has none in its paths. Only its SHA-256 is ever stored or cached; as
/// the token is random, a plain hash is enough.
struct AccessToken: Sendable {
  let customer: CustomerID
  let hash: SHA256Digest

  /// No token is longer: a customer's number has at most 19 digits.
  static let maximumLength = 4 + 19 + 1 + 43

  /// Reads a token as it came in; `nil` when it cannot be one.
  init?(_ text: String) {
    let bytes = text.utf8
    guard bytes.count <= Self.maximumLength, text.hasPrefix("pck_") else { return nil }
    let parts = text.dropFirst(4).split(separator: "_", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2, parts[1].utf8.count == 43, let customer = CustomerID(String(parts[0])) else { return nil }
    self.customer = customer
    hash = Self.hash(text)
  }

  /// Makes a new token.
  static func make(for customer: CustomerID) -> (text: String, hash: SHA256Digest) {
    let random = SymmetricKey(size: .bits256).withUnsafeBytes { Array($0) }
    let text = "pck_\(customer)_\(Base64URL.text(random))"
    return (text, Self.hash(text))
  }

  private static func hash(_ text: String) -> SHA256Digest { SHA256.hash(data: Array(text.utf8)) }
}
