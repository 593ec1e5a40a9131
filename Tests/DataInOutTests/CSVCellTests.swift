import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

/// Cells of CSV: what the hub writes, what PostgreSQL writes, and what is read back.
@Suite struct CSVCellTests {
  /// Texts, and what stands in their cells.
  private static let table: [(text: String, cell: String)] = [
    ("", ""), ("Lars", "Lars"), ("=1+1", "'=1+1"), ("+46701234567", "'+46701234567"), ("-1", "'-1"),
    ("@home", "'@home"),
    ("\t=1", "'\t=1"), ("\r=1", "'\r=1"), ("\tx", "'\tx"), ("\rx", "'\rx"), ("'=1", "''=1"), ("''=1", "'''=1"),
    ("'\tx", "''\tx"), ("'", "'"), ("''", "''"), ("'quoted'", "'quoted'"), ("' =1", "' =1"), (" =1", " =1"),
    ("a=b", "a=b"), ("a\n=1", "a\n=1"), ("\n=1", "\n=1"), ("=", "'="), ("-", "'-"), ("Å=", "Å="), ("=Å", "'=Å"),
    ("=\"a\",b", "'=\"a\",b"), ("a;b", "a;b"), ("a;=1+1", "a;=1+1"), ("=a;=1+1", "'=a;=1+1"), ("a\t=1+1", "a\t=1+1"),
    (";", ";"),
    ("\";=1+1;\"", "\";=1+1;\""), ("＝1", "＝1"),
  ]

  /// A cell as it is read from a file, with its apostrophe.
  private static func written(_ text: String) throws -> String {
    var file: [UInt8] = []
    CSVCell.append(text, to: &file)
    var cells: [String] = []
    var reader = CSVReader(delimiter: UInt8(ascii: ","))
    // Another cell, as a line without anything is passed over.
    try reader.read(file + Array(",x\n".utf8)) { cells.append($0.texts[0]) }
    return try #require(cells.first)
  }

  private static func exact(_ cell: String) -> String {
    Array(cell.utf8).withUnsafeBufferPointer { String(decoding: CSVCell.exact($0), as: UTF8.self) }
  }

  @Test func `An apostrophe stands before what could be a formula, and is taken off again`() throws {
    for (text, cell) in Self.table {
      #expect(try Self.written(text).utf8.elementsEqual(cell.utf8), "\(text.debugDescription)")
      #expect(Self.exact(cell).utf8.elementsEqual(text.utf8), "\(text.debugDescription)")
    }
  }

  @Test func `PostgreSQL writes cells of reports by the same rule`() async throws {
    try await withDatabase { database in
      for (text, cell) in Self.table {
        let row = try await database.query("SELECT report.cell($1::text), report.exact($2::text)", text, cell)[0]
        let (written, exact) = try row.decode(String.self, String.self)
        #expect(written.utf8.elementsEqual(cell.utf8), "\(text.debugDescription)")
        #expect(exact.utf8.elementsEqual(text.utf8), "\(text.debugDescription)")
      }
      let none = try await database.query("SELECT report.cell(NULL) IS NULL AND report.exact(NULL) IS NULL")[0]
      #expect(try none.decode(Bool.self))
    }
  }

  @Test func `Cells of a row that PostgreSQL has copied get the same apostrophes, and others none`() async throws {
    try await withDatabase { database in
      for (text, cell) in Self.table where !text.utf8.isEmpty {
        let row = try await database.pool.transaction { transaction in
          _ = try await transaction.query(
            sql: "SELECT set_config('pushcart.literals', array[$1::text]::text, true)", text)
          var copied: [UInt8] = []
          try await transaction.copyOut(
            "COPY (SELECT t, t, t FROM (SELECT (current_setting('pushcart.literals')::text[])[1] AS t) AS one) TO STDOUT (FORMAT csv)"
          ) { copied += $0 }
          return copied
        }
        var line: [UInt8] = []
        CSVCell.append(cells: row[...], isGuarded: [true, false], to: &line)
        var reader = CSVReader(delimiter: UInt8(ascii: ","), line: 1)
        var cells: [[UInt8]] = []
        try reader.read(line) { cells += $0.texts.map { Array($0.utf8) } }
        try reader.finish { cells += $0.texts.map { Array($0.utf8) } }
        #expect(cells == [Array(cell.utf8), Array(text.utf8), Array(text.utf8)], "\(text.debugDescription)")
      }
    }
  }

  @Test(arguments: [
    ("a,b,c\n", "a,b,c\n"), ("a;=1+1,x\n", "\"a;=1+1\",x\n"), ("x,a\t=1,y\n", "x,\"a\t=1\",y\n"),
    ("=1;2,b;c\n", "\"'=1;2\",\"b;c\"\n"),
    ("\"a,;b\",;\n", "\"a,;b\",\";\"\n"), ("\"=a\"\"b\",,\n", "\"'=a\"\"b\",,\n"), (",-1,\n", ",'-1,\n"),
    ("\"\",=\n", "\"\",'=\n"),
    ("\"a\n=1\",b", "\"a\n=1\",b"), ("a,b,c,=d;e\n", "a,b,c,=d;e\n"), ("\n", "\n"), ("", ""),
  ])
  func `Cells that other programs would split stand in quotes`(copied: String, written: String) {
    var line: [UInt8] = []
    CSVCell.append(cells: Array(copied.utf8)[...], isGuarded: [true, true, true], to: &line)
    #expect(String(decoding: line, as: UTF8.self) == written)
    line = []
    CSVCell.append(cells: Array(copied.utf8)[...], isGuarded: [false, false], to: &line)
    #expect(String(decoding: line, as: UTF8.self) == copied)
  }

  @Test func `What is written into a file is imported as the same texts`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      var file = Array("originalId,firstName\n".utf8)
      for (place, row) in Self.table.enumerated() {
        file += Array("\(place),".utf8)
        CSVCell.append(row.text, to: &file)
        file += Array("\n".utf8)
      }
      let sent = try await bench.send(file, ImportRequest(delimiter: ","))
      #expect(Counts(try await bench.finish(sent.importId)) == Counts(added: Self.table.count))
      let names = try await database.query(
        "SELECT coalesce(first_name, '') FROM contact WHERE customer_id = $1 ORDER BY original_id::int",
        bench.customer.rawValue
      ).map { try $0.decode(String.self) }
      #expect(names.map { Array($0.utf8) } == Self.table.map { Array($0.text.utf8) })
    }
  }
}
