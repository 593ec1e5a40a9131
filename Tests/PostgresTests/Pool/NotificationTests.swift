import Postgres
import Support
import Testing

@Suite struct NotificationTests {
  private static let notify = Statement("test.notify", .write, "SELECT pg_notify($1, $2)")

  @Test func `Notifications begin with a word that some may have been missed`() async throws {
    try await withDatabase { database in
      var notifications = database.pool.notifications(on: ["news", "it's \"odd\""]).makeAsyncIterator()
      #expect(try await notifications.next() == .mayHaveMissed)
      try await database.pool.query(Self.notify, "news", "one")
      #expect(try await notifications.next() == .notification(channel: "news", payload: "one"))
      try await database.pool.query(Self.notify, "it's \"odd\"", "two")
      #expect(try await notifications.next() == .notification(channel: "it's \"odd\"", payload: "two"))
    }
  }

  @Test func `A storm comes in order, and after a lost connection a word that some may have been missed`() async throws
  {
    try await withDatabase { database in
      let storm = Statement(
        "test.storm", .write, "SELECT pg_notify('storm', i::text) FROM generate_series($1::int4, $2::int4) i")
      let reader = Task {
        var (seen, missed) = ([Int](), 0)
        for try await element in database.pool.notifications(on: ["storm"]) {
          switch element {
          case .mayHaveMissed: missed += 1
          case .notification(_, let payload):
            seen.append(Int(payload) ?? -1)
            if payload == "0" { return (seen, missed) }
          }
        }
        return (seen, missed)
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
      while try await database.waits(untilRunning: 1, like: "LISTEN%", state: "idle") == listeners {}
      try await database.pool.query(Self.notify, "storm", "0")
      let (seen, missed) = try await reader.value
      #expect(seen.dropLast() == seen.dropLast().sorted()[...])
      #expect(Set(seen).count == seen.count)
      #expect(missed >= 2)
    }
  }

  @Test func `A slow reader's overflow is dropped and said`() async throws {
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
}
