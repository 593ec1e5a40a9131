import FoundationEssentials

extension [UInt8] {
  /// Base64 in the alphabet that URLs take, without padding (RFC 4648, section 5).
  var base64URL: String {
    String(
      decoding: Data(self).base64EncodedString().utf8.compactMap { byte -> UInt8? in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        case UInt8(ascii: "="): nil
        default: byte
        }
      }, as: UTF8.self)
  }

  /// Lower-case hexadecimal digits, two a byte.
  var hexDigits: String {
    let digits = Array("0123456789abcdef".utf8)
    return String(decoding: flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
  }
}
