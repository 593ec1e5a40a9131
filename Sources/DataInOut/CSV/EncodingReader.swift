package import Wire

/// Makes UTF-8 of a file as it arrives, whatever it is encoded in.
///
/// Without an encoding that a person has named, a byte order mark decides, or a zero in the first two bytes, which is UTF-16 without
/// one. Else all is ASCII up to the first other byte: if that begins a character of UTF-8, the file is UTF-8, else Windows-1252. So the
/// guess does not depend on how the file is cut on its way.
///
/// What is wrong in UTF-8 and UTF-16 is passed on as bytes that are no UTF-8. So the row that has them is refused, and no other.
package struct EncodingReader {
  private enum State {
    /// Fewer than four bytes have come.
    case unknown
    /// All of it was ASCII.
    case ascii
    case decided
  }

  /// What the file is encoded in, as far as is known. A file of ASCII alone is UTF-8.
  package private(set) var encoding = ImportEncoding.utf8
  private let isNamed: Bool
  private var state = State.unknown
  /// What cannot be decoded before more has come.
  private var rest: [UInt8] = []

  /// - Parameter encoding: what a person says; `nil` to guess.
  package init(_ encoding: ImportEncoding?) {
    isNamed = encoding != nil
    if let encoding { self.encoding = encoding }
  }

  /// Appends what has come, in UTF-8.
  package mutating func read(_ bytes: some Collection<UInt8>, into text: inout [UInt8]) {
    rest.append(contentsOf: bytes)
    if state == .unknown {
      guard rest.count >= 4 else { return }
      begin()
    }
    if state == .ascii { passASCII(into: &text, isLast: false) }
    if state == .decided { decode(into: &text, isLast: false) }
  }

  /// Appends what is left at the end of the file.
  package mutating func finish(into text: inout [UInt8]) {
    if state == .unknown { begin() }
    if state == .ascii { passASCII(into: &text, isLast: true) }
    if state == .decided { decode(into: &text, isLast: true) }
  }

  private mutating func begin() {
    let marks: [(ImportEncoding, [UInt8])] = [
      (.utf8, [0xEF, 0xBB, 0xBF]), (.utf16le, [0xFF, 0xFE]), (.utf16be, [0xFE, 0xFF]),
    ]
    for (marked, mark) in marks where rest.starts(with: mark) && (!isNamed || marked == encoding) {
      rest.removeFirst(mark.count)
      encoding = marked
      return state = .decided
    }
    if isNamed { return state = .decided }
    if rest.count >= 2, rest[0] == 0 || rest[1] == 0, rest[0] != rest[1] {
      encoding = rest[0] == 0 ? .utf16be : .utf16le
      return state = .decided
    }
    state = .ascii
  }

  private mutating func passASCII(into text: inout [UInt8], isLast: Bool) {
    let end = rest.firstIndex { $0 >= 0x80 } ?? rest.count
    text.append(contentsOf: rest[..<end])
    rest.removeSubrange(..<end)
    guard !rest.isEmpty else { return }
    switch Self.isCharacter(rest[...]) {
    case .some(let isUTF8): encoding = isUTF8 ? .utf8 : .windows1252
    case nil where isLast: encoding = .windows1252
    case nil: return
    }
    state = .decided
  }

  /// Whether a character of UTF-8 beyond ASCII begins here; `nil` if more has to come before that is known.
  private static func isCharacter(_ bytes: ArraySlice<UInt8>) -> Bool? {
    let first = bytes[bytes.startIndex]
    let length: Int
    var second: ClosedRange<UInt8> = 0x80...0xBF
    switch first {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF:
      length = 3
      if first == 0xE0 { second = 0xA0...0xBF } else if first == 0xED { second = 0x80...0x9F }
    case 0xF0...0xF4:
      length = 4
      if first == 0xF0 { second = 0x90...0xBF } else if first == 0xF4 { second = 0x80...0x8F }
    default: return false
    }
    for (place, byte) in bytes.dropFirst().prefix(length - 1).enumerated() {
      guard (place == 0 ? second : 0x80...0xBF).contains(byte) else { return false }
    }
    return bytes.count >= length ? true : nil
  }

  private mutating func decode(into text: inout [UInt8], isLast: Bool) {
    switch encoding {
    case .utf8:
      text.append(contentsOf: rest)
      rest.removeAll(keepingCapacity: true)
    case .windows1252:
      for byte in rest {
        if byte < 0x80 { text.append(byte) } else { Self.append(Self.windows1252(byte), to: &text) }
      }
      rest.removeAll(keepingCapacity: true)
    case .utf16le, .utf16be: decodeUTF16(into: &text, isLast: isLast)
    }
  }

  /// No UTF-8 has it.
  private static let invalid: UInt8 = 0xFF

  private mutating func decodeUTF16(into text: inout [UInt8], isLast: Bool) {
    let isBig = encoding == .utf16be
    var at = 0
    func unit(_ at: Int) -> UInt16 {
      isBig ? UInt16(rest[at]) << 8 | UInt16(rest[at + 1]) : UInt16(rest[at + 1]) << 8 | UInt16(rest[at])
    }
    while at + 1 < rest.count {
      let first = unit(at)
      guard UTF16.isLeadSurrogate(first) else {
        if let scalar = Unicode.Scalar(first) { Self.append(scalar, to: &text) } else { text.append(Self.invalid) }
        at += 2
        continue
      }
      guard at + 3 < rest.count else { break }
      let second = unit(at + 2)
      if UTF16.isTrailSurrogate(second) {
        let value = 0x10000 + (UInt32(first & 0x3FF) << 10 | UInt32(second & 0x3FF))
        if let scalar = Unicode.Scalar(value) { Self.append(scalar, to: &text) }
        at += 4
      } else {
        text.append(Self.invalid)
        at += 2
      }
    }
    rest.removeSubrange(..<at)
    // Half a character.
    if isLast, !rest.isEmpty {
      text.append(Self.invalid)
      rest = []
    }
  }

  private static func append(_ scalar: Unicode.Scalar, to text: inout [UInt8]) {
    text.append(contentsOf: UTF8.encode(scalar).unsafelyUnwrapped)
  }

  /// As the WHATWG's standard has it: the five bytes without a character are control characters.
  private static func windows1252(_ byte: UInt8) -> Unicode.Scalar {
    let value = (0x80...0x9F).contains(byte) ? special[Int(byte - 0x80)] : UInt16(byte)
    return Unicode.Scalar(value) ?? "\u{FFFD}"
  }

  /// The characters of the bytes 80 to 9F.
  private static let special: [UInt16] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
  ]
}
