import Postgres
import Support
import Locking
import Testing

/// Tasks that run on a pool's thread.
@Suite struct ExecutorTests {
  private static let one = Statement("test.one", .read, "SELECT 1::int8")

  private func askOne(_ pool: Pool) async throws {
    let one = try await pool.query(Self.one)[0].decode(Int.self)
    #expect(one == 1)
  }

  /// Whether the caller's task runs where `pool` wants its tasks.
  private func isOn(_ pool: Pool) -> Bool {
    withUnsafeCurrentTask { task in
      pool.executor.map { $0.asUnownedTaskExecutor() == task?.unownedTaskExecutor } ?? false
    }
  }

  @Test func `A batch's call runs on the pool's thread, and other statements go on beside many of them`() async throws {
    try await withDatabase { database in
      let pool = database.pool
      let calls = Mutex(0)
      let batcher = Batcher<Int, Int>(
        BatchLimits(batchWeight: 10, items: 10_000), full: CancellationError(), on: pool.executor
      ) { _, items in
        #expect(isOn(pool))
        calls.withLock { $0 += 1 }
        try await askOne(pool)
        #expect(isOn(pool))
        return items
      }
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<2000 {
          group.addTask {
            let answer = try await batcher.answer(Int64(number % 7), number)
            #expect(answer == number)
          }
          group.addTask { try await askOne(pool) }
        }
        try await group.waitForAll()
      }
      #expect(calls.withLock(\.self) >= 200)
    }
  }

  @Test func `A task that yields without end leaves the pool to others`() async throws {
    try await withDatabase { database in
      let pool = database.pool
      let busy = Task(executorPreference: pool.executor) { while !Task.isCancelled { await Task.yield() } }
      for _ in 0..<100 { try await askOne(pool) }
      busy.cancel()
      await busy.value
    }
  }

  @Test func `Tasks end although their pool was closed before or meanwhile`() async throws {
    try await withDatabase { database in
      try await database.withPool { pool in
        let (signals, signal) = AsyncStream<Void>.makeStream()
        let task = Task(executorPreference: pool.executor) {
          try await askOne(pool)
          for await _ in signals {}
          // By now the thread has ended.
          await #expect(throws: PostgresError.self) { try await pool.query(Self.one) }
        }
        try await askOne(pool)
        await pool.close()
        signal.finish()
        try await task.value
        let late = Task(executorPreference: pool.executor) {
          await Task.yield()
          return 1
        }
        #expect(await late.value == 1)
      }
    }
  }

  @Test func `A thousand tasks end while their pool closes`() async throws {
    try await withDatabase { database in
      try await database.withPool { pool in
        await withTaskGroup(of: Void.self) { group in
          for number in 0..<1000 {
            group.addTask(executorPreference: pool.executor) {
              _ = try? await pool.query(Self.one)
              await Task.yield()
              _ = try? await pool.query(Self.one)
            }
            if number == 500 { group.addTask { await pool.close() } }
          }
        }
      }
    }
  }
}
