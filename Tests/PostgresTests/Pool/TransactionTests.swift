import Postgres
import Support
import Testing

@Suite struct TransactionTests {
  private static let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
  private static let count = Statement("customer.count", .read, "SELECT count(*) FROM customer")
  private static let backend = Statement("test.backend", .read, "SELECT pg_backend_pid()")

  @Test func `A transaction commits all or nothing`() async throws {
    try await withDatabase { database in
      try await database.pool.transaction { transaction in
        try await transaction.query(Self.add, "first")
        try await transaction.query(Self.add, "second")
      }
      await #expect(throws: PostgresError.self) {
        try await database.pool.transaction { transaction in
          try await transaction.query(Self.add, "third")
          try await transaction.query(Self.add, "")
        }
      }
      #expect(try await database.pool.query(Self.count)[0].decode(Int.self) == 2)
    }
  }

  @Test func `Swallowing a failed statement's error does not make its transaction succeed`() async throws {
    try await withDatabase { database in
      await #expect(throws: PostgresError.self) {
        try await database.pool.transaction { transaction in _ = try? await transaction.query(Self.add, "") }
      }
    }
  }

  @Test func `One connection serves one transaction after the other`() async throws {
    try await withDatabase { database in
      var backends: Set<Int> = []
      for number in 0..<20 {
        backends.insert(
          try await database.pool.transaction { transaction in
            try await transaction.query(Self.add, "c\(number)")
            return try await transaction.query(Self.backend)[0].decode(Int.self)
          })
      }
      #expect(backends.count == 1)
    }
  }

  @Test func `The statements of one transaction may come from several tasks`() async throws {
    try await withDatabase { database in
      try await database.pool.transaction { transaction in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<100 { group.addTask { try await transaction.query(Self.add, "c\(number)") } }
          try await group.waitForAll()
        }
        #expect(try await transaction.query(Self.count)[0].decode(Int.self) == 100)
        #expect(try await database.pool.query(Self.count)[0].decode(Int.self) == 0)
      }
      #expect(try await database.pool.query(Self.count)[0].decode(Int.self) == 100)
    }
  }

  @Test func `A first statement cancelled before it was sent leaves the others within the transaction`() async throws {
    try await withDatabase { database in
      await #expect(throws: CancellationError.self) {
        try await database.pool.transaction { transaction in
          let first = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await transaction.query(Self.add, "first")
          }
          _ = await first.result
          try await transaction.query(Self.add, "second")
          throw CancellationError()
        }
      }
      let count = try await database.pool.query(Self.count)[0].decode(Int.self)
      #expect(count == 0)
    }
  }

  @Test func `A transaction that has ended takes no more statements`() async throws {
    try await withDatabase { database in
      let escaped = try await database.pool.transaction { transaction in
        try await transaction.query(Self.count)
        return transaction
      }
      await #expect(throws: PostgresError.self) { try await escaped.query(Self.count) }
    }
  }

  @Test func `A deferred constraint fails the COMMIT`() async throws {
    try await withDatabase { database in
      try await database.query(
        "CREATE TABLE pair (a int PRIMARY KEY, b int REFERENCES pair DEFERRABLE INITIALLY DEFERRED)")
      let add = Statement("pair.add", .write, "INSERT INTO pair VALUES ($1::int4, $2::int4)")
      for alone in [true, false] {
        let error = await #expect(throws: PostgresError.self) {
          if alone {
            try await database.pool.query(add, Int32(1), Int32(2))
          } else {
            try await database.pool.transaction { _ = try await $0.query(add, Int32(1), Int32(2)) }
          }
        }
        #expect(error?.constraint == "pair_b_fkey")
      }
      #expect(try await database.query("SELECT count(*) FROM pair")[0].decode(Int.self) == 0)
    }
  }
}
