import Foundation
import Postgres
import Registry
import Support
import Testing
import Web

#if canImport(Glibc)
  import Glibc
#endif

@Suite struct CarmaOutageTests {
  @Test func `While the database is away every route answers 503 with Retry-After, and is well again after it`()
    async throws
  {
    let directory = try TemporaryDirectory(named: "outage")
    defer { directory.remove() }
    let configuration = ClusterConfiguration(directory: directory.path)
    let cluster = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    let connection = cluster.connectionString(database: "postgres")
    let pool = Pool(PoolConfiguration(connectionString: connection), logger: TestServer.logger)
    try await Migrator(pool, Migration.all).apply()
    let acme = try await customer("ACME", pool)
    try await withTestWebServer([CarmaRoutes(pool)]) { server in
      let requests = CarmaRequests(server: server, customer: acme)
      #expect(try await requests.statuses(until: [200, 200, 200]) == [200, 200, 200])
      await cluster.stop()
      for reply in try await requests.replies() {
        #expect(reply.status == 503)
        #expect(reply.header("Retry-After") == "2")
        #expect(reply.error?.isEmpty == false)
      }
      let again = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      #expect(try await requests.statuses(until: [200, 200, 200]) == [200, 200, 200])
      await again.stop()
    }
    await pool.close()
  }

  @Test func `A database that has become read-only is away for writes, and is well again after it`() async throws {
    try await withDatabase { database in
      let acme = try await customer("ACME", database.pool)
      func readOnly(_ value: String) async throws {
        try await database.withPool { spare in
          _ = try await spare.query(
            Statement(
              "test.set", .write, "ALTER DATABASE \(database.name) SET default_transaction_read_only = \(value)"))
        }
      }
      try await withTestWebServer([CarmaRoutes(database.pool, timeout: .seconds(60))]) { server in
        let requests = CarmaRequests(server: server, customer: acme)
        let statuses = try await requests.statuses()
        #expect(statuses == [200, 200, 200])
      }
      try await readOnly("on")
      // As after a failover, the hub's connections are new.
      try await database.withPool { pool in
        try await withTestWebServer([CarmaRoutes(pool)]) { server in
          let requests = CarmaRequests(server: server, customer: acme)
          let statuses = try await requests.statuses(until: [503, 200, 503])
          #expect(statuses == [503, 200, 503])
        }
      }
      // `SET` in the session: the database itself takes no other.
      try await database.withPool { spare in
        try await spare.transaction { transaction in
          try await transaction.query(sql: "SET TRANSACTION READ WRITE")
          try await transaction.query(sql: "ALTER DATABASE \(database.name) RESET default_transaction_read_only")
        }
      }
      try await database.withPool { pool in
        try await withTestWebServer([CarmaRoutes(pool, timeout: .seconds(60))]) { server in
          let statuses = try await CarmaRequests(server: server, customer: acme).statuses()
          #expect(statuses == [200, 200, 200])
        }
      }
    }
  }

  @Test func `A statement that an administrator cancels is a 503, or succeeds`() async throws {
    try await withDatabase { database in
      let acme = try await customer("ACME", database.pool)
      try await withTestWebServer([CarmaRoutes(database.pool, timeout: .seconds(60))]) { server in
        let requests = CarmaRequests(server: server, customer: acme)
        #expect(try await requests.statuses() == [200, 200, 200])
        try await database.withPool { spare in
          let reply = try await spare.transaction { transaction in
            try await transaction.query(sql: "LOCK TABLE contact IN ACCESS EXCLUSIVE MODE")
            let reply = Task { try await requests.get() }
            let cancel = Statement(
              "test.cancel", .write,
              """
              SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'
              """)
            try await waitUntil { try await spare.query(cancel)[0].decode(Int.self) != 0 }
            return try await reply.value
          }
          #expect(reply.status == 503)
          #expect(reply.header("Retry-After") == "2")
          let put = try await spare.transaction { transaction in
            try await transaction.query(sql: "LOCK TABLE device IN ACCESS EXCLUSIVE MODE")
            let put = Task { try await requests.put() }
            let cancel = Statement(
              "test.cancel", .write,
              """
              SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity
              WHERE datname = current_database() AND wait_event_type = 'Lock'
              """)
            try await waitUntil { try await spare.query(cancel)[0].decode(Int.self) != 0 }
            return put
          }
          #expect(try await put.value.status == 200)
        }
      }
    }
  }

  @Test func `A hanging database delays no reply, and pending requests are executed or retried`() async throws {
    try await withDatabase({ $0.applicationName = "hub" }) { database in
      let acme = try await customer("ACME", database.pool)
      try await database.withPool { spare in
        try await withTestWebServer([CarmaRoutes(database.pool)]) { server in
          let requests = CarmaRequests(server: server, customer: acme)
          #expect(try await requests.statuses(until: [200, 200, 200]) == [200, 200, 200])
          let find = Statement(
            "test.pids", .read,
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'hub' AND datname = current_database()")
          let pids = try await spare.query(find).map { try $0.decode(Int32.self) }
          for pid in pids { kill(pid, SIGSTOP) }
          let statuses = try await requests.statuses()
          for pid in pids { kill(pid, SIGCONT) }
          // The pool may have got itself a connection that does not hang by the second request.
          #expect(statuses.first == 503)
          #expect(statuses.allSatisfy { [200, 503].contains($0) })
          #expect(try await requests.statuses(until: [200, 200, 200]) == [200, 200, 200])
        }
      }
    }
  }
}

/// A request of each kind.
private struct CarmaRequests: Sendable {
  let server: TestWebServer
  let customer: CarmaServer.Customer

  private var path: String { "/rest/\(customer.id)/apps/com.acme.app/pushdevices" }
  private var headers: [(String, String)] { [("X-Carma-Authentication-Token", customer.backend)] }
  private var json: String { #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"# }

  func put() async throws -> TestReply { try await server.send("PUT", path, headers: headers, json: json) }
  func get() async throws -> TestReply { try await server.send("GET", path + "/a", headers: headers) }

  func replies() async throws -> [TestReply] {
    [
      try await put(), try await get(),
      try await server.send("PUT", path + "/invalidation", headers: headers, json: json),
    ]
  }

  func statuses() async throws -> [Int] { try await replies().map(\.status) }

  /// - Returns: those of the last of sixty tries, or of the first one that are `wanted`: of the hub's own time limit, a busy machine may take all.
  func statuses(until wanted: [Int]) async throws -> [Int] {
    var statuses: [Int] = []
    for _ in 0..<60 where statuses != wanted { statuses = try await self.statuses() }
    return statuses
  }
}
