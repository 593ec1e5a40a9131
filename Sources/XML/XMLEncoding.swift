import Wire

/// The encodings in which documents may come. Whatever they are, libxml2 gets UTF-8.
enum XMLEncoding {
  /// For sentences.
  static let known = "UTF-8, UTF-16, ISO-8859-1 and windows-1252"

  /// The document in UTF-8, without a byte order mark.
  ///
  /// A byte order mark decides, then whether every other byte is zero, then the declaration (XML 1.0, appendix F). A declaration that
  /// can be read is not in UTF-16, whatever it says: .NET declares that of text that it sends in UTF-8.
  /// - Throws: `ParsedXML.Failure` for other encodings, and for bytes that are not in the document's own.
  static func utf8(_ bytes: [UInt8]) throws(ParsedXML.Failure) -> ArraySlice<UInt8> {
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { return try checked(bytes.dropFirst(3)) }
    let beginning = Array(bytes.prefix(4))
    guard ![[0xFF, 0xFE, 0, 0], [0, 0, 0xFE, 0xFF]].contains(beginning) else { throw other("UTF-32") }
    if beginning.starts(with: [0xFE, 0xFF]) { return try utf16(bytes.dropFirst(2), isBig: true) }
    if beginning.starts(with: [0xFF, 0xFE]) { return try utf16(bytes.dropFirst(2), isBig: false) }
    if beginning.count >= 2, (beginning[0] == 0) != (beginning[1] == 0) {
      return try utf16(bytes[...], isBig: beginning[0] == 0)
    }
    guard let declared = declaredEncoding(bytes) else { return try checked(bytes[...]) }
    switch declared.lowercasedASCII {
    case "utf-8", "utf8", "us-ascii", "ascii", "utf-16", "utf-16le", "utf-16be", "utf16", "unicode",
      "iso-10646-ucs-2", "ucs-2":
      return try checked(bytes[...])
    case "iso-8859-1", "iso8859-1", "iso_8859-1", "latin1", "latin-1", "l1", "windows-1252", "cp1252", "cp-1252":
      return try windows1252(bytes)
    default: throw other(declared)
    }
  }

  private static func other(_ name: String) -> ParsedXML.Failure {
    ParsedXML.Failure(problem: "is in \(name), and \(known) are read")
  }

  /// libxml2 would take bytes with NUL for another encoding.
  private static func checked(_ bytes: ArraySlice<UInt8>) throws(ParsedXML.Failure) -> ArraySlice<UInt8> {
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else {
      throw ParsedXML.Failure(problem: "is not in UTF-8, and declares no other encoding of \(known)")
    }
    return bytes
  }

  /// The name in `encoding="…"` of the declaration, of at most 40 characters of ASCII; nil without one.
  private static func declaredEncoding(_ bytes: [UInt8]) -> String? {
    let start = bytes.prefix { $0 <= 0x20 }.count
    guard bytes[start...].starts(with: "<?xml".utf8) else { return nil }
    let declaration = bytes[start...].prefix(200).prefix { $0 != UInt8(ascii: ">") }
    guard declaration.allSatisfy({ $0 < 0x80 }),
      let match = String(decoding: declaration, as: UTF8.self)
        .firstMatch(
          of: #/\sencoding\s*=\s*(?:"([A-Za-z0-9._:\-]{1,40})"|'([A-Za-z0-9._:\-]{1,40})')/#.asciiOnlyWhitespace())
    else { return nil }
    return (match.1 ?? match.2).map(String.init)
  }

  /// Half a surrogate pair becomes U+FFFD: clients cut texts between the two.
  private static func utf16(_ bytes: ArraySlice<UInt8>, isBig: Bool) throws(ParsedXML.Failure) -> ArraySlice<UInt8> {
    guard bytes.count.isMultiple(of: 2) else { throw ParsedXML.Failure(problem: "is not in UTF-16: a byte is missing") }
    let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).map { index -> UInt16 in
      let (first, second) = (UInt16(bytes[index]), UInt16(bytes[index + 1]))
      return isBig ? first << 8 | second : second << 8 | first
    }
    guard !units.contains(0) else { throw ParsedXML.Failure(problem: "holds U+0000") }
    return Array(String(decoding: units, as: UTF16.self).utf8)[...]
  }

  /// ISO-8859-1 is read so too, as browsers do: the 32 characters in which both differ are controls there, which nobody means.
  private static func windows1252(_ bytes: [UInt8]) throws(ParsedXML.Failure) -> ArraySlice<UInt8> {
    guard !bytes.contains(0) else { throw ParsedXML.Failure(problem: "holds U+0000") }
    var text: [UInt8] = []
    text.reserveCapacity(bytes.count + bytes.count / 8)
    for byte in bytes {
      if byte < 0x80 {
        text.append(byte)
      } else {
        let scalar = (0x80..<0xA0).contains(byte) ? upperControls[Int(byte) - 0x80] : UInt16(byte)
        text.append(contentsOf: UTF8.encode(Unicode.Scalar(scalar) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter)
      }
    }
    return text[...]
  }

  /// What windows-1252 has at 0x80 to 0x9F (WHATWG, "Encoding"). Five of them stay controls.
  private static let upperControls: [UInt16] = [
    0x20AC, 0x81, 0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160, 0x2039, 0x0152, 0x8D, 0x017D,
    0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0x9D,
    0x017E, 0x0178,
  ]
}
