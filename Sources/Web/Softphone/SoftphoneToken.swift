import Registry
import Wire

/// A device's token as softphones and PBXs have it: in base64.
struct SoftphoneToken: Sendable {
  private let text: String
  private let bytes: [UInt8]

  /// - Parameter isForm: whether it came in a form or a query, where blanks stand for the `+` that a client forgot to encode.
  /// - Returns: nil if the text is no base64. Padding can be left out.
  init?(_ text: String, isForm: Bool) {
    let text = isForm ? text.replacing(" ", with: "+") : text
    guard let bytes = Self.bytes(base64: text) else { return nil }
    self.text = text
    self.bytes = bytes
  }

  /// The app that it is of. If an AppId stands for several platforms, the token decides: APNs' tokens are no text.
  func app(of apps: [PushApp]) -> PushApp? {
    let phones = apps.filter { $0.type.service.takesSoftphones }
    return phones.first { ($0.type == .ios) != isText } ?? phones.first
  }

  /// The token as the push service has it. Of Firebase that is a text; what decodes to none is taken as it stands.
  func native(_ type: AppType) -> String {
    if type == .ios { return bytes.hexDigits }
    return isText ? String(decoding: bytes, as: UTF8.self) : text
  }

  private var isText: Bool { bytes.allSatisfy { (0x21...0x7E).contains($0) } }

  /// Decodes base64 with or without padding. Bits behind the last byte are ignored, so that the vendor's printed tokens pass.
  private static func bytes(base64 text: String) -> [UInt8]? {
    let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
    guard text.utf8.dropFirst(digits.count).allSatisfy({ $0 == UInt8(ascii: "=") }),
      text.utf8.count - digits.count <= 2, digits.count > 1, digits.count % 4 != 1,
      !digits.contains(where: { "-_".utf8.contains($0) })
    else { return nil }
    return Base64URL.decode(Base64URL.digits(ofBase64: digits))
  }
}
