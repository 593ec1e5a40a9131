/// Base64 in the alphabet that URLs take, without padding (RFC 4648, section 5).
public enum Base64URL {
  private static let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// What each byte stands for; 255 for those that are no digit.
  private static let values: [UInt8] = {
    var values = [UInt8](repeating: 255, count: 256)
    for (value, digit) in digits.enumerated() { values[Int(digit)] = UInt8(value) }
    return values
  }()

  /// The digits for these bytes.
  public static func encode(_ bytes: [UInt8]) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: (bytes.count * 4 + 2) / 3) { text, count in
      var buffer: UInt32 = 0
      var bits: UInt32 = 0
      for byte in bytes {
        buffer = buffer << 8 | UInt32(byte)
        bits += 8
        while bits >= 6 {
          bits -= 6
          text.initializeElement(at: count, to: digits[Int(buffer >> bits & 63)])
          count += 1
        }
      }
      if bits > 0 {
        text.initializeElement(at: count, to: digits[Int(buffer << (6 - bits) & 63)])
        count += 1
      }
    }
  }

  /// The digits for these bytes, as a string.
  public static func text(_ bytes: [UInt8]) -> String { String(decoding: encode(bytes), as: UTF8.self) }

  /// The digits of this alphabet for those of plain base64: `-` for `+`, and `_` for `/`. All others stay.
  public static func digits(ofBase64 text: some Sequence<UInt8>) -> [UInt8] {
    text.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
  }

  /// The bytes that a text stands for; `nil` if it holds anything but digits. Bits left over are ignored: the caller compares.
  public static func decode(_ text: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    var buffer: UInt32 = 0
    var bits: UInt32 = 0
    for digit in text {
      let value = values[Int(digit)]
      guard value < 64 else { return nil }
      buffer = buffer << 6 | UInt32(value)
      bits += 6
      if bits >= 8 {
        bits -= 8
        bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
      }
    }
    return bytes
  }
}

/// Percent-encoding (RFC 3986, section 2.1), and that of forms, in which a plus sign is a blank.
public enum PercentEncoding {
  /// The text with every byte escaped that is not unreserved (RFC 3986, section 2.3), for a path or a query.
  public static func encode(_ text: String) -> String {
    let digits = Array("0123456789ABCDEF".utf8)
    let bytes = text.utf8.flatMap { byte -> [UInt8] in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2D, 0x2E, 0x5F, 0x7E: [byte]
      default: [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// What a text stands for; nil unless it is percent-encoded UTF-8 without U+0000.
  public static func decode(_ text: some Collection<UInt8>, plusIsBlank: Bool = false) -> String? {
    let (bytes, isWhole) = bytes(of: text, plusIsBlank)
    guard isWhole, !bytes.contains(0) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

  /// Decodes as far as it can be read: what is no escape stands for itself, and what is not UTF-8 becomes U+FFFD.
  public static func decodeLeniently(_ text: some Collection<UInt8>, plusIsBlank: Bool = false) -> String {
    String(decoding: bytes(of: text, plusIsBlank).bytes, as: UTF8.self)
  }

  /// - Returns: whether every percent sign begins an escape, too.
  private static func bytes(of text: some Collection<UInt8>, _ plusIsBlank: Bool) -> (bytes: [UInt8], isWhole: Bool) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count)
    var isWhole = true
    var rest = text[...]
    while let byte = rest.popFirst() {
      switch byte {
      case UInt8(ascii: "%"):
        if let high = rest.first?.hexDigitValue, let low = rest.dropFirst().first?.hexDigitValue {
          bytes.append(high << 4 | low)
          rest = rest.dropFirst(2)
        } else {
          bytes.append(byte)
          isWhole = false
        }
      case UInt8(ascii: "+") where plusIsBlank: bytes.append(UInt8(ascii: " "))
      default: bytes.append(byte)
      }
    }
    return (bytes, isWhole)
  }
}

extension [UInt8] {
  /// Lower-case hexadecimal digits, two a byte.
  public var hexDigits: String {
    String(decoding: flatMap { [UInt8(hexDigit: $0 >> 4), UInt8(hexDigit: $0 & 15)] }, as: UTF8.self)
  }

  /// Whether both are equal. The comparison takes the same time wherever they differ, so that nobody guesses a secret by it.
  public func isEqual(inConstantTime other: [UInt8]) -> Bool {
    count == other.count && zip(self, other).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
  }
}

extension UInt8 {
  /// The ASCII digit of a value from 0 to 15.
  public init(hexDigit value: UInt8) {
    self = value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }

  /// What the byte stands for as a digit of ASCII, in either case; nil if it is none.
  @inlinable public var hexDigitValue: UInt8? {
    switch self {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
    default: nil
    }
  }
}

extension StringProtocol {
  /// The text as it can stand between the tags of an HTML page and inside quoted attributes.
  public var htmlEscaped: String {
    var escaped = ""
    escaped.reserveCapacity(utf8.count)
    for character in unicodeScalars {
      switch character {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "'": escaped += "&#39;"
      default: escaped.unicodeScalars.append(character)
      }
    }
    return escaped
  }
}
