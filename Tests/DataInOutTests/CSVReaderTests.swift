import Testing

@testable import DataInOut

/// A row as a test compares it.
struct ReadRow: Equatable, CustomStringConvertible {
  var line: Int
  var cells: [String]
  var description: String { "\(line): \(cells)" }

  init(_ line: Int, _ cells: String...) { (self.line, self.cells) = (line, cells) }

  init(_ row: CSVRow) { (line, cells) = (row.line, row.texts) }
}

@Suite struct CSVReaderTests {
  /// Reads a file in pieces of so many bytes.
  private func read(_ file: [UInt8], delimiter: UInt8 = UInt8(ascii: ","), piece: Int = .max) throws -> [ReadRow] {
    var reader = CSVReader(delimiter: delimiter)
    var rows: [ReadRow] = []
    var rest = file[...]
    while !rest.isEmpty {
      try reader.read(rest.prefix(piece)) { rows.append(ReadRow($0)) }
      rest = rest.dropFirst(piece)
    }
    try reader.finish { rows.append(ReadRow($0)) }
    return rows
  }

  private static let files: [(String, [ReadRow])] = [
    ("", []),
    ("a", [ReadRow(1, "a")]),
    ("a,b\n1,2\n", [ReadRow(1, "a", "b"), ReadRow(2, "1", "2")]),
    ("a,b\r\n1,2\r\n", [ReadRow(1, "a", "b"), ReadRow(2, "1", "2")]),
    ("a,b\r1,2\r", [ReadRow(1, "a", "b"), ReadRow(2, "1", "2")]),
    ("a,b\n1,2", [ReadRow(1, "a", "b"), ReadRow(2, "1", "2")]),
    ("a\r\n\r\n\nb\n", [ReadRow(1, "a"), ReadRow(4, "b")]),
    (",\n,", [ReadRow(1, "", ""), ReadRow(2, "", "")]),
    ("a,\n", [ReadRow(1, "a", "")]),
    ("a,", [ReadRow(1, "a", "")]),
    ("\"\"\n", [ReadRow(1, "")]),
    ("\"a\",\"b\"\n", [ReadRow(1, "a", "b")]),
    ("\"a,b\"\n", [ReadRow(1, "a,b")]),
    ("\"a\"\"b\"\n", [ReadRow(1, "a\"b")]),
    ("\"\"\"\"\n", [ReadRow(1, "\"")]),
    ("\"\"\"a\"\"\",x\n", [ReadRow(1, "\"a\"", "x")]),
    ("\"a\nb\"\nc\n", [ReadRow(1, "a\nb"), ReadRow(3, "c")]),
    ("\"a\r\nb\r\n\"\r\nc", [ReadRow(1, "a\r\nb\r\n"), ReadRow(4, "c")]),
    ("\"a\rb\"\rc", [ReadRow(1, "a\rb"), ReadRow(3, "c")]),
    ("\"a\"b,c\n", [ReadRow(1, "ab", "c")]),
    ("\"a\"b\"c\",d\n", [ReadRow(1, "ab\"c\"", "d")]),
    ("a\"b\"\"c,d\n", [ReadRow(1, "a\"b\"\"c", "d")]),
    (" \"a\" ,b\n", [ReadRow(1, " \"a\" ", "b")]),
    ("\"a\"\"\n", [ReadRow(1, "a\"\n")]),
    ("ö,\"å\"\"ä\"\n", [ReadRow(1, "ö", "å\"ä")]),
    ("a;b|c\td\n", [ReadRow(1, "a;b|c\td")]),
  ]

