import Testing
import Wire

@testable import DataInOut

@Suite struct EncodingReaderTests {
  private func read(
    _ bytes: [UInt8], _ named: ImportEncoding? = nil, piece: Int = .max
  ) -> (text: [UInt8], encoding: ImportEncoding) {
    var reader = EncodingReader(named)
    var text: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.read(rest.prefix(piece), into: &text)
      rest = rest.dropFirst(piece)
    }
    reader.finish(into: &text)
    return (text, reader.encoding)
  }

  private static func utf16(_ text: String, isBig: Bool) -> [UInt8] {
    text.utf16.flatMap { isBig ? [UInt8($0 >> 8), UInt8($0 & 0xFF)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
  }

  private static let sample = "id,name\n1,Åsa 🙂\n"

  private static let files: [(String, [UInt8], String, ImportEncoding)] = [
    ("nothing", [], "", .utf8),
    ("ASCII", Array("a,b".utf8), "a,b", .utf8),
    ("a short file", Array("ab".utf8), "ab", .utf8),
    ("UTF-8", Array(sample.utf8), sample, .utf8),
    ("UTF-8 with a mark", [0xEF, 0xBB, 0xBF] + Array(sample.utf8), sample, .utf8),
    ("UTF-16 with a mark", [0xFF, 0xFE] + utf16(sample, isBig: false), sample, .utf16le),
    ("UTF-16 the other way with a mark", [0xFE, 0xFF] + utf16(sample, isBig: true), sample, .utf16be),
    ("UTF-16 without a mark", utf16(sample, isBig: false), sample, .utf16le),
    ("UTF-16 the other way without a mark", utf16(sample, isBig: true), sample, .utf16be),
    ("Windows-1252", [0x61, 0x2C, 0xC5, 0x73, 0x61, 0x80, 0x93], "a,Åsa€“", .windows1252),
    ("Windows-1252 at the end", Array("abc,".utf8) + [0xC3], "abc,Ã", .windows1252),
  ]

  @Test func `A file's encoding is guessed, however it is cut on its way`() {
    for (name, bytes, text, encoding) in Self.files {
      for piece in [1, 2, 3, 4, 5, 7, .max] {
        let found = read(bytes, piece: piece)
        #expect(String(decoding: found.text, as: UTF8.self) == text, "\(name) in pieces of \(piece)")
        #expect(found.encoding == encoding, "\(name) in pieces of \(piece)")
      }
    }
  }

  @Test func `A person's word counts more than the bytes`() {
    #expect(String(decoding: read(Array("å".utf8), .windows1252).text, as: UTF8.self) == "Ã¥")
    #expect(read(Array("a,b\n".utf8), .utf16le).encoding == .utf16le)
  }

  @Test func `What is wrong becomes bytes that are no UTF-8, and nothing else does`() {
    // Half a surrogate pair, and half a character at the end.
    let wrong = read([0xFF, 0xFE, 0x61, 0x00, 0x00, 0xD8, 0x62, 0x00, 0x63]).text
    #expect(wrong == [0x61, 0xFF, 0x62, 0xFF])
    #expect(read([0xC3, 0xA5, 0x2C, 0xE5]).text == [0xC3, 0xA5, 0x2C, 0xE5])
  }
}

@Suite struct GunzipTests {
  /// `originalId,firstName`, `1,Lars` and `2,Mia`, packed.
  static let packed: [UInt8] = [
    0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xCB, 0x2F, 0xCA, 0x4C, 0xCF, 0xCC, 0x4B, 0xCC, 0xF1,
    0x4C, 0xD1, 0x49, 0xCB, 0x2C, 0x2A, 0x2E, 0xF1, 0x4B, 0xCC, 0x4D, 0xE5, 0xE5, 0x32, 0xD4, 0xF1, 0x49, 0x2C, 0x2A,
    0xE6, 0xE5, 0x32, 0xD2, 0xF1, 0xCD, 0x4C, 0xE4, 0xE5, 0x02, 0x00, 0x2E, 0x26, 0x6C, 0x07, 0x25, 0x00, 0x00, 0x00,
  ]

  static let text = "originalId,firstName\r\n1,Lars\r\n2,Mia\r\n"

  private func unpack(_ bytes: [UInt8], piece: Int = .max) throws -> [UInt8] {
    let gunzip = try Gunzip()
    var text: [UInt8] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      gunzip.add(Array(rest.prefix(piece)))
      while let next = try gunzip.next() { text += next }
      rest = rest.dropFirst(piece)
    }
    try gunzip.finish()
    return text
  }

  @Test func `A packed file is unpacked, however it is cut on its way`() throws {
    for piece in [1, 2, 7, .max] { #expect(try unpack(Self.packed, piece: piece) == Array(Self.text.utf8)) }
  }

  @Test func `A file may have several members, and zeros behind them`() throws {
    let twice = Array((Self.text + Self.text).utf8)
    #expect(try unpack(Self.packed + Self.packed) == twice)
    #expect(try unpack(Self.packed + Self.packed + [0, 0, 0], piece: 5) == twice)
  }

  @Test func `A file that breaks off is told from one that is damaged`() {
    #expect(throws: GunzipProblem.brokenOff) { try unpack(Self.packed.dropLast(4)) }
    #expect(throws: GunzipProblem.brokenOff) { try unpack([0x1F, 0x8B]) }
    var damaged = Self.packed
    damaged[20] ^= 0xFF
    #expect(throws: GunzipProblem.self) { try unpack(damaged) }
    #expect(throws: GunzipProblem.damaged) { try unpack(Self.packed + [1, 2, 3]) }
  }

  @Test func `A small file that unpacks to a megabyte comes in pieces`() throws {
    let gunzip = try Gunzip()
    gunzip.add(Self.packedMegabyte)
    var sizes: [Int] = []
    while let piece = try gunzip.next() { sizes.append(piece.count) }
    try gunzip.finish()
    #expect(sizes.reduce(0, +) == 1 << 20)
    #expect(sizes.allSatisfy { $0 <= 65_536 })
  }

  /// A megabyte of the letter a, packed.
  static let packedMegabyte: [UInt8] =
    [
      0x1F, 0x8B, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03, 0xED, 0xC1, 0x31, 0x01, 0x00, 0x00, 0x00, 0xC2, 0xA0,
      0xAC, 0xEB, 0x5F, 0xC2, 0x10, 0xBE, 0x40, 0x01,
    ] + [UInt8](repeating: 0, count: 1015) + [
      0x7C, 0x06, 0x72, 0x56, 0xCD, 0xD7, 0x00, 0x00, 0x10, 0x00,
    ]
}
