import Postgres
import Support
import Testing

@Suite struct DeadlineTests {
  private static let one = Statement("test.one", .read, "SELECT 1")
  private static let add = Statement("customer.add", .write, "INSERT INTO customer (name) VALUES ($1)")
  private static let lockShared = Statement("test.lock_shared", .write, "SELECT pg_advisory_xact_lock_shared(1)")
  private static let lock = Statement("test.lock", .write, "SELECT pg_advisory_xact_lock(1)")
  private static let readLocked = Statement("test.read_locked", .read, "SELECT pg_advisory_xact_lock_shared(1)")

  private enum Outcome: Equatable { case answered, notSent, timedOut, unknown, other }

  private static func outcome(_ body: () async throws -> Void) async -> Outcome {
    do {
      try await body()
      return .answered
    } catch PostgresError.unavailable, PostgresError.busy {
      return .notSent
    } catch PostgresError.timedOut {
      return .timedOut
    } catch PostgresError.unknownOutcome {
      return .unknown
    } catch {
      return .other
    }
  }

  /// Runs `body` while a lock is held that statements of this suite wait for.
  private func withLock(
    _ configure: (inout PoolConfiguration) -> Void = { _ in },
    _ body: @Sendable (TestDatabase, Pool) async throws -> Void
  ) async throws {
    try await withDatabase { database in
      try await database.withPool(configure) { pool in
        try await database.pool.transaction { holder in
          try await holder.query(Self.lock)
          try await body(database, pool)
        }
      }
    }
  }

  @Test func `A statement given up at its deadline is cancelled on the server`() async throws {
    try await withLock { database, pool in
      // A loaded machine may take a while to connect, and to send them.
      try await pool.query(Self.one)
      let limited = pool.limited(to: .seconds(5))
      #expect(await Self.outcome { try await limited.query(Self.readLocked) } == .timedOut)
      #expect(await Self.outcome { try await limited.query(Self.lockShared) } == .unknown)
      try await database.waits(untilRunning: 0, like: "%xact_lock_shared%")
    }
  }

  @Test func `Statements behind one that is given up are answered`() async throws {
    try await withLock({
      $0.sharedConnections = 1
      $0.hungAfter = .seconds(60)
    }) { database, pool in
      try await pool.query(Self.one)
      // Long enough for it to be seen waiting on a busy machine.
      async let late = Self.outcome {
        try await pool.query(Self.lockShared, deadline: .now + .seconds(10))
      }
      try await database.waits(untilRunning: 1, like: "%xact_lock_shared%", waitingFor: "Lock")
      async let next = Self.outcome { try await pool.query(Self.add, "next") }
      #expect(await late == .unknown)
      #expect(await next == .answered)
    }
  }

  @Test func `A write that no connection takes before its deadline has no effect`() async throws {
    var settings = PoolConfiguration(connectionString: "host=/nowhere")
    settings.queueTimeout = .seconds(60)
    let pool = Pool(settings, logger: TestServer.logger)
    // The first has the pool's limit, and does not keep the second from ending.
    let first = Task { try await pool.query(Self.add, "first") }
    await pool.waits { $0.statementsWaiting == 1 }
    #expect(await Self.outcome { try await pool.limited(to: .milliseconds(10)).query(Self.add, "second") } == .notSent)
    let isFirstWaiting = await pool.status.statementsWaiting == 1
    #expect(isFirstWaiting)
    first.cancel()
    await #expect(throws: CancellationError.self) { try await first.value }
    await pool.close()
  }

  @Test func `A statement whose deadline has passed is not sent`() async throws {
    try await withDatabase { database in
      let past = ContinuousClock.now
      #expect(await Self.outcome { try await database.pool.query(Self.add, "late", deadline: past) } == .notSent)
      // A view with a later deadline does not move an earlier one.
      let view = database.pool.limited(to: .seconds(3600))
      #expect(await Self.outcome { try await view.query(Self.add, "late", deadline: past) } == .notSent)
      let count = try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self)
      #expect(count == 0)
    }
  }

  @Test func `A transaction whose statement misses its deadline is rolled back`() async throws {
    try await withLock { database, pool in
      let outcome = await Self.outcome {
        try await pool.transaction { transaction in
          try await transaction.query(Self.add, "rolled back")
          try await transaction.limited(to: .milliseconds(50)).query(Self.lockShared)
        }
      }
      #expect(outcome == .timedOut)
      let isFirst = await Self.outcome {
        try await pool.transaction { _ = try await $0.limited(to: .zero).query(Self.add, "never sent") }
      }
      #expect(isFirst == .timedOut)
      try await pool.transaction { _ = try await $0.query(Self.add, "kept") }
      let names = try await database.query("SELECT name FROM customer").map { row throws(PostgresError) in
        try row.decode(String.self)
      }
      #expect(names == ["kept"])
    }
  }
}
