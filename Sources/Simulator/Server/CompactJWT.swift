import Wire

/// A signed JWT in its compact form (RFC 7515, section 7.1), taken apart but not verified.
struct CompactJWT {
  let signature: [UInt8]
  /// What the signature is over.
  let signed: [UInt8]
  private let header: [UInt8]
  private let claims: [UInt8]

  /// - Returns: nil unless it has three parts in base64url without padding.
  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    let decoded = parts.compactMap { Base64URL.decode(Array($0.utf8)) }
    guard parts.count == 3, decoded.count == 3 else { return nil }
    (header, claims, signature) = (decoded[0], decoded[1], decoded[2])
    signed = Array(text.utf8.prefix(parts[0].utf8.count + 1 + parts[1].utf8.count))
  }

  func header<Header: Decodable>(as type: Header.Type) -> Header? { try? JSONCoding.decode(type, from: header) }
  func claims<Claims: Decodable>(as type: Claims.Type) -> Claims? { try? JSONCoding.decode(type, from: claims) }
}
