import Foundation
import Postgres
import Support
import Locking
import Testing

@Suite struct LossTests {
  private static let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
  private static let one = Statement("test.one", .read, "SELECT 1")
  private static let lock = Statement("test.lock", .write, "SELECT pg_advisory_xact_lock(1)")
  private static let terminate = Statement("test.terminate", .read, "SELECT pg_terminate_backend($1::int4)")

  private enum Outcome: Hashable { case answered, lost, unknown, other }

  private static func outcome(_ body: () async throws -> Rows) async -> Outcome {
    do {
      _ = try await body()
      return .answered
    } catch PostgresError.connectionLost {
      return .lost
    } catch PostgresError.unknownOutcome {
      return .unknown
    } catch {
      return .other
    }
  }

  @Test func `A backend terminated in mid-pipeline fails exactly the calls in flight`() async throws {
    try await withDatabase { database in
      try await database.withPool({ $0.sharedConnections = 1 }) { pool in
        try await database.pool.transaction { holder in
          try await holder.query(Self.lock)
          let outcomes = await withTaskGroup(of: Outcome.self) { group in
            group.addTask { await Self.outcome { try await pool.query(Self.lock) } }
            let blocked = try? await database.waits(untilRunning: 1, like: "%xact_lock%", waitingFor: "Lock")
            for number in 1...150 {
              group.addTask { await Self.outcome { try await pool.query(Self.add, "c\(number)") } }
              group.addTask { await Self.outcome { try await pool.query(Self.one) } }
            }
            // As many as may be in flight are; the others wait, and must not be harmed.
            await pool.waits { $0.statementsInFlight == 128 && $0.statementsWaiting == 301 - 128 }
            _ = try? await database.pool.query(Self.terminate, Int32(blocked?.first ?? 0))
            return await group.reduce(into: [Outcome: Int]()) { $0[$1, default: 0] += 1 }
          }
          // None of them can have committed: the server ended the connection in the first, and said so.
          #expect(outcomes == [.answered: 301 - 128, .lost: 128])
        }
      }
    }
  }

