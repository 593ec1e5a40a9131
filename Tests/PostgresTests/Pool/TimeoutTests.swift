import Support
import Testing

@testable import Postgres

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

@Suite struct TimeoutTests {
  private static let one = Statement("test.one", .read, "SELECT 1")

  @Test func `A statement that exceeds its limit times out, and the one behind it does not`() async throws {
    try await withDatabase { database in
      try await database.withPool({
        $0.sharedConnections = 1
        // Long enough for it to be seen running on a busy machine.
        $0.statementTimeout = .seconds(10)
      }) { pool in
        let sleep = Statement("test.sleep", .write, "SELECT pg_sleep(3600)")
        async let sleeper = #expect(throws: PostgresError.self) { try await pool.query(sleep) }
        try await database.waits(untilRunning: 1, like: "%pg_sleep%")
        async let next = pool.query(Self.one)
        guard case .timedOut(statement: "test.sleep") = await sleeper else {
          Issue.record("not timed out")
          return
        }
        #expect(try await next.count == 1)
      }
    }
  }

  @Test func `Nobody waits for a connection longer than the queue's limit`() async throws {
    try await withDatabase({
      $0.dedicatedConnections = 1
      $0.queueTimeout = .seconds(5)
    }) { database in
      // Opening the connection may take longer than that; handing it over does not.
      while await database.pool.status.dedicatedConnections == 0 { try? await database.pool.transaction { _ in } }
      try await database.pool.transaction { transaction in
        try await transaction.query(Self.one)
        let error = await #expect(throws: PostgresError.self) {
          try await database.pool.transaction { _ = try await $0.query(Self.one) }
        }
        // The database is there.
        guard case .busy = error else {
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
    settings.queueTimeout = .seconds(4)
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
                } catch PostgresError.busy {
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

  @Test func `No more transactions wait for a connection than the queue's limit allows`() async throws {
    try await withDatabase({
      $0.dedicatedConnections = 1
      $0.queueLimit = 1
    }) { database in
      try await database.pool.transaction { holder in
        try await holder.query(Self.one)
        let waiter = Task { try await database.pool.transaction { try await $0.query(Self.one).count } }
        await database.pool.waits { $0.transactionsWaiting == 1 }
        let error = await #expect(throws: PostgresError.self) {
          try await database.pool.transaction { _ = try await $0.query(Self.one) }
        }
        guard case .busy = error else {
          Issue.record("\(error as Any)")
          return
        }
        waiter.cancel()
        _ = await waiter.result
      }
    }
  }

  @Test func `The pool's time limit for statements overrides that of the connection string and the environment`()
    async throws
  {
    try await withDatabase { database in
      let theirs = "-c statement_timeout=7 -c work_mem=77kB"
      var settings = PoolConfiguration(
        connectionString: "\(database.connectionString) client_encoding=LATIN1 options='\(theirs)'")
      settings.statementTimeout = .seconds(20)
      settings.applicationName = "limits"
      let pool = Pool(settings, logger: TestServer.logger)
      let show = Statement(
        "test.show", .read,
        """
        SELECT current_setting('statement_timeout'), current_setting('work_mem'), current_setting('client_encoding'),
          current_setting('application_name')
        """)
      let row = try await pool.query(show)[0].decode(String.self, String.self, String.self, String.self)
      #expect(row == ("20s", "77kB", "UTF8", "limits"))
      await pool.close()
    }
  }

  @Test func `Options of the environment are kept where the connection string has none`() throws {
    func options(_ connectionString: String) throws -> String? {
      let settings = try ConnectionSettings(
        PoolConfiguration(connectionString: connectionString), ambientOptions: "-c geqo=off")
      return settings.values.first { $0.keyword == "options" }?.value
    }
    #expect(try options("dbname=a") == "-c jit=off -c geqo=off -c statement_timeout=30000")
    #expect(
      try options("dbname=a options='-c work_mem=77kB'")
        == "-c jit=off -c work_mem=77kB -c statement_timeout=30000")
  }

  @Test func `Where it is asked for, shared connections plan a statement once, and transactions for its parameters`()
    async throws
  {
    try await withDatabase { database in
      let show = Statement(
        "test.show", .read, "SELECT current_setting('plan_cache_mode'), current_setting('random_page_cost')")
      @Sendable func plans(_ database: any Querying) async throws -> [String] {
        let (mode, cost) = try await database.query(show)[0].decode(String.self, String.self)
        return [mode, cost]
      }
      let usual = try await plans(database.pool)
      #expect(usual[0] == "auto")
      try await database.withPool({ $0.plansOnce = true }) { pool in
        #expect(try await plans(pool) == ["force_generic_plan", "1.1"])
        let inTransaction = try await pool.transaction { try await plans($0) }
        #expect(inTransaction == usual)
      }
      // As on Citus.
      let options = " options='-c plan_cache_mode=auto'"
      try await database.withPool({
        $0.plansOnce = true
        $0.connectionString += options
      }) { pool in
        let mode = try await pool.query(show)[0].decode(String.self)
        #expect(mode == "auto")
      }
    }
  }

  @Test func `A server that hangs gets nothing more, and waiting statements are turned away in time`() async throws {
    try await withDatabase { database in
      try await database.withPool({
        $0.sharedConnections = 1
        $0.queueTimeout = .seconds(5)
        $0.hungAfter = .zero
      }) { pool in
        let backend = try await backend(of: pool)
        kill(backend, SIGSTOP)
        defer { kill(backend, SIGCONT) }
        async let stuck = pool.query(Self.one)
        await pool.waits { $0.statementsInFlight == 1 }
        let error = await #expect(throws: PostgresError.self) { try await pool.query(Self.one) }
        guard case .busy = error else {
          Issue.record("\(error as Any)")
          return
        }
        kill(backend, SIGCONT)
        #expect(try await stuck.count == 1)
        #expect(try await pool.query(Self.one).count == 1)
      }
    }
  }

  @Test func `The connection to a server that hangs is closed once the limit is long past`() async throws {
    try await withDatabase { database in
      try await database.withPool({
        $0.sharedConnections = 1
        $0.statementTimeout = .milliseconds(500)
      }) { pool in
        let backend = try await backend(of: pool)
        kill(backend, SIGSTOP)
        defer { kill(backend, SIGCONT) }
        let error = await #expect(throws: PostgresError.self) { try await pool.query(Self.one) }
        guard case .connectionLost = error else {
          Issue.record("\(error as Any)")
          return
        }
        #expect(try await self.backend(of: pool) != backend)
      }
    }
  }

  private func backend(of pool: Pool) async throws -> pid_t {
    while true {
      do {
        return pid_t(
          try await pool.query(Statement("test.pid", .read, "SELECT pg_backend_pid()"))[0].decode(Int32.self))
      } catch PostgresError.unavailable, PostgresError.busy {
        // The limits of these tests may be too short for a connection to be opened in,
      } catch PostgresError.timedOut {
        // or for a first statement.
      }
    }
  }
}
