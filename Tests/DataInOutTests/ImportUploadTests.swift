import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct ImportUploadTests {
  /// Sends these pieces, and then breaks off.
  private static func brokenOff(_ pieces: [String]) -> AsyncThrowingStream<[UInt8], any Error> {
    AsyncThrowingStream { stream in
      for piece in pieces { stream.yield(Array(piece.utf8)) }
      stream.finish(throwing: DataInOutError.brokenOff)
    }
  }

  private func stagedRows(_ database: TestDatabase) async throws -> Int {
    try await database.query("SELECT count(*) FROM import_row")[0].decode(Int.self)
  }

  @Test func `An import waits again for a file that broke off, and nothing of it counts`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let number = try await Imports(database.pool).add(bench.customer, ImportRequest()).importId
      // More than a portion, so that rows are staged already.
      let rows = (1...30_000).map { "x\($0),Lars Larsson of Lund\n" }.joined()
      await #expect(throws: DataInOutError.brokenOff) {
        _ = try await bench.upload.receive(
          bench.customer, number, Self.brokenOff(["originalId,firstName\n", rows, "half"]), length: nil)
      }
      #expect(try await Imports(database.pool).find(bench.customer, number).state == .waiting)
      #expect(try await stagedRows(database) > 0)
      let received = try await bench.upload.receive(
        bench.customer, number, ImportBench.chunks(Array("originalId\na\n".utf8)), length: nil)
      _ = try await Imports(database.pool).finish(bench.customer, received)
      let ended = try await bench.finish(number)
      #expect(ended.rows == 1)
      #expect(try await bench.contacts() == ["a"])
      #expect(try await stagedRows(database) == 0)
    }
  }

  @Test func `Rows of a file that broke off are deleted while the import waits`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let number = try await Imports(database.pool).add(bench.customer, ImportRequest()).importId
      let rows = (1...30_000).map { "x\($0),Lars Larsson of Lund\n" }.joined()
      await #expect(throws: DataInOutError.brokenOff) {
        _ = try await bench.upload.receive(
          bench.customer, number, Self.brokenOff(["originalId,firstName\n", rows]), length: nil)
      }
      #expect(try await bench.finish(number).state == .waiting)
      #expect(try await stagedRows(database) == 0)
      #expect(try await bench.work.due().isEmpty)
    }
  }

  /// The planner has seen nothing of it: it takes a file that has just come for a row or two.
  @Test func `A step looks at its portion of a file alone, while the planner has not seen the file`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      try await database.query(
        """
        INSERT INTO import_row (customer_id, import_id, attempt, row_no, line_no, raw, device, last_row, contact_id)
        SELECT \(bench.customer), 1, attempt, n, n, 'x', '{1,x,f}', CASE WHEN n % 10 = 0 THEN n + 1 END, n
          FROM (VALUES (1, 100), (2, 20000)) AS file (attempt, rows), generate_series(1, rows) AS n
        """)
      try await database.pool.transaction { transaction in
        try await transaction.query(sql: "SET LOCAL plan_cache_mode = force_generic_plan")
        try await transaction.query(sql: "PREPARE step_tokens AS \(ImportStepQueries.tokens.sql)")
        try await transaction.query(sql: "PREPARE step_clear AS \(ImportStepQueries.clear.sql)")
        #expect(try await transaction.blocks("EXECUTE step_tokens(\(bench.customer), 1, 2, 0, 100, true)") < 2000)
        #expect(try await transaction.blocks("EXECUTE step_clear(\(bench.customer), 1, 1)") < 2000)
        try await transaction.query(sql: "DEALLOCATE step_tokens")
        try await transaction.query(sql: "DEALLOCATE step_clear")
      }
      #expect(try await stagedRows(database) == 20_000)
    }
  }

  @Test func `A file of a hub that is gone is waited for again`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let number = try await Imports(database.pool).add(bench.customer, ImportRequest()).importId
      try await database.query(
        "UPDATE import SET state = 'receiving', attempt = 1, cleared = false, lease_until = now() + interval '1 hour'")
      #expect(try await bench.finish(number).state == .receiving)
      try await database.query("UPDATE import SET lease_until = now() - interval '1 second'")
      #expect(try await bench.finish(number).state == .waiting)
    }
  }

  @Test func `A second request for the file overtakes the first`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let number = try await Imports(database.pool).add(bench.customer, ImportRequest()).importId
      let first = try await bench.upload.receive(
        bench.customer, number, ImportBench.chunks(Array("originalId\nfirst\n".utf8)), length: nil)
      let second = try await bench.upload.receive(
        bench.customer, number, ImportBench.chunks(Array("originalId\nsecond\n".utf8)), length: nil)
      await #expect(throws: DataInOutError.overtaken) {
        _ = try await Imports(database.pool).finish(bench.customer, first)
      }
      _ = try await Imports(database.pool).finish(bench.customer, second)
      _ = try await bench.finish(number)
      #expect(try await bench.contacts() == ["second"])
      await #expect(throws: DataInOutError.wrongState(number, .finished, wanted: "given a file")) {
        _ = try await bench.upload.receive(bench.customer, number, ImportBench.chunks([]), length: nil)
      }
    }
  }

  @Test func `So many files of a customer are received at a time`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let imports = Imports(database.pool)
      for _ in 0..<ImportUpload.atOnce {
        let number = try await imports.add(bench.customer, ImportRequest()).importId
        try await database.query(
          "UPDATE import SET state = 'receiving', cleared = false, lease_until = now() + interval '1 hour' WHERE import_id = $1",
          number.rawValue)
      }
      let number = try await imports.add(bench.customer, ImportRequest()).importId
      await #expect(throws: DataInOutError.tooManyUploads(limit: ImportUpload.atOnce)) {
        _ = try await bench.upload.receive(bench.customer, number, ImportBench.chunks([]), length: nil)
      }
      let other = try await ImportBench(database)
      #expect(try await other.run("originalId\na\n").state == .finished)
    }
  }

  @Test func `A cancelled import keeps what is merged, and says how much that is`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      let number = try await bench.send(Array("originalId\na\nb\nc\nd\ne\n".utf8)).importId
      // Looks for duplicates, then merges a portion.
      for _ in 0..<2 { _ = try await bench.work.step(bench.customer, number) }
      let (before, after) = try await Imports(database.pool).cancel(bench.customer, number)
      #expect(before.state == .merging)
      #expect(after.state == .cancelled)
      let ended = try await bench.finish(number)
      #expect(Counts(ended) == Counts(added: 2))
      #expect(try await bench.contacts() == ["a", "b"])
      #expect(try await stagedRows(database) == 0)
      await #expect(throws: DataInOutError.wrongState(number, .cancelled, wanted: "cancelled")) {
        _ = try await Imports(database.pool).cancel(bench.customer, number)
      }
    }
  }

  @Test func `Steps of several hubs merge each row once`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 7)
      let list = try await bench.list()
      let file = "originalId,firstName\n" + (1...200).map { "\($0 % 150),n\($0)\n" }.joined()
      let number = try await bench.send(Array(file.utf8), ImportRequest(listId: list)).importId
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<3 {
          group.addTask {
            while try await !Imports(bench.pool).find(bench.customer, number).state.hasEnded {
              _ = try await bench.work.step(bench.customer, number)
            }
          }
        }
        try await group.waitForAll()
      }
      let ended = try await Imports(database.pool).find(bench.customer, number)
      #expect(Counts(ended) == Counts(added: 150, duplicates: 50))
      #expect(try await bench.contacts().count == 150)
      #expect(try await bench.members(list).count == 150)
    }
  }

  @Test func `A hub that is killed within a step leaves nothing of it`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 3)
      let number = try await bench.send(Array("originalId\na\nb\nc\nd\ne\n".utf8)).importId
      _ = try await bench.work.step(bench.customer, number)
      // The step is done but for its commit, which a trigger keeps from happening.
      try await database.query(
        """
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$
        """)
      try await database.query(
        """
        CREATE CONSTRAINT TRIGGER killed AFTER UPDATE ON import DEFERRABLE INITIALLY DEFERRED FOR EACH ROW
        EXECUTE FUNCTION refuse()
        """)
      await #expect(throws: PostgresError.self) { _ = try await bench.work.step(bench.customer, number) }
      #expect(try await bench.contacts() == [])
      try await database.query("DROP TRIGGER killed ON import")
      let ended = try await bench.finish(number)
      #expect(Counts(ended) == Counts(added: 5))
      #expect(try await bench.contacts() == ["a", "b", "c", "d", "e"])
    }
  }

  @Test func `A contact that is registered while its row is merged is as it was registered`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let list = try await bench.list()
      let number = try await bench.send(
        Array("originalId,firstName\na,file\nb,file\nc,file\n".utf8), ImportRequest(listId: list)
      ).importId
      _ = try await bench.work.step(bench.customer, number)
      let (registered, register) = AsyncStream.makeStream(of: Void.self)
      let (ended, end) = AsyncStream.makeStream(of: Void.self)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await bench.pool.transaction { other in
            try await other.query(
              sql: "INSERT INTO contact (customer_id, original_id, first_name) VALUES ($1, 'b', 'phone')",
              bench.customer.rawValue)
            register.yield()
            for await _ in ended { break }
          }
        }
        for await _ in registered { break }
        group.addTask { _ = try await bench.work.step(bench.customer, number) }
        try await database.someoneWaits(as: bench.pool)
        end.yield()
        try await group.waitForAll()
      }
      let reply = try await bench.finish(number)
      // What was registered is newer than the file, and joins its list.
      #expect(Counts(reply) == Counts(added: 2, updated: 1))
      #expect(try await bench.contacts() == ["a file", "b phone", "c file"])
      #expect(try await bench.members(list) == ["a", "b", "c"])
    }
  }

  @Test(arguments: [
    ImportRequest(), ImportRequest(appId: "com.acme.app"), ImportRequest(dryRun: true), ImportRequest(mode: .suppress),
  ])
  func `Portions do not wait for the disk, and the end of an import does`(request: ImportRequest) async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      try await database.pool.addSampleApps(bench.customer)
      // What each commit of a step has moved, and whether the step has set how the commit waits.
      try await database.query("CREATE TABLE commits (moved text, is_relaxed boolean)")
      try await database.query(
        """
        CREATE FUNCTION note_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          INSERT INTO commits
          SELECT CASE WHEN NEW.merged > OLD.merged THEN 'merged' WHEN NEW.registered > OLD.registered THEN 'registered'
                   WHEN NEW.state <> OLD.state THEN NEW.state ELSE 'other' END,
                 (SELECT source = 'session' FROM pg_settings WHERE name = 'synchronous_commit');
          RETURN NULL;
        END $$
        """)
      let header = request.appId == nil ? "originalId" : "originalId,deviceToken"
      let rows = ["a", "b", "c"].map { id in
        request.appId == nil ? "\(id)\n" : "\(id),\(String(repeating: id, count: 64))\n"
      }
      let number = try await bench.send(Array(("\(header)\n" + rows.joined()).utf8), request).importId
      try await database.query(
        "CREATE TRIGGER note_commit AFTER UPDATE ON import FOR EACH ROW EXECUTE FUNCTION note_commit()")
      #expect(try await bench.finish(number).state == .finished)
      let commits = try await database.query(
        "SELECT moved || ' ' || is_relaxed FROM commits WHERE moved <> 'other' ORDER BY ctid"
      ).map { try $0.decode(String.self) }
      let registered = request.appId == nil ? [] : ["registered true", "registered true"]
      #expect(commits == ["merging false", "merged true", "merged true"] + registered + ["finished false"])
    }
  }

  @Test func `What old imports have of people is deleted`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let reply = try await bench.run("originalId,dateOfBirth\na,never\nb,\n")
      try await Imports.forgetExpired(bench.customer, in: database.pool)
      #expect(try await bench.rejects(reply.importId).contains("never"))
      try await database.query("UPDATE import_reject SET at = at - interval '31 days'")
      try await database.query("UPDATE import SET created_at = created_at - interval '31 days'")
      try await Imports.forgetExpired(bench.customer, in: database.pool)
      #expect(try await bench.rejects(reply.importId) == "line,column,problem,row\r\n")
      let kept = try await Imports(database.pool).find(bench.customer, reply.importId)
      #expect(kept.sample == nil)
      #expect(Counts(kept) == Counts(added: 1, rejected: 1))
    }
  }

  @Test func `A file with too many rows fails, and says so`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, limits: .init(rows: 3))
      #expect(try await bench.run("originalId\na\nb\nc\n").state == .finished)
      let failed = try await bench.run("originalId\nd\ne\nf\ng\nh\n")
      #expect(failed.state == .failed)
      #expect(failed.error == "The file has more than 3 rows: line 5 begins one more. Send it in parts.")
      #expect(try await bench.contacts() == ["a", "b", "c"])
      #expect(try await stagedRows(database) == 0)
      #expect(ImportUpload.Limits().rows == 50_000_000)
    }
  }

  @Test func `What a customer has staged is bounded, and others have a bound of their own`() async throws {
    try await withDatabase { database in
      // Each of these rows has about a hundred bytes.
      let limits = ImportUpload.Limits(staged: 1500)
      let bench = try await ImportBench(database, limits: limits)
      let file = Array(("originalId\n" + (1...10).map { "x\($0)\n" }.joined()).utf8)
      let reviewed = try await bench.send(file, ImportRequest(review: true))
      #expect(reviewed.state == .review)
      let number = try await Imports(bench.pool).add(bench.customer, ImportRequest()).importId
      await #expect(throws: DataInOutError.tooMuchStaged(limit: 1500)) {
        _ = try await bench.upload.receive(bench.customer, number, ImportBench.chunks(file), length: nil)
      }
      #expect(try await Imports(bench.pool).find(bench.customer, number).state == .waiting)
      let other = try await ImportBench(database, limits: limits)
      #expect(try await other.finish(try await other.send(file).importId).state == .finished)
      // What is done counts no more.
      _ = try await Imports(bench.pool).cancel(bench.customer, reviewed.importId)
      _ = try await bench.finish(reviewed.importId)
      let received = try await bench.upload.receive(bench.customer, number, ImportBench.chunks(file), length: nil)
      _ = try await Imports(bench.pool).finish(bench.customer, received)
      #expect(Counts(try await bench.finish(number)) == Counts(added: 10))
      #expect(try await database.query("SELECT FROM import WHERE staged_bytes > 0").isEmpty)
    }
  }

  @Test(arguments: [nil, 10_000_000] as [Int64?])
  func `While a file arrives its rows are counted, and a percentage is told if its length is known`(length: Int64?)
    async throws
  {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let imports = Imports(database.pool)
      let number = try await imports.add(bench.customer, ImportRequest()).importId
      #expect(try await imports.find(bench.customer, number).percent == 0)
      let (chunks, sender) = AsyncStream.makeStream(of: [UInt8].self)
      async let received = bench.upload.receive(bench.customer, number, chunks, length: length)
      sender.yield(Array("originalId,firstName\n".utf8))
      // More than a portion.
      sender.yield(Array((1...30_000).map { "x\($0),Lars Larsson of Lund\n" }.joined().utf8))
      try await waitUntil { try await imports.find(bench.customer, number).arrived > 0 }
      let arriving = try await imports.find(bench.customer, number)
      #expect(arriving.state == .receiving && arriving.arrived <= 30_000 && arriving.rows == 0)
      #expect((arriving.percent == nil) == (length == nil))
      #expect((0..<100).contains(arriving.percent ?? 0))
      sender.finish()
      let ended = try await imports.finish(bench.customer, try await received)
      #expect(ended.arrived == 30_000 && ended.percent == 0)
      let finished = try await bench.finish(number)
      #expect(finished.arrived == 30_000 && finished.rows == 30_000 && finished.percent == 100)
    }
  }
}
