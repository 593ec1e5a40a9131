import Foundation
import Postgres
import Support
import Testing

@Suite struct PipelineTests {
  private static let divide = Statement("test.divide", .read, "SELECT 100 / $1::int8")
  private static let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")

  @Test func `One bad read in a pipeline fails alone`() async throws {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let outcomes = await withTaskGroup(of: (Int, Result<Int, any Error>).self) { group in
        for divisor in 0..<300 {
          group.addTask {
            do {
              return (divisor, .success(try await database.pool.query(Self.divide, divisor % 100)[0].decode(Int.self)))
            } catch {
              return (divisor, .failure(error))
            }
          }
        }
        return await group.reduce(into: [:]) { $0[$1.0] = $1.1 }
      }
      for (divisor, outcome) in outcomes {
        switch outcome {
        case .success(let quotient): #expect(quotient == 100 / (divisor % 100))
        case .failure(PostgresError.server(let error)):
          #expect(divisor % 100 == 0)
          #expect(error.sqlState == "22012")
        case .failure(let error): Issue.record(error)
        }
      }
    }
  }

  @Test func `One bad write in a pipeline fails alone`() async throws {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let failures = await withTaskGroup(of: Bool.self) { group in
        for number in 0..<300 {
          group.addTask { (try? await database.pool.query(Self.add, number % 100 == 0 ? "" : "c\(number)")) == nil }
        }
        return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(failures == 3)
      let count = try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self)
      #expect(count == 297)
    }
  }

  @Test func `A statement that PostgreSQL cannot prepare fails each of its calls with the reason, and no other`()
    async throws
  {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let bad = Statement("test.bad", .write, "INSERT INTO no_such_table VALUES ($1::int8)")
      await withTaskGroup(of: Void.self) { group in
        for number in 1...100 {
          group.addTask {
            let error = await #expect(throws: PostgresError.self) { try await database.pool.query(bad, number) }
            if case .server(let failure) = error {
              #expect(failure.sqlState == "42P01")
            } else {
              Issue.record("\(error as Any)")
            }
          }
          group.addTask {
            let quotient = try? await database.pool.query(Self.divide, number)[0].decode(Int.self)
            #expect(quotient == 100 / number)
          }
        }
      }
    }
  }

  @Test func `A prepared statement works on when its tables change`() async throws {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let all = Statement("test.all", .read, "SELECT * FROM fruit")
      try await database.query("CREATE TABLE fruit (name text)")
      try await database.query("INSERT INTO fruit VALUES ('fig')")
      #expect(try await database.pool.query(all)[0].decode(String.self) == "fig")
      try await database.query("ALTER TABLE fruit ADD COLUMN weight int8 DEFAULT 7")
      #expect(try await database.pool.query(all)[0].get("weight") == 7)
      let plans = try await database.query("SELECT name FROM pg_prepared_statements WHERE name LIKE 'test.all%'")
      #expect(try plans.map { row throws(PostgresError) in try row.decode(String.self) } == ["test.all#2"])
      try await database.query("DEALLOCATE ALL")
      #expect(try await database.pool.query(all)[0].get("weight") == 7)
    }
  }

  @Test func `Reads share a Sync and each write has its own`() async throws {
    let directory = try TemporaryDirectory(named: "trace")
    defer { directory.remove() }
    let server = try await TestServer.shared
    let trace = "\(directory.path)/trace"
    try await withDatabase { database in
      let lock = Statement("test.lock", .write, "SELECT pg_advisory_lock($1::int8)")
      let unlock = Statement("test.unlock", .write, "SELECT pg_advisory_unlock($1::int8)")
      try await server.withPool(
        to: database.name,
        {
          $0.sharedConnections = 1
          $0.traceFile = trace
        }
      ) { pool in
        try await database.pool.transaction { holder in
          try await holder.query(lock, 1)
          // The first write waits for the lock; all that follows gathers behind it in the inbox, and is sent at once.
          async let blocked = pool.query(lock, 1)
          try await database.waits(untilRunning: 1, like: "%pg_advisory_lock%", waitingFor: "Lock")
          await withTaskGroup(of: Void.self) { group in
            let before = syncs(in: trace)
            for _ in 0..<50 { group.addTask { _ = try? await pool.query(Self.divide, 1) } }
            await pool.waits { $0.statementsInFlight == 51 }
            let reads = syncs(in: trace) - before
            #expect(reads < 50, "50 reads took \(reads) Syncs")
            for number in 0..<20 { group.addTask { _ = try? await pool.query(Self.add, "c\(number)") } }
            await pool.waits { $0.statementsInFlight == 71 }
            #expect(syncs(in: trace) - before - reads == 20)
            _ = try? await holder.query(unlock, 1)
          }
          _ = try await blocked
        }
      }
    }
  }

  private func syncs(in trace: String) -> Int {
    let text = (try? String(contentsOfFile: trace, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").count { $0.hasPrefix("F\t") && $0.contains("\tSync") }
  }
}
