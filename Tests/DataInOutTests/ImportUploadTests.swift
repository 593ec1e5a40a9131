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
}
