import Wire
import FoundationEssentials

/// A signed JWT in its compact form (RFC 7515, section 7.1), taken apart but not verified.
struct CompactJWT {
  let signature: Data
  /// What the signature is over.
  let signed: Data
  private let header: Data
  private let claims: Data

  /// - Returns: nil unless it has three parts in base64url without padding.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let header = Self.bytes(parts[0]), let claims = Self.bytes(parts[1]),
      let signature = Self.bytes(parts[2])
    else { return nil }
    self.header = header
    self.claims = claims
    self.signature = signature
    signed = Data(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
  }

  func header<Header: Decodable>(as type: Header.Type) -> Header? { try? JSONCoding.decode(type, from: header) }
  func claims<Claims: Decodable>(as type: Claims.Type) -> Claims? { try? JSONCoding.decode(type, from: claims) }

  private static func bytes(_ part: some StringProtocol) -> Data? {
    guard !part.contains("="), !part.contains("+"), !part.contains("/") else { return nil }
    var text = String(part.map { $0 == "-" ? "+" : $0 == "_" ? "/" : $0 })
    text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    return Data(base64Encoded: text)
  }
}
