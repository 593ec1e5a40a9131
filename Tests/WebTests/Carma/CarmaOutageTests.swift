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
    try await withSite([CarmaFace(pool)]) { site in
      let requests = CarmaRequests(site: site, customer: acme)
      #expect(try await requests.statuses() == [200, 200, 200])
      await cluster.stop()
      for reply in try await requests.replies() {
        #expect(reply.status == 503)
        #expect(reply.header("Retry-After") == "2")
        #expect(reply.error?.isEmpty == false)
      }
      let again = try await PrivateCluster.start(configuration, logger: TestServer.logger)
      var statuses: [Int] = []
      for _ in 0..<60 where statuses != [200, 200, 200] { statuses = try await requests.statuses() }
      #expect(statuses == [200, 200, 200])
      await again.stop()
    }
    await pool.close()
  }

  @Test func `A database that hangs is no reason to hang, and what it was asked is done or asked again`() async throws {
    try await withDatabase({ $0.applicationName = "hub" }) { database in
      let acme = try await customer("ACME", database.pool)
      try await database.withPool { spare in
        try await withSite([CarmaFace(database.pool)]) { site in
          let requests = CarmaRequests(site: site, customer: acme)
          #expect(try await requests.statuses() == [200, 200, 200])
          let find = Statement(
            "test.pids", .read,
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'hub' AND datname = current_database()")
          let pids = try await spare.query(find).map { try $0.decode(Int32.self) }
          for pid in pids { kill(pid, SIGSTOP) }
          let statuses = try await requests.statuses()
          for pid in pids { kill(pid, SIGCONT) }
          #expect(statuses == [503, 503, 503])
          var after: [Int] = []
          for _ in 0..<60 where after != [200, 200, 200] { after = try await requests.statuses() }
          #expect(after == [200, 200, 200])
        }
      }
    }
  }
}

/// A request of each kind.
private struct CarmaRequests: Sendable {
  let site: TestSite
  let customer: CarmaSite.Customer

  func replies() async throws -> [TestReply] {
    let path = "/rest/\(customer.id)/apps/com.acme.app/pushdevices"
    let json = #"{"originalId":"a","deviceInfo":[{"devicetoken":"t"}]}"#
    let headers = [("X-Carma-Authentication-Token", customer.backend)]
    return [
      try await site.send("PUT", path, headers: headers, json: json),
      try await site.send("GET", path + "/a", headers: headers),
      try await site.send("PUT", path + "/invalidation", headers: headers, json: json),
    ]
  }

  func statuses() async throws -> [Int] { try await replies().map(\.status) }
}
