/// Writes text as JSON strings (RFC 8259, section 7): quotation mark, backslash and control characters escaped, all else as
/// it is.
public enum JSONText {
  /// The text in quotation marks.
  public static func quoted(_ text: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 2)
    appendQuoted(text, to: &bytes)
    return bytes
  }

  /// How many bytes of UTF-8 a JSON string stands for; of other JSON, its own length.
  public static func length(_ json: [UInt8]) -> Int {
    guard json.first == UInt8(ascii: "\""), json.count >= 2 else { return json.count }
    guard json.contains(UInt8(ascii: "\\")) else { return json.count - 2 }
    var length = 0
    var rest = json.dropFirst().dropLast()
    while let byte = rest.popFirst() {
      guard byte == UInt8(ascii: "\\") else {
        length += 1
        continue
      }
      if rest.popFirst() == UInt8(ascii: "u") {
        let unit = UInt16(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16) ?? 0
        rest = rest.dropFirst(4)
        // Each half of a surrogate pair stands for two of its four bytes.
        length += unit < 0x80 ? 1 : unit < 0x800 || (0xD800...0xDFFF).contains(unit) ? 2 : 3
      } else {
        length += 1
      }
    }
    return length
  }

  /// Appends the text in quotation marks.
  public static func appendQuoted(_ text: String, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\""))
    append(text, to: &bytes)
    bytes.append(UInt8(ascii: "\""))
  }

  /// Appends the text as it stands between quotation marks.
  public static func append(_ text: String, to bytes: inout [UInt8]) {
    var text = text
    text.withUTF8 { source in
      var start = 0
      for (index, byte) in source.enumerated() where byte < 0x20 || byte == 0x22 || byte == 0x5C {
        bytes.append(contentsOf: source[start..<index])
        appendEscape(byte, to: &bytes)
        start = index + 1
      }
      bytes.append(contentsOf: source[start...])
    }
  }

  private static func appendEscape(_ byte: UInt8, to bytes: inout [UInt8]) {
    bytes.append(UInt8(ascii: "\\"))
    switch byte {
    case 0x22, 0x5C: bytes.append(byte)
    case 0x0A: bytes.append(UInt8(ascii: "n"))
    case 0x0D: bytes.append(UInt8(ascii: "r"))
    case 0x09: bytes.append(UInt8(ascii: "t"))
    default:
      bytes.append(contentsOf: "u00".utf8)
      bytes.append(UInt8(hexDigit: byte >> 4))
      bytes.append(UInt8(hexDigit: byte & 15))
    }
  }
}