  @Test func `Files are read as they are meant`() throws {
    for (file, rows) in Self.files { #expect(try read(Array(file.utf8)) == rows, "\(file.debugDescription)") }
  }

  @Test func `Rows do not depend on how the file is cut on its way`() throws {
    for (file, rows) in Self.files {
      for piece in 1...5 { #expect(try read(Array(file.utf8), piece: piece) == rows, "\(file.debugDescription)") }
    }
    // All of them, one behind the other, cut at every byte.
    let whole = Array(Self.files.filter { !$0.0.isEmpty && $0.0 != "\"a\"\"\n" }.map { $0.0 + "\n" }.joined().utf8)
    let rows = try read(whole)
    for cut in 0...whole.count {
      var reader = CSVReader(delimiter: UInt8(ascii: ","))
      var found: [ReadRow] = []
      try reader.read(whole[..<cut]) { found.append(ReadRow($0)) }
      try reader.read(whole[cut...]) { found.append(ReadRow($0)) }
      try reader.finish { found.append(ReadRow($0)) }
      #expect(found == rows, "cut at \(cut)")
    }
  }

  @Test func `A row is shown as it was in the file`() throws {
    var reader = CSVReader(delimiter: UInt8(ascii: ";"))
    var raw: [String] = []
    try reader.read(Array("a;\"b\"\"\r\nc\"\r\nd;e\n".utf8)) { raw.append(String(decoding: $0.raw, as: UTF8.self)) }
    #expect(raw == ["a;\"b\"\"\r\nc\"", "d;e"])
  }

  @Test func `A quote that is never closed is told at the end of the file`() throws {
    var reader = CSVReader(delimiter: UInt8(ascii: ","))
    var isUnclosed: [Bool] = []
    try reader.read(Array("a\n\"b\nc\n".utf8)) { isUnclosed.append($0.isUnclosed) }
    try reader.finish { isUnclosed.append($0.isUnclosed) }
    #expect(isUnclosed == [false, true])
  }

  @Test func `A row that is too long ends the reading, and names its line`() {
    #expect(throws: CSVProblem.rowTooLong(line: 2)) {
      _ = try read(
        Array("a\n\"".utf8) + [UInt8](repeating: UInt8(ascii: "\n"), count: CSVReader.largestRow), piece: 4096)
    }
    // A megabyte of quotes is one cell of half as many.
    #expect(throws: CSVProblem.rowTooLong(line: 1)) {
      _ = try read([UInt8](repeating: UInt8(ascii: "\""), count: 1 << 20), piece: 65_536)
    }
  }

  @Test func `The longest row is read`() throws {
    let row = [UInt8](repeating: UInt8(ascii: "a"), count: CSVReader.largestRow)
    let rows = try read(row + Array("\nb".utf8), piece: 1000)
    #expect(rows.map(\.cells[0].utf8.count) == [CSVReader.largestRow, 1])
  }

  @Test(arguments: [
    ("a,b\n1,2\n", ","), ("a;b\n1,5;2,5\n3,5;4,5\n", ";"), ("a\tb\n1\t2\n", "\t"), ("a|b\n1|2\n", "|"),
    ("a\n1\n", ","), ("", ","), ("\"a,b\";\"c\"\n1;2\n", ";"), ("a;b,c\n1;2\n3;4\n5;6\n", ";"),
    ("a;b;c", ";"), ("name;note\nx;a, b, c\ny;d, e\n", ";"),
  ])
  func `The delimiter is found by the first rows`(file: String, delimiter: String) {
    #expect(String(decoding: [DelimiterGuess.delimiter(of: Array(file.utf8))], as: UTF8.self) == delimiter)
  }

  @Test(
    arguments: [
      ("sep=;\r\na;b", 7), ("sep=;\na;b", 6), ("sep=;\ra;b", 6), ("sep=;", 5), ("sep=\t\na", 6), ("sep=;;\na", nil),
      ("sep;a\n", nil), ("sep=\"\n", nil), ("Sep=;\n", nil),
    ] as [(String, Int?)])
  func `Excel's own line names the delimiter`(file: String, length: Int?) {
    #expect(DelimiterGuess.named(in: Array(file.utf8))?.length == length)
  }
}
