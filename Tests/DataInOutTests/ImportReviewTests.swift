import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

/// Imports that wait, when their file has come, to be told what its columns are.
@Suite struct ImportReviewTests {
  private static let file = "Kundnr;Namn;Färg\r\n\r\n1;Lars;röd\r\n;Mia;\r\n2;\"Å\r\nsa\";blå\r\n3;x\r\n"
  private static let columns = ImportColumns([
    "Kundnr": "originalId", "Namn": "firstName", "Färg": "properties.colour",
  ])

  private func stagedRows(_ database: TestDatabase) async throws -> Int {
    try await database.query("SELECT count(*) FROM import_row")[0].decode(Int.self)
  }

  @Test func `A file of unknown headings waits with its first rows, and is read again by the columns chosen`()
    async throws
  {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      let imports = Imports(bench.pool)
      let sent = try await bench.send(Array(Self.file.utf8), ImportRequest(review: true))
      #expect(sent.state == .review)
      #expect(sent.headings == ["Kundnr", "Namn", "Färg"])
      #expect(sent.sample?.first == ["1", "Lars", "röd"])
      #expect(sent.columns?.targets["Kundnr"] == .some(nil))
      // Nothing happens by itself.
      #expect(try await bench.work.due().isEmpty)
      #expect(try await bench.finish(sent.importId).state == .review)

      let (_, started) = try await imports.start(bench.customer, sent.importId, ImportRequest(columns: Self.columns))
      #expect(started.state == .checking)
      let ended = try await bench.finish(sent.importId)
      #expect(ended.state == .finished)
      #expect(Counts(ended) == Counts(added: 3, rejected: 1))
      #expect(try await bench.contacts() == ["1 Lars", "2 Å\r\nsa", "3 x"])
      #expect(try await bench.rejects(sent.importId) == "line,column,problem,row\r\n4,Kundnr,is empty,\";Mia;\"\r\n")
      #expect(try await stagedRows(database) == 0)
    }
  }

  @Test func `A dry run leads back to the review, and what it counted is counted again`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      let imports = Imports(bench.pool)
      let sent = try await bench.send(Array(Self.file.utf8), ImportRequest(review: true))
      // By the wrong column at first.
      let wrong = ImportRequest(columns: ImportColumns(["Färg": "originalId"]), others: .skip, dryRun: true)
      _ = try await imports.start(bench.customer, sent.importId, wrong)
      let first = try await bench.finish(sent.importId)
      #expect(first.state == .review && first.endedAt == nil)
      #expect(Counts(first) == Counts(added: 2, rejected: 2))
      #expect(try await bench.contacts().isEmpty)
      let right = ImportRequest(columns: Self.columns, dryRun: true)
      _ = try await imports.start(bench.customer, sent.importId, right)
      let second = try await bench.finish(sent.importId)
      #expect(Counts(second) == Counts(added: 3, rejected: 1))
      #expect(try await imports.problems(bench.customer, sent.importId).map(\.column) == ["Kundnr"])
      _ = try await imports.start(bench.customer, sent.importId, ImportRequest(dryRun: false))
      let third = try await bench.finish(sent.importId)
      #expect(third.state == .finished)
      #expect(Counts(third) == Counts(added: 3, rejected: 1))
      #expect(try await bench.contacts().count == 3)
      #expect(try await stagedRows(database) == 0)
    }
  }

  @Test func `What was no text in the file is rejected at its second reading, too`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let file = Array("id,firstName\n1,L".utf8) + [0xFF] + Array("rs\n2,Mia\n3,\u{FFFD}\n".utf8)
      let sent = try await bench.send(file, ImportRequest(encoding: .utf8, review: true))
      let request = ImportRequest(columns: ImportColumns(["id": "originalId"]))
      _ = try await Imports(bench.pool).start(bench.customer, sent.importId, request)
      #expect(Counts(try await bench.finish(sent.importId)) == Counts(added: 2, rejected: 1))
      #expect(try await bench.contacts() == ["2 Mia", "3 \u{FFFD}"])
    }
  }

  @Test func `Columns that do not fit are refused at once, and the import still waits`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let imports = Imports(bench.pool)
      let sent = try await bench.send(Array(Self.file.utf8), ImportRequest(review: true))
      for (columns, word) in [
        (ImportColumns(["Namn": "firstName"]), "No field is called"),
        (ImportColumns(["Kundnr": nil, "Namn": nil, "Färg": nil]), "No column is originalId"),
        (ImportColumns(["Kundnr": "originalId", "Namn": "originalId", "Färg": nil]), "are both originalId"),
      ] {
        let error = await #expect(throws: DataInOutError.self) {
          _ = try await imports.start(bench.customer, sent.importId, ImportRequest(columns: columns))
        }
        guard case .invalid("columns", let problem)? = error else {
          Issue.record("\(word): \(String(describing: error))")
          continue
        }
        #expect(problem.contains(word))
      }
      #expect(try await imports.find(bench.customer, sent.importId).state == .review)
    }
  }

  @Test func `Only an import in review can be started, and a cancelled one leaves no rows`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 1)
      let imports = Imports(bench.pool)
      let waiting = try await imports.add(bench.customer, ImportRequest(review: true))
      await #expect(throws: DataInOutError.self) {
        _ = try await imports.start(bench.customer, waiting.importId, ImportRequest())
      }
      let sent = try await bench.send(Array(Self.file.utf8), ImportRequest(review: true))
      _ = try await imports.start(bench.customer, sent.importId, ImportRequest(columns: Self.columns))
      // A portion is checked anew, and so in the next attempt.
      _ = try await bench.work.step(bench.customer, sent.importId)
      #expect(try await stagedRows(database) == 5)
      _ = try await imports.cancel(bench.customer, sent.importId)
      #expect(try await bench.finish(sent.importId).state == .cancelled)
      #expect(try await stagedRows(database) == 0)
      #expect(try await bench.contacts().isEmpty)
    }
  }

  @Test func `A review that nobody ends is cancelled after a week`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let sent = try await bench.send(Array(Self.file.utf8), ImportRequest(review: true))
      try await Imports.forgetExpired(bench.customer, in: bench.pool)
      #expect(try await Imports(bench.pool).find(bench.customer, sent.importId).state == .review)
      try await database.query("UPDATE import SET created_at = now() - interval '8 days'")
      try await Imports.forgetExpired(bench.customer, in: bench.pool)
      #expect(try await bench.finish(sent.importId).state == .cancelled)
      #expect(try await stagedRows(database) == 0)
    }
  }
}
