import Support
import Testing

@testable import Postgres

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// COPY and scripts on a connection that goes away.
@Suite struct LostOperationTests {
  private static let toFruit = "COPY fruit FROM STDIN"

  /// A pool whose connections go through a proxy.
  private func withProxy(_ body: (TestDatabase, Pool, DatabaseProxy) async throws -> Void) async throws {
    let server = try await TestServer.shared
    guard let socket = server.cluster?.socketDirectory else { return }
    try await withDatabase { database in
      try await database.query("CREATE TABLE fruit (name text NOT NULL)")
      let proxy = try DatabaseProxy(to: socket)
      defer { proxy.close() }
      let pool = Pool(
        PoolConfiguration(connectionString: proxy.connectionString(for: database.connectionString)),
        logger: TestServer.logger)
      try await body(database, pool, proxy)
      await pool.close()
    }
  }

  private func isConnectionLost(_ error: PostgresError?) -> Bool {
    if case .connectionLost = error { true } else { false }
  }

  @Test func `A COPY in that is lost halfway keeps nothing`() async throws {
    try await withProxy { database, pool, proxy in
      let (chunks, feed) = AsyncStream.makeStream(of: [UInt8].self)
      async let copying = #expect(throws: PostgresError.self) { try await pool.copyIn(Self.toFruit, chunks) }
      feed.yield([UInt8](repeating: 0x61, count: 100_000) + [0x0A])
      try await database.waits(untilRunning: 1, like: "%COPY fruit%", waitingFor: "Client")
      proxy.cut()
      feed.yield([UInt8](repeating: 0x62, count: 100_000) + [0x0A])
      feed.yield([UInt8](repeating: 0x63, count: 100_000) + [0x0A])
      feed.finish()
      #expect(isConnectionLost(await copying))
      #expect(try await database.query("SELECT count(*) FROM fruit")[0].decode(Int.self) == 0)
      #expect(try await pool.query(Statement("test.one", .read, "SELECT 1")).count == 1)
    }
  }

  @Test func `A COPY whose last answer is lost has an unknown outcome`() async throws {
    try await withProxy { database, pool, proxy in
      let (begun, begin) = AsyncStream.makeStream(of: Void.self)
      let (end, finish) = AsyncStream.makeStream(of: Void.self)
      let turns = Turns()
      let chunks = AsyncStream<[UInt8]> {
        if await turns.next() == 1 { return [UInt8](repeating: 0x61, count: 100_000) + [0x0A] }
        begin.finish()
        for await _ in end {}
        return nil
      }
      async let copying = #expect(throws: PostgresError.self) { try await pool.copyIn(Self.toFruit, chunks) }
      // The second chunk is pulled once the server has accepted the COPY: that answer is not the one that is held.
      for await _ in begun {}
      try await database.waits(untilRunning: 1, like: "%COPY fruit%", waitingFor: "Client")
      proxy.holdReplies()
      finish.finish()
      await proxy.replyIsHeld()
      proxy.cut()
      guard case .unknownOutcome = await copying else {
        Issue.record("not an unknown outcome")
        return
      }
      #expect(try await database.query("SELECT count(*) FROM fruit")[0].decode(Int.self) == 1)
    }
  }

  @Test func `A COPY out that is lost halfway throws, and does not end as if complete`() async throws {
    try await withProxy { _, pool, proxy in
      let error = await #expect(throws: PostgresError.self) {
        for try await row in pool.copyOut("COPY (SELECT generate_series(1, 10000000)) TO STDOUT") {
          if row == Array("1000\n".utf8) { proxy.cut() }
        }
      }
      #expect(isConnectionLost(error))
    }
  }

  @Test func `A script or a COPY on a connection just lost fails as lost`() async throws {
    try await withDatabase { database in
      // The socket is shut down in the same turn, so that the loss is noticed when sending.
      let first = try await database.pool.leaseConnection()
      let script = await #expect(throws: PostgresError.self) {
        try await withUnsafeThrowingContinuation { continuation in
          let run = ScriptOperation(name: "test.script", sql: "SELECT 1; SELECT 2")
          run.continuation = continuation
          first.perform { _ in
            shutdown(first.session.socket, Int32(SHUT_RDWR))
            first.session.begin(run, first.id)
          }
        }
      }
      first.release()
      #expect(isConnectionLost(script))
      let second = try await database.pool.leaseConnection()
      let copy = await #expect(throws: PostgresError.self) {
        try await withUnsafeThrowingContinuation { continuation in
          let run = CopyInOperation("COPY customer FROM STDIN", isWithinTransaction: false)
          second.perform { _ in
            shutdown(second.session.socket, Int32(SHUT_RDWR))
            run.begin(second.session, second.id, continuation)
          }
        }
      }
      second.release()
      #expect(isConnectionLost(copy))
    }
  }

  @Test func `A pool closed in the middle of COPYs fails each of them once`() async throws {
    try await withDatabase { database in
      for _ in 0..<20 {
        try await database.withPool { pool in
          let service = Task { try await pool.run() }
          let readers = (0..<4).map { _ in
            Task {
              for try await _ in pool.copyOut("COPY (SELECT generate_series(1, 10000000)) TO STDOUT") {}
            }
          }
          let writer = Task {
            try await pool.copyIn("COPY customer (name) FROM STDIN", AsyncStream { Array("name\n".utf8) })
          }
          await pool.waits { $0.dedicatedConnections >= 4 }
          service.cancel()
          for reader in readers { reader.cancel() }
          writer.cancel()
          for reader in readers { await #expect(throws: (any Error).self) { try await reader.value } }
          await #expect(throws: (any Error).self) { try await writer.value }
          try await service.value
        }
      }
      #expect(try await database.query("SELECT count(*) FROM customer")[0].decode(Int.self) == 0)
    }
  }
}

private actor Turns {
  private var count = 0

  func next() -> Int {
    count += 1
    return count
  }
}
