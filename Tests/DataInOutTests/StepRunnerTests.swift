import Locking
import Postgres
import Registry
import Retrying
import Support
import Testing
import Wire

@testable import DataInOut

@Suite struct StepRunnerTests {
  private func runner<Work: SteppedWork>(_ work: Work) -> StepRunner<Work> {
    StepRunner(work, scanEvery: .milliseconds(10), logger: TestServer.logger)
  }

  /// Makes PostgreSQL refuse a contact as long as the trigger is there.
  private func refuse(_ originalID: String, _ database: TestDatabase) async throws {
    try await database.query(
      "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'no, %', NEW.original_id; END $$")
    try await database.query(
      """
      CREATE TRIGGER refused BEFORE INSERT ON contact FOR EACH ROW WHEN (NEW.original_id = '\(originalID)')
      EXECUTE FUNCTION refuse()
      """)
  }

  /// As if the delay until the next try were over.
  private func pullNear(_ table: String, _ database: TestDatabase) async throws {
    try await database.query("UPDATE \(table) SET try_at = now() WHERE try_at IS NOT NULL")
  }

  private func failures(_ database: TestDatabase) async throws -> Int32 {
    try await database.query("SELECT failures FROM import")[0].decode(Int32.self)
  }

  @Test func `An import whose step fails for ever has failed after so many tries, and what was merged stays`()
    async throws
  {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      let number = try await bench.send(Array("originalId\na\nb\nc\nd\n".utf8)).importId
      try await refuse("c", database)
      let runner = runner(bench.work)
      for tries in 1..<RetryPolicy.mostStepFailures {
        let before = try await database.query("SELECT extract(epoch FROM now())::float8")[0].decode(Double.self)
        #expect(await !runner.turn(of: bench.customer) { true })
        #expect(try await failures(database) == tries)
        #expect(try await Imports(bench.pool).find(bench.customer, number).state == .merging)
        // It waits for its delay: the shortest one would be over at once on a busy machine, so that it is made longer here.
        let delay = try await database.query(
          """
          UPDATE import SET try_at = try_at + interval '1 hour'
          RETURNING extract(epoch FROM try_at - interval '1 hour')::float8 - $1::float8
          """, before)[0].decode(Double.self)
        #expect(delay >= RetryPolicy.steps.first / 2 / .seconds(1))
        #expect(try await bench.work.due().isEmpty)
        #expect(await !runner.turn(of: bench.customer) { true })
        #expect(try await failures(database) == tries)
        try await pullNear("import", database)
      }
      _ = await runner.turn(of: bench.customer) { true }
      let failed = try await Imports(bench.pool).find(bench.customer, number)
      #expect(failed.state == .failed && failed.endedAt != nil)
      let error = """
        The database refused it (import.merge_by_id, SQLSTATE P0001). The hub has tried \(RetryPolicy.mostStepFailures) times. What was merged \
        before stays, and the counts say how much. Whoever runs the hub finds more in its log.
        """
      #expect(failed.error == error)
      #expect(Counts(failed) == Counts(added: 2))
      #expect(try await bench.contacts() == ["a", "b"])
      // Its rows are deleted as those of others that have ended.
      try await pullNear("import", database)
      _ = await runner.turn(of: bench.customer) { true }
      #expect(try await database.query("SELECT FROM import_row").isEmpty)
      #expect(try await bench.work.due().isEmpty)
    }
  }

  @Test func `A step that succeeds at last begins anew with its tries`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 2)
      let number = try await bench.send(Array("originalId\na\nb\nc\nd\n".utf8)).importId
      try await refuse("c", database)
      let runner = runner(bench.work)
      for _ in 1..<RetryPolicy.mostStepFailures {
        _ = await runner.turn(of: bench.customer) { true }
        try await pullNear("import", database)
      }
      try await database.query("DROP TRIGGER refused ON contact")
      _ = await runner.turn(of: bench.customer) { true }
      let ended = try await Imports(bench.pool).find(bench.customer, number)
      #expect(ended.state == .finished && Counts(ended) == Counts(added: 4))
      #expect(try await failures(database) == 0)
    }
  }

  @Test func `A failing import leaves its turn to the customer's next one`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.send(Array("originalId\nc\n".utf8))
      let second = try await bench.send(Array("originalId\nd\n".utf8)).importId
      try await refuse("c", database)
      _ = await runner(bench.work).turn(of: bench.customer) { true }
      #expect(try await Imports(bench.pool).find(bench.customer, second).state == .finished)
    }
  }

  @Test(arguments: [
    PostgresError.unavailable("away"), .busy("too much"), .connectionLost(statement: "x"),
    .unknownOutcome(statement: "x"), .server(ServerError(sqlState: "57P01", message: "shutdown", statement: "x")),
    .server(ServerError(sqlState: ServerError.deadlockDetected, message: "deadlock", statement: "x")),
    .server(ServerError(sqlState: "53100", message: "disk full", statement: "x")),
  ])
  func `An outage of the database is no fault of a step`(error: PostgresError) async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.send(Array("originalId\na\n".utf8))
      let runner = runner(PrecededWork(bench.work) { _ in throw error })
      for _ in 0...RetryPolicy.mostStepFailures { _ = await runner.turn(of: bench.customer) { true } }
      #expect(try await failures(database) == 0)
      #expect(try await bench.work.due().count == 1)
    }
  }

  @Test(arguments: [
    PostgresError.timedOut(statement: "x"), .misuse("x"),
    .server(ServerError(sqlState: "22012", message: "zero", statement: "x")),
  ])
  func `What is no outage is a step's own fault`(error: PostgresError) async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.send(Array("originalId\na\n".utf8))
      _ = await runner(PrecededWork(bench.work) { _ in throw error }).turn(of: bench.customer) { true }
      #expect(try await failures(database) == 1)
    }
  }

  @Test func `A failure after another hub's success is not the last of many in a row`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let number = try await bench.send(Array("originalId\na\n".utf8)).importId
      try await database.query("UPDATE import SET failures = $1", Int32(RetryPolicy.mostStepFailures - 1))
      let work = PrecededWork(bench.work) { _ in
        try await database.query("UPDATE import SET failures = 0")
        throw PostgresError.misuse("x")
      }
      _ = await runner(work).turn(of: bench.customer) { true }
      #expect(try await Imports(bench.pool).find(bench.customer, number).state == .checking)
      #expect(try await failures(database) == 0)
    }
  }

  @Test func `A customer whose step takes long holds up nobody else`() async throws {
    try await withDatabase { database in
      let (slow, other) = (try await ImportBench(database), try await ImportBench(database))
      let file = Array("originalId\na\n".utf8)
      let (first, second) = (try await slow.send(file).importId, try await other.send(file).importId)
      let mayGoOn = Mutex(false)
      let work = PrecededWork(other.work) { customer in
        if customer == slow.customer { try await waitUntil { mayGoOn.withLock(\.self) } }
      }
      let running = Task { [runner = runner(work)] in try await runner.run() }
      try await waitUntil { try await Imports(other.pool).find(other.customer, second).state == .finished }
      #expect(try await Imports(slow.pool).find(slow.customer, first).state == .checking)
      mayGoOn.withLock { $0 = true }
      try await waitUntil { try await Imports(slow.pool).find(slow.customer, first).state == .finished }
      running.cancel()
      _ = await running.result
    }
  }

  @Test func `A file that has come is merged at once, however seldom the hub scans`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      let runner = StepRunner(bench.work, scanEvery: .seconds(3600), logger: TestServer.logger)
      let running = Task { try await runner.run() }
      // The scan at the start is over once the first one is merged.
      for file in ["originalId\na\n", "originalId\nb\nc\n"] {
        let number = try await bench.send(Array(file.utf8)).importId
        try await waitUntil { try await Imports(bench.pool).find(bench.customer, number).state == .finished }
      }
      running.cancel()
      _ = await running.result
    }
  }

  @Test func `While one long step is under way another one gives way, and short ones go on`() async throws {
    try await withDatabase { database in
      let (slow, other) = (try await ImportBench(database), try await ImportBench(database))
      let file = Array("originalId\na\na\n".utf8)
      let (first, second) = (try await slow.send(file).importId, try await other.send(file).importId)
      let work = ImportWork(
        database.pool, suppressions: .ofTests, endpoints: EndpointRules(), longFrom: 2)
      let running = try await database.pool.transaction { holder in
        try await holder.query(
          sql: "SELECT FROM import_row WHERE customer_id = $1::bigint FOR UPDATE", slow.customer.rawValue)
        let running = Task { try await work.step(slow.customer, first) }
        try await database.someoneWaits(as: database.pool)
        #expect(try await !work.step(other.customer, second))
        #expect(try await Imports(other.pool).find(other.customer, second).state == .checking)
        // It is no fault, and it is due as before.
        #expect(try await work.due().contains { $0.customer == other.customer })
        let small = try await other.send(Array("originalId\nb\n".utf8)).importId
        while try await work.step(other.customer, small) {}
        #expect(try await Imports(other.pool).find(other.customer, small).state == .finished)
        return running
      }
      #expect(try await running.value)
      while try await work.step(other.customer, second) {}
      #expect(try await Imports(other.pool).find(other.customer, second).state == .finished)
    }
  }

  @Test func `A customer gives its turn to others that wait, and goes on in the next one`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database, portion: 1)
      let number = try await bench.send(Array("originalId\na\nb\nc\n".utf8)).importId
      let runner = runner(bench.work)
      var turns = 0
      // Somebody else waits always.
      while await runner.turn(of: bench.customer, while: { false }) {
        turns += 1
        try #require(turns < 100)
      }
      #expect(turns > 3)
      #expect(try await Imports(bench.pool).find(bench.customer, number).state == .finished)
    }
  }

  @Test func `An erasure whose step fails for ever is told, and goes on when the cause is gone`() async throws {
    try await withDatabase { database in
      let (customer, other) = (try await database.customer(), try await database.customer())
      try await database.query("INSERT INTO contact (customer_id, original_id) VALUES ($1, 'a')", customer.rawValue)
      func tables(_ cursor: String) -> [PersonalTable] {
        let sql = "SELECT \(cursor) WHERE $1::bigint IS NOT NULL AND \(PersonalTable.parameters)"
        return [PersonalTable("contact", .inPortions(Statement("test.erase", .write, sql)))]
      }
      let wrong = tables("CASE WHEN $2::bigint / 0 > 0 THEN $4::bigint[] END")
      _ = try await database.pool.transaction { try await Erasures($0, wrong).erase(customer, "a") }
      let failing = runner(ErasureWork(database.pool, wrong))
      for _ in 1...RetryPolicy.mostStepFailures {
        #expect(try await Erasures.failing(customer, in: database.pool).isEmpty)
        _ = await failing.turn(of: customer) { true }
        try await pullNear("erasure", database)
      }
      let told = try await Erasures.failing(customer, in: database.pool)
      #expect(told.map(\.failure) == ["The database refused it (test.erase, SQLSTATE 22012)."])
      #expect(try await Erasures.failing(other, in: database.pool).isEmpty)
      // It is tried on, however often it has failed.
      _ = await failing.turn(of: customer) { true }
      try await pullNear("erasure", database)
      _ = await runner(ErasureWork(database.pool, tables("NULL::bigint[]"))).turn(of: customer) { true }
      #expect(try await Erasures.failing(customer, in: database.pool).isEmpty)
      #expect(try await database.query("SELECT FROM erasure WHERE ended_at IS NOT NULL").count == 1)
    }
  }

  @Test func `An erasure does not wait for the end of an import's long step, and is tried again`() async throws {
    try await withDatabase { database in
      let bench = try await ImportBench(database)
      _ = try await bench.send(Array("originalId\na\nb\n".utf8))
      try await database.query(
        "INSERT INTO contact (customer_id, original_id) VALUES ($1, 'a')", bench.customer.rawValue)
      let tables = ImportPersonalTables.all
      _ = try await database.pool.transaction { try await Erasures($0, tables).erase(bench.customer, "a") }
      let runner = runner(ErasureWork(database.pool, tables))
      try await database.pool.transaction { step in
        try await step.query(sql: "SELECT FROM import FOR NO KEY UPDATE")
        // It returns, though the import's row is locked for longer.
        #expect(await !runner.turn(of: bench.customer) { true })
      }
      let waiting = try await database.query("SELECT failures FROM erasure WHERE ended_at IS NULL")
      #expect(try waiting.map { try $0.decode(Int32.self) } == [0])
      _ = await runner.turn(of: bench.customer) { true }
      #expect(try await database.query("SELECT FROM erasure WHERE ended_at IS NOT NULL").count == 1)
      #expect(try await database.query("SELECT FROM import_row WHERE original_id = 'a'").isEmpty)
    }
  }
}

/// Imports before whose steps something else is done, which may fail.
private struct PrecededWork: SteppedWork {
  private let work: ImportWork
  private let before: @Sendable (CustomerID) async throws -> Void

  init(_ work: ImportWork, before: @escaping @Sendable (CustomerID) async throws -> Void) {
    self.work = work
    self.before = before
  }

  static var queries: StepQueries { ImportWork.queries }
  var name: String { work.name }
  var pool: Pool { work.pool }

  func step(_ customer: CustomerID, _ number: ImportID) async throws -> Bool {
    try await before(customer)
    return try await work.step(customer, number)
  }

  func giveUp(_ customer: CustomerID, _ number: ImportID, after failures: Int, _ fault: String) async throws {
    try await work.giveUp(customer, number, after: failures, fault)
  }
}
