/// JSON strings as UTF-8, quotation marks included.
enum JSONText {
  /// The text as a JSON string.
  static func quoted(_ text: some Collection<UInt8>) -> [UInt8] {
    var json: [UInt8] = []
    json.reserveCapacity(text.count + 2)
    json.append(UInt8(ascii: "\""))
    for byte in text {
      switch byte {
      case UInt8(ascii: "\""), UInt8(ascii: "\\"):
        json.append(UInt8(ascii: "\\"))
        json.append(byte)
      case 0..<0x20:
        json.append(contentsOf: "\\u00".utf8)
        json.append(digit(byte >> 4))
        json.append(digit(byte & 15))
      default: json.append(byte)
      }
    }
    json.append(UInt8(ascii: "\""))
    return json
  }

  /// How many bytes of UTF-8 a JSON string stands for; of other JSON, its own length.
  static func length(_ json: [UInt8]) -> Int {
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

  private static func digit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}
