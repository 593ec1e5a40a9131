import Foundation
import Postgres
import Support
import Testing

/// A server that takes no writes for now, as after a failover.
@Suite struct StandbyTests {
  private let write = Statement("test.write", .write, "CREATE TABLE IF NOT EXISTS written AS SELECT 1 AS one")
  private let read = Statement("test.read", .read, "SELECT pg_is_in_recovery()")

  @Test func `A pool on a standby reads, goes on asking to listen, and writes once it is promoted`() async throws {
    let directory = try TemporaryDirectory(named: "standby")
    defer { directory.remove() }
    var configuration = ClusterConfiguration(directory: directory.path)
    configuration.isDurable = false
    let first = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    try await first.createDatabase("pushcart")
    await first.stop()
    #expect(FileManager.default.createFile(atPath: "\(first.home)/data/standby.signal", contents: nil))
    let standby = try await PrivateCluster.start(configuration, logger: TestServer.logger)

    let log = LogCapture()
    let pool = Pool(
      PoolConfiguration(connectionString: standby.connectionString(database: "pushcart")), logger: log.logger)
    let news = Task {
      for try await event in pool.notifications(on: ["news"]) { if event == .mayHaveMissed { return true } }
      return false
    }
    try await waitUntil { log.lines.contains { $0.contains("is a standby and notifies nobody") } }
    #expect(try await pool.query(read)[0].decode(Bool.self))
    let refused = await #expect(throws: PostgresError.self) { try await pool.query(write) }
    #expect(refused?.isPassing == true)
    await #expect(throws: PostgresError.self) {
      try await pool.transaction { transaction in _ = try await transaction.query(write) }
    }

    try await pool.query(Statement("test.promote", .read, "SELECT pg_promote()"))
    #expect(try await news.value)
    try await pool.transaction { transaction in _ = try await transaction.query(write) }
    try await pool.query(write)
    await pool.close()
    await standby.stop()
  }
}
