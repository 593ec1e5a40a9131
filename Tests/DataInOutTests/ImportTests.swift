import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct ImportTests {
  @Test func `Rows become contacts, and a second file changes what differs`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let first = try await bench.run("originalId,first name,E-mail\r\na,Lars,lars@example.com\r\nb,Mia,\r\n")
      #expect(first.state == .finished)
      #expect(Counts(first) == Counts(added: 2))
      #expect(first.rows == 2)
      #expect(first.percent == 100)
      #expect(first.delimiter == ",")
      #expect(first.encoding == .utf8)
      #expect(first.sample == [["a", "Lars", "lars@example.com"], ["b", "Mia", ""]])
      #expect(first.columns?.targets["E-mail"] == .some("emailAddress"))
      let second = try await bench.run("originalId;firstName\na;Lars\nb;Maja\nc;Åsa\n")
      #expect(Counts(second) == Counts(added: 1, updated: 1, unchanged: 1))
      #expect(try await bench.contacts() == ["a Lars", "b Maja", "c Åsa"])
    }
  }

  @Test func `Blank cells leave what is known, and clear it only if the customer says so`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.run("originalId,firstName,city,dateOfBirth,properties.food\na,Lars,Lund,1980-02-29,meat\n")
      let kept = try await bench.run("originalId,firstName,city,dateOfBirth,properties.food\na,,,,\n")
      #expect(Counts(kept) == Counts(unchanged: 1))
      let cleared = try await bench.run(
        "originalId,firstName,city,dateOfBirth,properties.food\na,,,,\n", ImportRequest(emptyClears: true))
      #expect(Counts(cleared) == Counts(updated: 1))
      let row = try await database.query(
        "SELECT first_name, city, date_of_birth, properties::text FROM contact WHERE customer_id = $1",
        bench.customer.rawValue)[0]
      let (name, city, day, properties) = try row.decode(String?.self, String?.self, CalendarDate?.self, String.self)
      #expect(name == nil)
      #expect(city == nil)
      #expect(day == nil)
      #expect(properties == "{}")
    }
  }

  @Test func `Cells have the types of their columns`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.run(
        "Kundnr;Född;Belopp;Postnr;Intern\n1;31.12.1980;1.234,50;00123;x\n2;1.2.81;abc;5;\n",
        ImportRequest(
          columns: ImportColumns([
            "Kundnr": "originalId", "Född": "dateOfBirth", "Belopp": "properties.amount", "Postnr": "properties.zip",
            "Intern": nil,
          ]), dateFormat: "DD.MM.YYYY", decimalComma: true))
      #expect(Counts(reply) == Counts(added: 1, rejected: 1))
      #expect(
        try await bench.rejects(reply.importId)
          == "line,column,problem,row\r\n3,Född,is no date of the form DD.MM.YYYY,\"2;1.2.81;abc;5;\"\r\n")
      let row = try await database.query("SELECT date_of_birth::text, properties::text FROM contact")[0]
      let (day, properties) = try row.decode(String.self, String.self)
      #expect(day == "1980-12-31")
      #expect(properties == #"{"amount":1234.50,"zip":"00123"}"#)
    }
  }

  @Test func `A text that says what a number or a boolean says leaves it as it is`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await database.query(
        """
        INSERT INTO contact (customer_id, original_id, properties)
        VALUES ($1, 'a', '{"points":-1.50,"text":"7","vip":true}'), ($1, 'b', '{"points":2,"vip":false}')
        """, bench.customer.rawValue)
      let headings = "originalId,properties.points,properties.text,properties.vip\n"
      #expect(Counts(try await bench.run(headings + "a,'-1.50,7,true\n")) == Counts(unchanged: 1))
      let changed = try await bench.run(headings + "a,-1.5,7,false\nb,2,,false\nc,3,,true\n")
      #expect(Counts(changed) == Counts(added: 1, updated: 1, unchanged: 1))
      let rows = try await database.query("SELECT properties::text FROM contact ORDER BY original_id")
      #expect(
        try rows.map { try $0.decode(String.self) } == [
          #"{"points":"-1.5","text":"7","vip":"false"}"#, #"{"points":2,"vip":false}"#,
          #"{"points":"3","vip":"true"}"#,
        ])
    }
  }

  @Test func `A row that is wrong is rejected by itself, with its first physical line`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let long = String(repeating: "x", count: 256)
      let file =
        "originalId,firstName,language\n\"a\",\"Lars\nErik\",sv\n,Mia,\nc,\(long),\nd,Eva,,extra\n=e,\"-1\",Svenska?\nf\n"
      let reply = try await bench.run(file)
      #expect(Counts(reply) == Counts(added: 2, rejected: 4))
      #expect(
        try await bench.rejects(reply.importId)
          == """
          line,column,problem,row\r
          4,originalId,is empty,",Mia,"\r
          5,firstName,is longer than 255 characters,"c,\(long),"\r
          6,,"has 4 cells, and the file has 3 columns","d,Eva,,extra"\r
          7,language,"must be a language tag of BCP 47, such as sv or pt-BR","'=e,""-1"",Svenska?"\r

          """)
      #expect(try await bench.contacts() == ["a Lars\nErik", "f"])
    }
  }

  @Test func `A file of another encoding is read, and one that is wrong in it is rejected row by row`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let latin = Array("originalId;firstName\n1;".utf8) + [0xC5] + Array("sa\n".utf8)
      let reply = try await bench.finish(try await bench.send(latin).importId)
      #expect(reply.encoding == .windows1252)
      #expect(try await bench.contacts() == ["1 Åsa"])
      let mixed = Array("originalId;firstName\n2;Åsa\n3;".utf8) + [0xC5] + Array("sa\n4;a\0b\n".utf8)
      let second = try await bench.finish(try await bench.send(mixed).importId)
      #expect(Counts(second) == Counts(added: 1, rejected: 2))
      #expect(
        try await bench.rejects(second.importId)
          == """
          line,column,problem,row\r
          3,,has bytes that are no text in the file's encoding: name another one in encoding,"3;\u{FFFD}sa"\r
          4,,holds U+0000,"4;a\u{FFFD}b"\r

          """)
    }
  }

  @Test func `A long run of combining marks in a row rejects it, and in a heading the file`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let (few, many) = (String(repeating: "\u{301}", count: 30), String(repeating: "\u{301}", count: 31))
      let reply = try await bench.run("originalId,firstName\na,e\(few)\nb,e\(many)\n")
      #expect(Counts(reply) == Counts(added: 1, rejected: 1))
      let rejects = try await bench.rejects(reply.importId)
      #expect(rejects.contains("3,,has more than 30 combining marks in a row,"), "\(rejects)")
      let failed = try await bench.run("originalId,properties.e\(many)\na,x\n")
      #expect(failed.state == .failed)
      #expect(failed.error == "The heading of column 2 has more than 30 combining marks in a row.")
    }
  }

  @Test func `Packed files are imported as others are`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.finish(try await bench.send(GunzipTests.packed).importId)
      #expect(Counts(reply) == Counts(added: 2))
      #expect(try await bench.contacts() == ["1 Lars", "2 Mia"])
    }
  }

  @Test(arguments: [
    ("", "The file is empty: it has not even headings."),
    (
      "Kundnr,Färg\n1,2\n",
      "No field is called Kundnr, Färg. Say by columns what they are, null for nothing, or choose others: properties or skip."
    ),
    ("firstName\nLars\n", "No column is originalId, which says whom a row is about. Name it in columns."),
    (
      "originalId,Original ID\n1,2\n",
      "The columns originalId and Original ID are both originalId. Say null for one of them in columns."
    ), ("originalId,a\0b\n1,2\n", "The heading of column 2 holds U+0000. Remove it, or name the file's encoding."),
    (
      "originalId,\"a\u{1B}[2Jb\"\n",
      "No field is called a\u{FFFD}[2Jb. Say by columns what they are, null for nothing, or choose others: properties or skip."
    ),
  ])
  func `A file that cannot be imported fails, and says why`(file: String, sentence: String) async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.run(file)
      #expect(reply.state == .failed)
      #expect(reply.error == sentence)
      #expect(try await bench.contacts() == [])
    }
  }

  @Test func `A file that fails by its headings shows what it had`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let rows = (1...9).map { "\($0),\"La\nrs\"\n" }.joined()
      let failed = try await bench.run("Kundnr,firstName\n\(rows)")
      #expect(failed.state == .failed && failed.error?.hasPrefix("No field is called Kundnr.") == true)
      #expect(failed.headings == ["Kundnr", "firstName"])
      #expect(failed.sample == (1...5).map { ["\($0)", "La\nrs"] })
      #expect(failed.columns == ImportColumns(["Kundnr": nil, "firstName": "firstName"]))
      #expect(failed.delimiter == "," && failed.arrived == 0 && failed.rows == 0)
      let short = try await bench.run("firstName;firstName\nLars;Mia")
      #expect(short.state == .failed && short.headings == ["firstName", "firstName"])
      #expect(short.sample == [["Lars", "Mia"]])
      let endless = try await bench.run("Kundnr\n1\n\"" + String(repeating: "x", count: 300 * 1024))
      #expect(endless.error?.hasPrefix("No field is called Kundnr.") == true && endless.sample == [["1"]])
      // What cannot be stored is not shown.
      let zero = try await bench.run("originalId,a\0b\n1,2\n")
      #expect(zero.state == .failed && zero.headings?.isEmpty != false && zero.sample?.isEmpty != false)
      #expect(try await bench.contacts() == [])
    }
  }

  @Test func `Other columns become properties, or are passed over`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.run("originalId,Färg,\n1,röd,x\n", ImportRequest(others: .properties))
      _ = try await bench.run("originalId,Storlek\n1,stor\n", ImportRequest(others: .skip))
      let properties = try await database.query("SELECT properties::text FROM contact")[0].decode(String.self)
      #expect(properties == #"{"Färg":"röd"}"#)
    }
  }

  @Test func `Rows of one identity are one contact: the last one's fields`() async throws {
    try await withDatabase { database in
      for portion in [1, 2, 2000] {
        let bench = try await ImportBench(database, portion: Int64(portion))
        let reply = try await bench.run("originalId,firstName\na,1\nb,2\na,3\na,4\nb,5\n")
        #expect(Counts(reply) == Counts(added: 2, duplicates: 3), "portions of \(portion)")
        #expect(try await bench.contacts() == ["a 4", "b 5"])
      }
    }
  }

  @Test func `A row that is wrong does not stand before an earlier one that is right`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.run("originalId,firstName,dateOfBirth\na,1,\na,2,never\n")
      #expect(Counts(reply) == Counts(added: 1, rejected: 1))
      #expect(try await bench.contacts() == ["a 1"])
    }
  }

  @Test func `An apostrophe before a formula is taken off, and rejects have one`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.run("originalId,firstName,lastName\n1,'=A1,''=A1\n2,'quoted',x\n3,'+46,x,y\n")
      #expect(
        try await database.query("SELECT first_name || '|' || last_name FROM contact ORDER BY 1").map {
          try $0.decode(String.self)
        } == ["'quoted'|x", "=A1|'=A1"])
      #expect(try await bench.rejects(reply.importId).hasSuffix("\"3,'+46,x,y\"\r\n"))
    }
  }

  @Test func `What somebody registered after the import was added stays`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await bench.add([("a", "Old", nil, nil), ("b", "Old", nil, nil)])
      let reply = try await bench.send(Array("originalId,firstName\na,File\nb,File\nc,File\n".utf8))
      try await database.query("UPDATE contact SET first_name = 'Newer', updated_at = now() WHERE original_id = 'b'")
      try await database.query(
        "INSERT INTO contact (customer_id, original_id, first_name) VALUES ($1, 'c', 'Newer')", bench.customer.rawValue)
      let ended = try await bench.finish(reply.importId)
      #expect(Counts(ended) == Counts(updated: 1, unchanged: 2))
      #expect(try await bench.contacts() == ["a File", "b Newer", "c Newer"])
    }
  }

  @Test func `Of two files at the same time the later one wins, whichever is merged first`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let first = try await bench.send(Array("originalId,firstName\na,First\n".utf8))
      let second = try await bench.send(Array("originalId,firstName\na,Second\n".utf8))
      _ = try await bench.finish(second.importId)
      _ = try await bench.finish(first.importId)
      #expect(try await bench.contacts() == ["a Second"])
    }
  }

  @Test func `Imports are listed page by page, the newest first`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let imports = Imports(database.pool)
      var added: [ImportID] = []
      for _ in 0..<3 { added.insert(try await imports.add(bench.customer, ImportRequest()).importId, at: 0) }
      let first = try await imports.list(bench.customer, PageRequest(limit: 2))
      #expect(first.items.map(\.importId) == Array(added.prefix(2)))
      let second = try await imports.list(bench.customer, PageRequest(after: first.next, limit: 2))
      #expect(second.items.map(\.importId) == [added[2]] && second.next == nil)
    }
  }

  @Test func `No import changes another customer's contacts`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let other = try await ImportBench(database)
      _ = try await other.run("originalId,firstName\na,Other\n")
      let before = try await database.rows(of: other.customer)
      let list = try await bench.list()
      let reply = try await bench.run(
        "originalId,firstName\na,Mine\nb,Mine\n", ImportRequest(listId: list, mode: .replace))
      #expect(Counts(reply) == Counts(added: 2))
      #expect(try await database.rows(of: other.customer) == before)
      await #expect(throws: DataInOutError.importUnknown) {
        try await Imports(database.pool).find(other.customer, reply.importId)
      }
      await #expect(throws: DataInOutError.importUnknown) {
        _ = try await Imports(database.pool).rejects(other.customer, reply.importId)
      }
      await #expect(throws: DataInOutError.importUnknown) {
        _ = try await bench.upload.receive(other.customer, reply.importId, ImportBench.chunks([]), length: nil)
      }
      await #expect(throws: DataInOutError.invalid(field: "listId", problem: "names no list of this customer")) {
        _ = try await Imports(database.pool).add(other.customer, ImportRequest(listId: list))
      }
    }
  }
}
