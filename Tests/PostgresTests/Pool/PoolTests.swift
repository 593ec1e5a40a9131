import Postgres
import Support
import Testing

@Suite struct PoolTests {
  @Test func `A statement answers with its rows`() async throws {
    try await withDatabase { database in
      let sum = Statement("test.sum", .read, "SELECT $1::int8 + $2::int8, $3::text")
      let (total, text) = try await database.pool.query(sum, 40, 2, "œuvre")[0].decode(Int.self, String.self)
      #expect(total == 42)
      #expect(text == "œuvre")
    }
  }

  @Test func `Ten thousand tasks share four connections`() async throws {
    try await withDatabase { database in
      // Each takes a while, so that one connection is not done before the others are open.
      let echo = Statement("test.echo", .read, "SELECT $1::int8, pg_backend_pid() FROM pg_sleep(0.001)")
      let backends = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<10_000 {
          group.addTask {
            let (echoed, backend) = try await database.pool.query(echo, number)[0].decode(Int.self, Int.self)
            #expect(echoed == number)
            return backend
          }
        }
        return try await group.reduce(into: Set<Int>()) { $0.insert($1) }
      }
      #expect(backends.count == 4)
    }
  }

  @Test func `A failing statement names itself, its SQLSTATE and its constraint`() async throws {
    try await withDatabase { database in
      let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
      let error = await #expect(throws: PostgresError.self) { try await database.pool.query(add, "") }
      guard case .server(let failure) = error else {
        Issue.record("not an error of the server: \(String(describing: error))")
        return
      }
      #expect(failure.sqlState == ServerError.checkViolation)
      #expect(failure.constraint == "customer_name_present")
      #expect(failure.statement == "customer.add")
    }
  }

  @Test func `A pool that drains finishes what is in flight and takes no more`() async throws {
    try await withDatabase { database in
      // The statement that probes the pool must not wait behind the one to be finished.
      try await database.withPool({ $0.hungAfter = .zero }) { pool in
        let lock = Statement("test.lock", .write, "SELECT pg_advisory_xact_lock(1)")
        let (answer, closing) = try await database.pool.transaction { holder in
          try await holder.query(lock)
          let answer = Task { try await pool.query(lock) }
          try await database.waits(untilRunning: 1, like: "%xact_lock%", waitingFor: "Lock")
          let closing = Task { await pool.close() }
          while true {
            do {
              try await pool.query(Statement("test.one", .read, "SELECT 1"))
            } catch PostgresError.unavailable {
              break
            }
          }
          return (answer, closing)
        }
        await closing.value
        #expect(try await answer.value.count == 1)
      }
    }
  }

  @Test func `A pool runs as a service until its task is cancelled`() async throws {
    try await withDatabase { database in
      try await database.withPool { pool in
        let service = Task { try await pool.run() }
        await pool.waits { $0.sharedConnections == 1 }
        #expect(pool.isReady)
        service.cancel()
        try await service.value
        #expect(!pool.isReady)
      }
    }
  }
}
