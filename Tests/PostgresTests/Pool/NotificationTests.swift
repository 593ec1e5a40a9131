import Locking
import Postgres
import Support
import Testing

@Suite struct NotificationTests {
  private static let notify = Statement("test.notify", .write, "SELECT pg_notify($1, $2)")

  @Test func `The first element says that notifications may have been missed`() async throws {
    try await withDatabase { database in
      var notifications = database.pool.notifications(on: ["news", "it's \"odd\""]).makeAsyncIterator()
      #expect(try await notifications.next() == .mayHaveMissed)
      try await database.pool.query(Self.notify, "news", "one")
      #expect(try await notifications.next() == .notification(channel: "news", payload: "one"))
      try await database.pool.query(Self.notify, "it's \"odd\"", "two")
      #expect(try await notifications.next() == .notification(channel: "it's \"odd\"", payload: "two"))
    }
  }

  @Test func `Many notifications arrive in order, and a lost connection is reported as a possible gap`() async throws {
    try await withDatabase { database in
      let storm = Statement(
        "test.storm", .write, "SELECT pg_notify('storm', i::text) FROM generate_series($1::int4, $2::int4) i")
      let hasEnded = Mutex(false)
      let reader = Task {
        defer { hasEnded.withLock { $0 = true } }
        // Without such an element in between there is no gap.
        var runs: [[Int]] = []
        for try await element in database.pool.notifications(on: ["storm"]) {
          switch element {
          case .mayHaveMissed: runs.append([])
          case .notification(_, "0"): return runs
          case .notification(_, let payload): runs[runs.count - 1].append(try #require(Int(payload)))
          }
        }
        return runs
      }
      let listeners = try await database.waits(untilRunning: 1, like: "LISTEN%", state: "idle")
      for batch in 0..<20 {
        let first = Int32(batch * 1000 + 1)
        try await database.pool.query(storm, first, first + 999)
        if batch == 10 {
          try await database.pool.query(
            Statement("test.terminate", .write, "SELECT pg_terminate_backend($1::int4)"), Int32(listeners[0]))
        }
      }
      try await waitUntil { try await database.waits(untilRunning: 1, like: "LISTEN%", state: "idle") != listeners }
      // A reader that is too slow misses some, and this could be among them.
      try await waitUntil {
        try await database.pool.query(Self.notify, "storm", "0")
        return hasEnded.withLock(\.self)
      }
      let runs = try await reader.value
      #expect(runs.count >= 2)
      for run in runs { #expect(run == run.first.map { Array($0..<$0 + run.count) } ?? []) }
      let seen = runs.joined()
      #expect(zip(seen, seen.dropFirst()).allSatisfy { $0 < $1 })
    }
  }

  @Test func `A slow reader's overflow is dropped and reported as a gap`() async throws {
    try await withDatabase { database in
      var slow = database.pool.notifications(on: ["flood"]).makeAsyncIterator()
      var quick = database.pool.notifications(on: ["end"]).makeAsyncIterator()
      #expect(try await slow.next() == .mayHaveMissed)
      #expect(try await quick.next() == .mayHaveMissed)
      let flood = Statement("test.flood", .write, "SELECT pg_notify('flood', i::text) FROM generate_series(1, 3000) i")
      try await database.pool.query(flood)
      try await database.pool.query(Self.notify, "end", "")
      _ = try await quick.next()
      var received = 0
      while case .notification = try await slow.next() { received += 1 }
      #expect(received == Notifications.bufferLimit)
      try await database.pool.query(Self.notify, "flood", "more")
      #expect(try await slow.next() == .notification(channel: "flood", payload: "more"))
    }
  }

  @Test func `A cancelled reader's sequence ends, and so does one whose pool closes`() async throws {
    try await withDatabase { database in
      let read = { @Sendable (pool: Pool) in
        var missed = 0
        for try await element in pool.notifications(on: ["news"]) where element == .mayHaveMissed { missed += 1 }
        return missed
      }
      let cancelled = Task { try await read(database.pool) }
      try await database.waits(untilRunning: 1, like: "LISTEN%", state: "idle")
      cancelled.cancel()
      #expect(try await cancelled.value <= 1)
      try await database.waits(untilRunning: 0, like: "LISTEN%", state: "idle")
      try await database.withPool { pool in
        async let closed = read(pool)
        try await database.waits(untilRunning: 1, like: "LISTEN%", state: "idle")
        await pool.close()
        #expect(try await closed <= 1)
      }
    }
  }

  @Test func `A channel name that PostgreSQL would truncate or refuse is an error for its reader`() async throws {
    try await withDatabase { database in
      var long = database.pool.notifications(on: [String(repeating: "é", count: 32)]).makeAsyncIterator()
      let misuse = await #expect(throws: PostgresError.self) { try await long.next() }
      guard case .misuse = misuse else {
        Issue.record("\(misuse as Any)")
        return
      }
      var empty = database.pool.notifications(on: [""]).makeAsyncIterator()
      let refused = await #expect(throws: PostgresError.self) { try await empty.next() }
      guard case .server(let error) = refused else {
        Issue.record("\(refused as Any)")
        return
      }
      #expect(error.statement == "notification.listen")
      // The connection is still good.
      var good = database.pool.notifications(on: [String(repeating: "x", count: 63)]).makeAsyncIterator()
      let element = try await good.next()
      #expect(element == .mayHaveMissed)
    }
  }
}
