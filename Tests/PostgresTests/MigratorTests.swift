import Postgres
import Support
import Testing

@Suite struct MigratorTests {
  private let first = Migration(
    name: "9001_first", sql: "CREATE TABLE fruit (name text); INSERT INTO fruit VALUES ('fig');")
  private let second = Migration(name: "9002_second", sql: "INSERT INTO fruit VALUES ('kiwi')")

  @Test func `Migrations are applied once, in order`() async throws {
    try await withDatabase { database in
      let known = try Migration.all
      let migrator = Migrator(database.pool, known + [second, first])
      #expect(try await migrator.pending() == [first, second])
      #expect(try await migrator.apply() == [first, second])
      #expect(try await migrator.apply() == [])
      try await migrator.check()
      #expect(try await database.query("SELECT count(*) FROM fruit")[0].decode(Int.self) == 2)
    }
  }

  @Test func `A failing migration is named and changes nothing`() async throws {
    try await withDatabase { database in
      let bad = Migration(name: "9002_bad", sql: "CREATE TABLE half (a int); SELECT 1/0;")
      let migrator = Migrator(database.pool, try Migration.all + [first, bad])
      let error = await #expect(throws: MigrationError.self) { try await migrator.apply() }
      guard case .failed(name: "9002_bad", let failure) = error else {
        Issue.record("\(String(describing: error))")
        return
      }
      #expect(failure.sqlState == "22012")
      #expect(try await migrator.pending() == [bad])
    }
  }

  @Test func `A migration changed after it was applied is an error that names it`() async throws {
    try await withDatabase { database in
      var known = try Migration.all
      let changed = Migration(name: known[0].name, sql: known[0].sql + "\n")
      known[0] = changed
      await #expect(throws: MigrationError.changed(name: changed.name)) {
        try await Migrator(database.pool, known).check()
      }
    }
  }

  @Test func `A database newer than the program is an error`() async throws {
    try await withDatabase { database in
      let known = try Migration.all
      let last = try #require(known.last)
      await #expect(throws: MigrationError.unknown(name: last.name)) {
        try await Migrator(database.pool, known.dropLast()).pending()
      }
    }
  }

  @Test func `Two programs that migrate at once do the work once`() async throws {
    try await withDatabase { database in
      let migrator = Migrator(database.pool, try Migration.all + [first, second])
      async let one = migrator.apply()
      async let other = migrator.apply()
      #expect(try await Set((one + other).map(\.name)) == ["9001_first", "9002_second"])
      #expect(try await database.query("SELECT count(*) FROM fruit")[0].decode(Int.self) == 2)
    }
  }

  @Test func `Migrations that wait are named`() async throws {
    try await withDatabase { database in
      let migrator = Migrator(database.pool, try Migration.all + [second, first])
      await #expect(throws: MigrationError.pending(names: ["9001_first", "9002_second"])) { try await migrator.check() }
    }
  }

  @Test func `A migration numbered before one that is applied is out of order`() async throws {
    try await withDatabase { database in
      let (known, later) = (try Migration.all, Migration(name: "9003_later", sql: "CREATE TABLE later (a int)"))
      try await Migrator(database.pool, known + [later]).apply()
      let migrator = Migrator(database.pool, known + [first, later])
      await #expect(throws: MigrationError.outOfOrder(name: "9001_first", appliedAfter: "9003_later")) {
        try await migrator.apply()
      }
    }
  }

  @Test func `Two migrations of one name are an error, also on an empty database`() async throws {
    try await withDatabase { database in
      let known = try Migration.all
      let migrator = Migrator(database.pool, known + [first, first])
      await #expect(throws: MigrationError.duplicate(name: "9001_first")) { try await migrator.apply() }
    }
  }
}