  @Test func `A connection cut in mid-pipeline leaves writes in flight with unknown outcome, and reads without effect`()
    async throws
  {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    try await withDatabase { database in
      let proxy = try DatabaseProxy(to: socket)
      defer { proxy.close() }
      var settings = PoolConfiguration(connectionString: proxy.connectionString(for: database.connectionString))
      (settings.sharedConnections, settings.hungAfter) = (1, .seconds(60))
      settings.connectTimeout = .seconds(60)
      let through = Pool(settings, logger: TestServer.logger)
      try await database.pool.transaction { holder in
        try await holder.query(Self.lock)
        let outcomes = await withTaskGroup(of: (isWrite: Bool, Outcome).self) { group in
          group.addTask { (true, await Self.outcome { try await through.query(Self.lock) }) }
          _ = try? await database.waits(untilRunning: 1, like: "%xact_lock%", waitingFor: "Lock")
          for number in 1...20 {
            group.addTask { (true, await Self.outcome { try await through.query(Self.add, "c\(number)") }) }
            group.addTask { (false, await Self.outcome { try await through.query(Self.one) }) }
          }
          await through.waits { $0.statementsInFlight == 41 }
          proxy.cut()
          return await group.reduce(into: [(Bool, Outcome)]()) { $0.append($1) }
        }
        for (isWrite, outcome) in outcomes { #expect(outcome == (isWrite ? .unknown : .lost)) }
      }
      await through.close()
    }
  }

  @Test func `A write whose answer is lost has an unknown outcome, and may have been committed`() async throws {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    try await withDatabase { database in
      let proxy = try DatabaseProxy(to: socket)
      defer { proxy.close() }
      let through = Pool(
        PoolConfiguration(connectionString: proxy.connectionString(for: database.connectionString)),
        logger: TestServer.logger)
      try await through.query(Self.add, "before")
      proxy.holdReplies()
      async let outcome = Self.outcome { try await through.query(Self.add, "lost") }
      await proxy.replyIsHeld()
      proxy.cut()
      #expect(await outcome == .unknown)
      #expect(try await database.query("SELECT 1 FROM customer WHERE name = 'lost'").count == 1)
      // The pool recovers.
      try await through.query(Self.add, "after")
      await through.close()
    }
  }

  @Test func `A transaction lost before COMMIT never happened, one lost at COMMIT has an unknown outcome`() async throws
  {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    try await withDatabase { database in
      let proxy = try DatabaseProxy(to: socket)
      defer { proxy.close() }
      let through = Pool(
        PoolConfiguration(connectionString: proxy.connectionString(for: database.connectionString)),
        logger: TestServer.logger)
      let early = await #expect(throws: PostgresError.self) {
        try await through.transaction { transaction in
          try await transaction.query(Self.add, "early")
          proxy.cut()
          try await transaction.query(Self.add, "early")
        }
      }
      guard case .connectionLost = early else {
        Issue.record("\(early as Any)")
        return
      }
      async let late = #expect(throws: PostgresError.self) {
        try await through.transaction { transaction in
          try await transaction.query(Self.add, "late")
          proxy.holdReplies()
        }
      }
      await proxy.replyIsHeld()
      proxy.cut()
      guard case .unknownOutcome = await late else {
        Issue.record("not an unknown outcome")
        return
      }
      let names = try await database.query("SELECT name FROM customer").map { row throws(PostgresError) in
        try row.decode(String.self)
      }
      #expect(names == ["late"])
      await through.close()
    }
  }

  @Test func `While backends are terminated again and again, every write has its true outcome`() async throws {
    try await withDatabase { database in
      try await database.query("CREATE TABLE event (number int8 NOT NULL)")
      let record = Statement("event.record", .write, "INSERT INTO event VALUES ($1)")
      let kill = Statement(
        "test.kill", .write,
        "SELECT pg_terminate_backend(pid) FROM \(TestDatabase.activity) WHERE application_name = 'victim' ORDER BY random() LIMIT 1"
      )
      let outcomes = try await database.withPool({ $0.applicationName = "victim" }) { pool in
        try await withThrowingTaskGroup(of: (Int, Outcome).self) { group in
          var outcomes: [Int: Outcome] = [:]
          for round in 0..<20 {
            for number in round * 200..<round * 200 + 200 {
              group.addTask {
                if number % 10 == 0 {
                  return (
                    number,
                    await Self.outcome { try await pool.transaction { try await $0.query(record, number) } }
                  )
                }
                return (number, await Self.outcome { try await pool.query(record, number) })
              }
            }
            for _ in 0..<50 { if let (number, outcome) = try await group.next() { outcomes[number] = outcome } }
            try await database.pool.query(kill)
          }
          for try await (number, outcome) in group { outcomes[number] = outcome }
          return outcomes
        }
      }
      let stored = try await database.query("SELECT number FROM event").map { row throws(PostgresError) in
        try row.decode(Int.self)
      }
      #expect(Set(stored).count == stored.count, "a write was done twice")
      for (number, outcome) in outcomes {
        switch outcome {
        case .answered: #expect(stored.contains(number))
        case .lost: #expect(!stored.contains(number), "a write reported as lost was done")
        case .unknown: break
        case .other: Issue.record("\(number) had neither answer nor loss")
        }
      }
      #expect(outcomes.values.contains(.lost) || outcomes.values.contains(.unknown))
    }
  }

  /// The reactor's thread is held up, so that it writes to a connection that the server has closed behind a result. libpq then forgets
  /// what it has sent, and says without end that there is no further result.
  @Test func `A connection that ended behind an unread result is noticed`() async throws {
    try await withDatabase { database in
      try await database.withPool({ $0.sharedConnections = 1 }) { pool in
        let pid = try await pool.query(Statement("test.pid", .read, "SELECT pg_backend_pid()"))[0].decode(Int.self)
        let gate = Gate()
        let tasks = try await database.pool.transaction { holder in
          try await holder.query(Self.lock)
          // It ends with this transaction.
          let first = Task { _ = try? await pool.query(Self.lock) }
          try await database.waits(untilRunning: 1, like: "%xact_lock%", waitingFor: "Lock")
          // While the thread waits here, what follows gathers, to be taken in one turn. The pauses keep its order.
          let held = Task(executorPreference: pool.executor) { gate.wait(for: 1) }
          try await waitUntil { gate.waitsFor(1) }
          let turn = Task(executorPreference: pool.executor) { gate.wait(for: 2) }
          try await Task.sleep(for: .milliseconds(20))
          let second = Task { _ = try? await pool.query(Self.lock) }
          try await Task.sleep(for: .milliseconds(20))
          gate.open(1)
          try await waitUntil { gate.waitsFor(2) }
          return [first, held, turn, second]
        }
        let state = "SELECT count(*) FROM pg_stat_activity WHERE pid = \(pid)"
        try await waitUntil { try await database.query(state + " AND state = 'idle'")[0].decode(Int.self) == 1 }
        try await database.query("SELECT pg_terminate_backend(\(pid))")
        try await waitUntil { try await database.query(state)[0].decode(Int.self) == 0 }
        gate.open(2)
        for task in tasks { await task.value }
        #expect(try await pool.query(Statement("test.one", .read, "SELECT 1::int8"))[0].decode(Int.self) == 1)
      }
    }
  }

  /// Holds up threads until it is opened far enough.
  private final class Gate: Sendable {
    private let level = Atomic(0)
    private let awaited = Atomic(0)
    /// Whether a thread has come to wait for this.
    func waitsFor(_ level: Int) -> Bool { awaited.load(ordering: .acquiring) >= level }
    func open(_ level: Int) { self.level.store(level, ordering: .releasing) }
    func wait(for level: Int) {
      awaited.store(level, ordering: .releasing)
      while self.level.load(ordering: .acquiring) < level { usleep(1000) }
    }
  }

  @Test func `A pool outlives its server`() async throws {
    let directory = try TemporaryDirectory(named: "restart")
    defer { directory.remove() }
    var configuration = ClusterConfiguration(directory: directory.path)
    configuration.isDurable = false
    let first = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    var settings = PoolConfiguration(connectionString: first.connectionString(database: "postgres"))
    settings.queueTimeout = .seconds(2)
    let pool = Pool(settings, logger: TestServer.logger)
    await pool.waits { $0.sharedConnections > 0 }
    try await pool.query(Statement("test.create", .write, "CREATE TABLE kept AS SELECT 42 AS answer"))
    #expect(pool.isReady)
    await first.stop()
    let error = await #expect(throws: PostgresError.self) { try await pool.query(Self.one) }
    guard case .unavailable = error else {
      Issue.record("\(error as Any)")
      return
    }
    #expect(!pool.isReady)
    let second = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    await pool.waits { $0.sharedConnections > 0 }
    #expect(pool.isReady)
    let kept = Statement("test.kept", .read, "SELECT answer FROM kept")
    #expect(try await pool.query(kept)[0].decode(Int.self) == 42)
    await pool.close()
    await second.stop()
  }
}
