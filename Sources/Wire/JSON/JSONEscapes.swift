/// The backslash escapes of JSON strings (RFC 8259, section 7).
enum JSONEscapes {
  /// - Parameter raw: a part of the document, so that its indices are places there.
  /// - Throws: for an unknown escape, and, unless allowed, U+0000 and half a surrogate pair, in whose place U+FFFD is put.
  static func decode(
    _ raw: Slice<UnsafeBufferPointer<UInt8>>, allowsNull: Bool = false, replacesHalfPairs: Bool = false
  ) throws(JSONProblem) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(raw.count)
    var position = raw.startIndex
    while position < raw.endIndex {
      let byte = raw[position]
      position += 1
      guard byte == UInt8(ascii: "\\") else {
        text.append(byte)
        continue
      }
      guard position < raw.endIndex else { throw .malformed(at: position) }
      let escape = raw[position]
      position += 1
      if escape == UInt8(ascii: "u") {
        guard let scalar = try scalar(raw, &position) ?? (replacesHalfPairs ? "\u{FFFD}" : nil) else {
          throw JSONProblem("holds half a surrogate pair")
        }
        guard scalar.value != 0 || allowsNull else { throw JSONProblem("must not hold U+0000") }
        text.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
      } else if let plain = plain(escape) {
        text.append(plain)
      } else {
        throw .malformed(at: position - 1)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  private static func plain(_ escape: UInt8) -> UInt8? {
    switch escape {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): escape
    case UInt8(ascii: "b"): 0x08
    case UInt8(ascii: "f"): 0x0C
    case UInt8(ascii: "n"): 0x0A
    case UInt8(ascii: "r"): 0x0D
    case UInt8(ascii: "t"): 0x09
    default: nil
    }
  }

  /// - Returns: nil for half a surrogate pair. What follows it is read by itself.
  private static func scalar(
    _ raw: Slice<UnsafeBufferPointer<UInt8>>, _ position: inout Int
  ) throws(JSONProblem) -> Unicode.Scalar? {
    let first = try unit(raw, &position)
    guard first & 0xF800 == 0xD800 else { return Unicode.Scalar(first) }
    guard first < 0xDC00, position + 1 < raw.endIndex, raw[position] == UInt8(ascii: "\\"),
      raw[position + 1] == UInt8(ascii: "u")
    else { return nil }
    var next = position + 2
    let second = try unit(raw, &next)
    guard second & 0xFC00 == 0xDC00 else { return nil }
    position = next
    return Unicode.Scalar(0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF)))
  }

  private static func unit(
    _ raw: Slice<UnsafeBufferPointer<UInt8>>, _ position: inout Int
  ) throws(JSONProblem) -> UInt16 {
    guard position + 4 <= raw.endIndex else { throw .malformed(at: position) }
    var value: UInt16 = 0
    for byte in raw[position..<position + 4] {
      guard let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw .malformed(at: position)
      }
      value = value << 4 | UInt16(digit)
    }
    position += 4
    return value
  }
}
