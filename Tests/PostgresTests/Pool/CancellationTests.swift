import Postgres
import Support
import Testing

@Suite struct CancellationTests {
  private static let sleep = Statement("test.sleep", .write, "SELECT pg_sleep(3600)")
  private static let one = Statement("test.one", .read, "SELECT 1")
  private static let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")

  @Test func `Cancelling a task cancels its statement on the server, and no other`() async throws {
    try await withDatabase { database in
      try await database.withPool({ $0.sharedConnections = 1 }) { pool in
        let sleeper = Task { try await pool.query(Self.sleep) }
        try await database.waits(untilRunning: 1, like: "%pg_sleep%")
        let others = Task {
          try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 1...50 {
              group.addTask { try await pool.query(Self.add, "c\(number)") }
              group.addTask { try await pool.query(Self.one) }
            }
            try await group.waitForAll()
          }
        }
        await pool.waits { $0.statementsInFlight == 101 }
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        try await others.value
        #expect(try await database.backends(running: "%pg_sleep%").isEmpty)
        #expect(try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self) == 50)
      }
    }
  }

  @Test func `The first statement of a transaction can be cancelled, though BEGIN travels with it`() async throws {
    try await withDatabase { database in
      let task = Task { try await database.pool.transaction { _ = try await $0.query(Self.sleep) } }
      try await database.waits(untilRunning: 1, like: "%pg_sleep(3600%")
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
    }
  }

  @Test func `A cancelled statement that was not sent leaves the queue`() async throws {
    try await withDatabase({ $0.sharedConnections = 1 }) { database in
      let tasks = (1...200).map { _ in Task { try await database.pool.query(Self.sleep) } }
      await database.pool.waits { $0.statementsInFlight + $0.statementsWaiting == 200 }
      for task in tasks.reversed() { task.cancel() }
      for task in tasks { await #expect(throws: CancellationError.self) { try await task.value } }
      try await database.pool.query(Self.one)
    }
  }

  @Test func `A task that is cancelled already sends nothing`() async throws {
    try await withDatabase { database in
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        try await database.pool.query(Self.add, "never")
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      let count = try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self)
      #expect(count == 0)
    }
  }

  @Test func `Many cancellations leave every other statement with its own answer`() async throws {
    try await withDatabase { database in
      try await database.withPool({ $0.sharedConnections = 2 }) { pool in
        let nap = Statement("test.nap", .write, "SELECT pg_sleep(0.001)")
        let echo = Statement("test.echo", .read, "SELECT $1::int8")
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<500 {
            group.addTask {
              let napper = Task { try await pool.query(nap) }
              try await pool.query(Self.add, "c\(number)")
              napper.cancel()
              #expect(try await pool.query(echo, number)[0].decode(Int.self) == number)
              _ = await napper.result
            }
          }
          try await group.waitForAll()
        }
        #expect(try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self) == 500)
      }
    }
  }

  @Test func `A cancelled transaction is rolled back, and its connection reset or closed`() async throws {
    try await withDatabase({ $0.dedicatedConnections = 1 }) { database in
      let task = Task {
        try await database.pool.transaction { transaction in
          try await transaction.query(Self.add, "rolled back")
          try await transaction.query(Self.sleep)
        }
      }
      try await database.waits(untilRunning: 1, like: "%pg_sleep%")
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await database.pool.transaction { _ = try await $0.query(Self.add, "kept") }
      #expect(try await database.query("SELECT name FROM customer")[0].decode(String.self) == "kept")
    }
  }

  @Test func `Waiting for a lease can be cancelled`() async throws {
    try await withDatabase({ $0.dedicatedConnections = 1 }) { database in
      try await database.pool.transaction { transaction in
        try await transaction.query(Self.one)
        let waiter = Task { try await database.pool.transaction { _ = try await $0.query(Self.one) } }
        await database.pool.waits { $0.transactionsWaiting == 1 }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
      }
    }
  }
}
