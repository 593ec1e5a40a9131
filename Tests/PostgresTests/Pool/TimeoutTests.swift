import Postgres
import Support
import Testing

@Suite struct TimeoutTests {
  private static let one = Statement("test.one", .read, "SELECT 1")

  @Test func `A statement that takes longer than its limit times out, and its neighbour does not`() async throws {
    try await withDatabase { database in
      try await database.withPool({
        $0.sharedConnections = 1
        $0.statementTimeout = .seconds(1)
      }) { pool in
        let sleep = Statement("test.sleep", .write, "SELECT pg_sleep(3600)")
        async let sleeper = #expect(throws: PostgresError.self) { try await pool.query(sleep) }
        try await database.waits(untilRunning: 1, like: "%pg_sleep%")
        async let neighbour = pool.query(Self.one)
        guard case .timedOut(statement: "test.sleep") = await sleeper else {
          Issue.record("not timed out")
          return
        }
        #expect(try await neighbour.count == 1)
      }
    }
  }

  @Test func `Nobody waits for a connection longer than the queue's limit`() async throws {
    try await withDatabase({
      $0.lentConnections = 1
      $0.queueTimeout = .milliseconds(200)
    }) { database in
      // Opening the connection may take longer than that; handing it over does not.
      while await database.pool.status.lentConnections == 0 { try? await database.pool.transaction { _ in } }
      try await database.pool.transaction { transaction in
        try await transaction.query(Self.one)
        let error = await #expect(throws: PostgresError.self) {
          try await database.pool.transaction { _ = try await $0.query(Self.one) }
        }
        guard case .unavailable = error else {
          Issue.record("\(error as Any)")
          return
        }
      }
    }
  }

  @Test func `A server that does not answer a connection attempt is unavailable, and the reason says so`() async throws
  {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    let proxy = try DatabaseProxy(to: socket)
    defer { proxy.close() }
    proxy.block()
    var settings = PoolConfiguration(connectionString: proxy.connectionString(for: server.connectionString("postgres")))
    settings.connectTimeout = .milliseconds(100)
    settings.queueTimeout = .milliseconds(400)
    let pool = Pool(settings, logger: TestServer.logger)
    let error = await #expect(throws: PostgresError.self) { try await pool.query(Self.one) }
    guard case .unavailable(let reason) = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(reason.contains("no connection within 0.1"))
    await pool.close()
  }

  @Test func `A full queue turns statements away at once`() async throws {
    try await withDatabase { database in
      try await database.withPool({
        $0.sharedConnections = 1
        $0.queueLimit = 10
      }) { pool in
        let lock = Statement("test.lock", .write, "SELECT pg_advisory_lock(1)")
        let unlock = Statement("test.unlock", .write, "SELECT pg_advisory_unlock(1)")
        try await database.pool.transaction { holder in
          try await holder.query(lock)
          try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask { try await !pool.query(lock).isEmpty }
            try await database.waits(untilRunning: 1, like: "%advisory_lock%", waitingFor: "Lock")
            for _ in 0..<200 {
              group.addTask {
                do {
                  return try await !pool.query(Self.one).isEmpty
                } catch PostgresError.unavailable {
                  return false
                }
              }
            }
            // 127 are sent behind the first and ten wait.
            for _ in 0..<200 - 127 - 10 { #expect(try await group.next() == false) }
            try await holder.query(unlock)
            for try await answered in group { #expect(answered) }
          }
        }
      }
    }
  }
}
