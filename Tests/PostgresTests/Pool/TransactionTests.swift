import Support
import Testing

@testable import Postgres

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

  @Test func `A transaction with a failed statement does not succeed though the error was caught`() async throws {
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

  @Test func `Whichever of several tasks sends first, all statements are within the transaction`() async throws {
    struct Undone: Error {}
    try await withDatabase { database in
      for round in 0..<200 {
        await #expect(throws: Undone.self) {
          try await database.pool.transaction { transaction in
            try await withThrowingTaskGroup(of: Void.self) { group in
              for number in 0..<4 {
                group.addTask { try await transaction.query(Self.add, "c\(round)-\(number)") }
              }
              try await group.waitForAll()
            }
            throw Undone()
          }
        }
      }
      let left = try await database.pool.query(Self.count)[0].decode(Int.self)
      #expect(left == 0)
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

  @Test func `A statement that comes after the release does not get into the next transaction`() async throws {
    try await withDatabase({ $0.dedicatedConnections = 1 }) { database in
      let old = try await database.pool.leaseConnection()
      old.release()
      let new = try await database.pool.leaseConnection()
      #expect(old.session === new.session)
      let misuse = "late: the transaction has ended already"
      let late = Statement("late", .write, "SELECT 1")
      let run = await #expect(throws: PostgresError.self) { try await old.run(late, role: .within) }
      #expect(run?.description == misuse)
      let script = await #expect(throws: PostgresError.self) { try await old.runScript("late", "SELECT 1") }
      #expect(script?.description == misuse)
      await #expect(throws: PostgresError.self) {
        try await old.copyIn("COPY customer (name) FROM STDIN", AsyncStream { nil }, isWithinTransaction: true)
      }
      #expect(try await new.run(Self.backend, role: .within).count == 1)
      new.release()
    }
  }

  @Test func `A statement between COMMIT and its answer is refused`() async throws {
    try await withDatabase { database in
      let lease = try await database.pool.leaseConnection()
      let commit = Statement("transaction.commit", .write, "COMMIT")
      try await lease.run(Self.add, ParameterBuffer("in time"), role: .within, after: [Statement("b", .write, "BEGIN")])
      try await lease.run(commit, role: .commit, isLast: true)
      await #expect(throws: PostgresError.self) {
        try await lease.run(Self.add, ParameterBuffer("late"), role: .within)
      }
      lease.release()
      #expect(try await database.pool.query(Self.count)[0].decode(Int.self) == 1)
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
  @Test(arguments: [("name_key_102809", "name_key"), ("name_key", "name_key"), ("name_key_2", "name_key_2")])
  func `A violated constraint goes by its name without the number of Citus's shard`(_ name: String, _ told: String)
    async throws
  {
    try await withDatabase { database in
      try await database.query("CREATE TABLE sole (a int CONSTRAINT \(name) UNIQUE)")
      let error = await #expect(throws: PostgresError.self) {
        try await database.query("INSERT INTO sole VALUES (1), (1)")
      }
      #expect(error?.constraint == told)
    }
  }
}
