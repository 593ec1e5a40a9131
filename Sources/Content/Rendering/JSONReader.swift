/// Reads JSON that PostgreSQL has stored, one value where it is asked for and skipping the rest.
///
/// Written out because a page needs one or two of a contact's properties: this finds them in a fraction of the time that
/// decoding all of them takes, and keeps numbers as they were written. What is not JSON reads as nothing.
struct JSONReader {
  private let bytes: UnsafeBufferPointer<UInt8>
  private var at = 0

  /// Values nested deeper than this read as nothing.
  private static let depthLimit = 16

  /// - Parameter bytes: must outlive the reader.
  init(_ bytes: UnsafeBufferPointer<UInt8>) { self.bytes = bytes }

  /// The member of that name of the object that comes next.
  mutating func member(_ name: String) -> PropertyValue? {
    guard take("{"), !take("}") else { return nil }
    repeat {
      guard let key = string(), take(":") else { return nil }
      guard key != name else { return value(Self.depthLimit) }
      guard value(Self.depthLimit) != nil else { return nil }
    } while take(",")
    return nil
  }

  private mutating func value(_ depth: Int) -> PropertyValue? {
    guard depth > 0, let first = peek() else { return nil }
    switch first {
    case UInt8(ascii: "\""): return string().map(PropertyValue.text)
    case UInt8(ascii: "{"): return object(depth - 1)
    case UInt8(ascii: "["): return list(depth - 1)
    case UInt8(ascii: "t"): return word("true") ? .bool(true) : nil
    case UInt8(ascii: "f"): return word("false") ? .bool(false) : nil
    case UInt8(ascii: "n"): return word("null") ? .null : nil
    default: return number()
    }
  }

  private mutating func object(_ depth: Int) -> PropertyValue? {
    var members: [String: PropertyValue] = [:]
    guard take("{") else { return nil }
    guard !take("}") else { return .object(members) }
    repeat {
      guard let key = string(), take(":"), let value = value(depth) else { return nil }
      members[key] = value
    } while take(",")
    return take("}") ? .object(members) : nil
  }

  private mutating func list(_ depth: Int) -> PropertyValue? {
    var values: [PropertyValue] = []
    guard take("[") else { return nil }
    guard !take("]") else { return .list(values) }
    repeat {
      guard let value = value(depth) else { return nil }
      values.append(value)
    } while take(",")
    return take("]") ? .list(values) : nil
  }

  private mutating func number() -> PropertyValue? {
    let start = at
    while at < bytes.count, "+-.0123456789eE".utf8.contains(bytes[at]) { at += 1 }
    return at > start ? .number(text(start..<at)) : nil
  }

  private mutating func string() -> String? {
    guard take("\"") else { return nil }
    let start = at
    while at < bytes.count {
      switch bytes[at] {
      case UInt8(ascii: "\""):
        at += 1
        return text(start..<(at - 1))
      case UInt8(ascii: "\\"): return escapedString(from: start)
      default: at += 1
      }
    }
    return nil
  }

  /// The rest of a string that holds escapes.
  private mutating func escapedString(from start: Int) -> String? {
    var units = Array(bytes[start..<at])
    while at < bytes.count {
      let byte = bytes[at]
      at += 1
      if byte == UInt8(ascii: "\"") { return String(decoding: units, as: UTF8.self) }
      guard byte == UInt8(ascii: "\\") else {
        units.append(byte)
        continue
      }
      guard let scalar = escape() else { return nil }
      units.append(contentsOf: String(scalar).utf8)
    }
    return nil
  }

  /// What follows a backslash.
  private mutating func escape() -> Unicode.Scalar? {
    guard at < bytes.count else { return nil }
    let byte = bytes[at]
    at += 1
    switch byte {
    case UInt8(ascii: "n"): return "\n"
    case UInt8(ascii: "t"): return "\t"
    case UInt8(ascii: "r"): return "\r"
    case UInt8(ascii: "b"): return "\u{8}"
    case UInt8(ascii: "f"): return "\u{C}"
    case UInt8(ascii: "u"): return codeUnits()
    default: return Unicode.Scalar(byte)
    }
  }

  /// Four hex digits, or twice four for a scalar beyond U+FFFF. Half of such a pair becomes U+FFFD.
  private mutating func codeUnits() -> Unicode.Scalar? {
    guard let first = hexDigits() else { return nil }
    guard UTF16.isLeadSurrogate(first) else { return Unicode.Scalar(first) ?? "\u{FFFD}" }
    let mark = at
    guard at + 1 < bytes.count, bytes[at] == UInt8(ascii: "\\"), bytes[at + 1] == UInt8(ascii: "u") else {
      return "\u{FFFD}"
    }
    at += 2
    guard let second = hexDigits(), UTF16.isTrailSurrogate(second) else {
      at = mark
      return "\u{FFFD}"
    }
    return Unicode.Scalar(0x10000 + (UInt32(first) - 0xD800) << 10 + (UInt32(second) - 0xDC00))
  }

  private mutating func hexDigits() -> UInt16? {
    guard at + 4 <= bytes.count else { return nil }
    defer { at += 4 }
    return UInt16(text(at..<(at + 4)), radix: 16)
  }

  private mutating func word(_ word: StaticString) -> Bool {
    guard at + word.utf8CodeUnitCount <= bytes.count else { return false }
    defer { at += word.utf8CodeUnitCount }
    return word.withUTF8Buffer { $0.elementsEqual(bytes[at..<(at + $0.count)]) }
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The next byte that is no blank.
  private mutating func peek() -> UInt8? {
    while at < bytes.count, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
    return at < bytes.count ? bytes[at] : nil
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard peek() == UInt8(ascii: character) else { return false }
    at += 1
    return true
  }
}
