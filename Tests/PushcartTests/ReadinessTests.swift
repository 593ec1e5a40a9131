import Foundation
import Postgres
import Support
import Testing
import Web

@testable import Pushcart

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct ReadinessTests {
  @Test func `A hub with a migrated database is ready`() async throws {
    try await withDatabase { database in
      try await database.query("SELECT 1")
      let reply = try await probe(database.pool, limit: .seconds(60))
      #expect(reply.status == 200)
    }
  }

  @Test func `A hub without its database is not ready`() async throws {
    var configuration = PoolConfiguration(connectionString: "host=/nowhere")
    configuration.queueTimeout = .milliseconds(100)
    let pool = Pool(configuration, logger: TestServer.logger)
    try await expectRefusal(by: pool, "The database cannot be reached.")
    await pool.close()
  }

  @Test func `A hanging database does not hang the probe`() async throws {
    try await withDatabase({ $0.applicationName = "probed" }) { database in
      let backends = try await database.query(
        "SELECT pid FROM pg_stat_activity WHERE application_name = 'probed' AND datname = current_database()"
      ).map { try $0.decode(Int32.self) }
      for backend in backends { kill(backend, SIGSTOP) }
      defer { for backend in backends { kill(backend, SIGCONT) } }
      // One probe: a second check, two seconds later, could have a new connection, whose backend runs.
      try await expectRefusal(by: database.pool, "The database cannot be reached.", probes: 1)
    }
  }

  @Test func `A hub with pending migrations is not ready`() async throws {
    try await withDatabase { database in
      try await database.query(
        "DELETE FROM schema_migration WHERE name = (SELECT max(name) FROM schema_migration)")
      try await expectRefusal(
        by: database.pool, "Migrations are pending; run `pushcart migrate`.", limit: .seconds(60))
    }
  }

  @Test func `A hub that shuts down is not ready`() async throws {
    try await withDatabase { database in
      let readiness = Readiness(database.pool, Migrator(database.pool, Migration.embedded))
      let service = Task { try await readiness.run() }
      service.cancel()
      try await service.value
      #expect(await readiness.unavailableReason() == .shuttingDown)
    }
  }

  private func expectRefusal(
    by pool: Pool, _ sentence: String, probes: Int = 10, limit: Duration = .seconds(2)
  ) async throws {
    let reply = try await probe(pool, times: probes, limit: limit)
    #expect(reply.status == 503)
    #expect(reply.header("Retry-After") == "2")
    #expect(reply.error == sentence)
  }

  /// Sends probes at once, which get the same reply.
  /// - Parameter limit: how long the database may take; more than a hub gives it where it answers, on a busy machine too.
  private func probe(_ pool: Pool, times: Int = 10, limit: Duration) async throws -> TestReply {
    let readiness = Readiness(pool, Migrator(pool, Migration.embedded), limit: limit)
    let health = HealthRoutes(unavailableReason: readiness.unavailableReason)
    return try await withTestWebServer([health]) { server in
      let replies = try await withThrowingTaskGroup(of: TestReply.self) { group in
        for _ in 0..<times { group.addTask { try await server.send("GET", "/readyz") } }
        return try await group.reduce(into: [TestReply]()) { $0.append($1) }
      }
      #expect(Set(replies.map(\.text)).count == 1)
      return replies[0]
    }
  }
}
