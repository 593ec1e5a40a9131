import Postgres
import Support
import Locking
import Testing

@Suite struct CopyTests {
  private static let toFruit = "COPY fruit FROM STDIN"
  private struct Spoilt: Error {}

  private func withFruit(_ body: (TestDatabase) async throws -> Void) async throws {
    try await withDatabase({ $0.dedicatedConnections = 1 }) { database in
      try await database.query("CREATE TABLE fruit (number int8 PRIMARY KEY, name text NOT NULL)")
      try await body(database)
    }
  }

  private func count(_ database: TestDatabase) async throws -> Int {
    try await database.query("SELECT count(*) FROM fruit")[0].decode(Int.self)
  }

  private func rows(_ numbers: Range<Int>) -> AsyncStream<[UInt8]> {
    let next = Mutex(numbers.lowerBound)
    return AsyncStream {
      let number = next.withLock { next in
        defer { next += 1 }
        return next
      }
      return number < numbers.upperBound ? Array("\(number)\tfruit \(number)\n".utf8) : nil
    }
  }

  @Test func `Many rows go in, and come out`() async throws {
    try await withFruit { database in
      let count = sampleSize(of: 1_000_000)
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<count)) == count)
      var (rowCount, sum) = (0, 0)
      for try await row in database.pool.copyOut("COPY fruit (number) TO STDOUT") {
        rowCount += 1
        sum += Int(String(decoding: row.dropLast(), as: UTF8.self)) ?? 0
      }
      #expect(rowCount == count)
      #expect(sum == (count - 1) * count / 2)
    }
  }

  @Test func `Chunks may cut rows anywhere`() async throws {
    try await withFruit { database in
      let text = Array((0..<1000).map { "\($0)\tfruit\n" }.joined().utf8)
      let chunks = AsyncStream<[UInt8]> { continuation in
        for start in stride(from: 0, to: text.count, by: 7) { continuation.yield(Array(text[start...].prefix(7))) }
        continuation.finish()
      }
      let copied = try await database.pool.copyIn(Self.toFruit, chunks)
      #expect(copied == 1000)
    }
  }

  @Test func `A bad row fails the COPY, keeps nothing and spares the connection`() async throws {
    try await withFruit { database in
      let chunks = AsyncStream<[UInt8]> { continuation in
        continuation.yield(Array("1\tfig\nbad\tkiwi\n".utf8))
        for number in 2..<300_000 { continuation.yield(Array("\(number)\tfig\n".utf8)) }
        continuation.finish()
      }
      let error = await #expect(throws: PostgresError.self) { try await database.pool.copyIn(Self.toFruit, chunks) }
      guard case .server(let failure) = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(failure.sqlState == "22P02")
      let kept = try await count(database)
      #expect(kept == 0)
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<10)) == 10)
    }
  }

  @Test func `A COPY whose source fails keeps nothing`() async throws {
    try await withFruit { database in
      let chunks = AsyncThrowingStream<[UInt8], any Error> { continuation in
        continuation.yield(Array("1\tfig\n".utf8))
        continuation.finish(throwing: Spoilt())
      }
      await #expect(throws: Spoilt.self) { try await database.pool.copyIn(Self.toFruit, chunks) }
      let kept = try await count(database)
      #expect(kept == 0)
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<10)) == 10)
    }
  }

  @Test func `A cancelled COPY keeps nothing`() async throws {
    try await withFruit { database in
      let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
      let task = Task { try await database.pool.copyIn(Self.toFruit, chunks) }
      feed.yield(Array("1\tfig\n".utf8))
      try await database.waits(untilRunning: 1, like: "%COPY fruit%")
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await count(database) == 0)
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<10)) == 10)
    }
  }

  @Test func `A COPY that waits for a lock can be cancelled`() async throws {
    try await withFruit { database in
      try await database.withPool { other in
        try await other.transaction { holder in
          try await holder.query(Statement("test.lock", .write, "LOCK TABLE fruit"))
          let task = Task { try await database.pool.copyIn(Self.toFruit, rows(0..<10)) }
          try await database.waits(untilRunning: 1, like: "%COPY fruit%", waitingFor: "Lock")
          task.cancel()
          await #expect(throws: CancellationError.self) { try await task.value }
        }
      }
      #expect(try await count(database) == 0)
    }
  }

  @Test func `A COPY within a transaction is committed and rolled back with it`() async throws {
    try await withFruit { database in
      await #expect(throws: Spoilt.self) {
        try await database.pool.transaction { transaction in
          _ = try await transaction.copyIn(Self.toFruit, rows(0..<10))
          throw Spoilt()
        }
      }
      #expect(try await count(database) == 0)
      try await database.pool.transaction { transaction in
        _ = try await transaction.copyIn(Self.toFruit, rows(0..<10))
        let remove = Statement("fruit.remove", .write, "DELETE FROM fruit WHERE number = 0")
        #expect(try await transaction.query(remove).affected == 1)
      }
      #expect(try await count(database) == 9)
    }
  }

  @Test func `A reader that leaves early does not block its connection for others`() async throws {
    try await withFruit { database in
      for _ in 0..<3 {
        for try await row in database.pool.copyOut("COPY (SELECT generate_series(1, 10000000)) TO STDOUT") {
          #expect(row == Array("1\n".utf8))
          break
        }
      }
      try await database.waits(untilRunning: 0, like: "%generate_series(1%")
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<10)) == 10)
    }
  }

  @Test func `A cancelled reader's COPY is cancelled on the server`() async throws {
    try await withFruit { database in
      let task = Task {
        for try await _ in database.pool.copyOut("COPY (SELECT pg_sleep(3600)) TO STDOUT") {}
      }
      try await database.waits(untilRunning: 1, like: "%pg_sleep%")
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await database.waits(untilRunning: 0, like: "%pg_sleep%")
    }
  }

  @Test func `A reader sees the error that ends its rows`() async throws {
    try await withFruit { database in
      let error = await #expect(throws: PostgresError.self) {
        for try await _ in database.pool.copyOut("COPY (SELECT 1 / (10 - i) FROM generate_series(1, 20) i) TO STDOUT") {
        }
      }
      guard case .server(let failure) = error else {
        Issue.record("\(error as Any)")
        return
      }
      #expect(failure.sqlState == "22012")
    }
  }

  @Test func `A statement that is not a COPY is refused`() async throws {
    try await withFruit { database in
      await #expect(throws: PostgresError.self) { try await database.pool.copyIn("SELECT 1", rows(0..<1)) }
      await #expect(throws: PostgresError.self) { for try await _ in database.pool.copyOut("SELECT 1") {} }
      await #expect(throws: PostgresError.self) { for try await _ in database.pool.copyOut(Self.toFruit) {} }
      let copied = try await database.pool.copyIn(Self.toFruit, rows(0..<10))
      #expect(copied == 10)
    }
  }

  @Test func `Notices that a trigger raises do not cut a COPY short`() async throws {
    try await withFruit { database in
      try await database.query(
        """
        CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN RAISE NOTICE '%', repeat('E', 5000); RETURN new; END $$
        """)
      try await database.query("CREATE TRIGGER shout BEFORE INSERT ON fruit FOR EACH ROW EXECUTE FUNCTION shout()")
      #expect(try await database.pool.copyIn(Self.toFruit, rows(0..<20_000)) == 20_000)
      #expect(try await count(database) == 20_000)
    }
  }

  @Test func `A COPY is fed no further once the server has refused a row`() async throws {
    let most = 20_000
    try await withFruit { database in
      let given = Mutex(0)
      let chunks = AsyncStream<[UInt8]> {
        guard
          given.withLock({ count in
            count += 1
            return count < most
          })
        else { return nil }
        return Array("bad\tkiwi\n".utf8) + [UInt8](repeating: 0x31, count: 100_000) + Array("\tfig\n".utf8)
      }
      // Only the server's error ends it before its end, 2 GB away. Where libpq has met the error while it sent, it tells it at the end.
      await #expect(throws: PostgresError.self) { try await database.pool.copyIn(Self.toFruit, chunks) }
      #expect(given.withLock(\.self) > 0)
      let kept = try await count(database)
      #expect(kept == 0)
    }
  }

  @Test func `A chunk of any size goes in by pieces`() async throws {
    try await withFruit { database in
      let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
      feed.yield(Array((0..<300_000).map { "\($0)\tfruit \($0)\n" }.joined().utf8))
      feed.finish()
      let copied = try await database.pool.copyIn(Self.toFruit, chunks)
      #expect(copied == 300_000)
    }
  }
}
