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
      let echo = Statement("test.echo", .read, "SELECT $1::int8, pg_backend_pid()")
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
      #expect((1...4).contains(backends.count))
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

  @Test func `A transaction commits all or nothing`() async throws {
    try await withDatabase { database in
      let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
      let count = Statement("customer.count", .read, "SELECT count(*) FROM customer")
      try await database.pool.transaction { transaction in
        try await transaction.query(add, "first")
        try await transaction.query(add, "second")
      }
      await #expect(throws: PostgresError.self) {
        try await database.pool.transaction { transaction in
          try await transaction.query(add, "third")
          try await transaction.query(add, "")
        }
      }
      #expect(try await database.pool.query(count)[0].decode(Int.self) == 2)
    }
  }

  @Test func `Swallowing a failed statement's error does not make its transaction succeed`() async throws {
    try await withDatabase { database in
      let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
      await #expect(throws: PostgresError.self) {
        try await database.pool.transaction { transaction in _ = try? await transaction.query(add, "") }
      }
    }
  }

  @Test func `Notifications begin with a word that some may have been missed`() async throws {
    try await withDatabase { database in
      var notifications = database.pool.notifications(on: ["news"]).makeAsyncIterator()
      #expect(try await notifications.next() == .mayHaveMissed)
      try await database.query("SELECT pg_notify('news', 'one')")
      #expect(try await notifications.next() == .notification(channel: "news", payload: "one"))
    }
  }
}
