import Foundation
import Postgres
import Registry
import Support
import Testing
import Wire

/// Every acknowledged registration survives kills. `PUSHCART_SOAK` sets the number of registrations. Hub and database are killed once
/// per 5,000 of them.
@Suite struct DurabilityTests {
  private static let size = ProcessInfo.processInfo.environment["PUSHCART_SOAK"].flatMap { Int($0) } ?? 2000
  private static let kills = max(6, size / 5000)

  @Test func `Repeated kills of hub and database lose no acknowledged registration`() async throws {
    let folder = try TemporaryDirectory(named: "durability")
    defer { folder.remove() }
    let cluster = try await PrivateCluster.start(
      ClusterConfiguration(directory: "\(folder.path)/postgres"), logger: TestServer.logger)
    try await cluster.createDatabase("durable")
    let pushcart = Pushcart(
      databaseURL: cluster.connectionString(database: "durable"), masterKey: MasterKeys.generate())
    try await pushcart.run("migrate")
    try await pushcart.run("customer", "add", "--name", "ACME")
    try await pushcart.run(
      "app", "add", "--customer", "1", "--type", "ios", "--app-id", ProcessFixture.appID, "--name", "Acme", "--json")
    let key = try await pushcart.run("key", "add", "--customer", "1", "--name", "all", "--scope", "device", "--json")
    let token = try key.json.string("token") ?? ""
    let run = RunUnderKills(pushcart, goal: Self.size) { number, server in
      // Two devices, so that half a registration would be noticed.
      let digits = String(number, radix: 16)
      let hex = String(repeating: "0", count: 64 - digits.count) + digits
      let devices = [hex, "f" + hex.dropFirst()].map { #"{"devicetoken":"\#($0)","osVersion":"17"}"# }
      let body = #"{"originalId":"user\#(number)","deviceInfo":[\#(devices.joined(separator: ","))]}"#
      let reply = try? await server.send(
        "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices",
        headers: [("X-Carma-Authentication-Token", token)], json: body)
      return reply?.status == 200
    }
    try await run.underKills(Self.kills, of: cluster, workers: 64)

    let pool = Pool(PoolConfiguration(connectionString: pushcart.databaseURL), logger: TestServer.logger)
    let numbers = run.acknowledgedNumbers
    #expect(numbers.count >= Self.size)
    let lost = try await pool.query(Self.lost, numbers)
    #expect(try lost[0].decode(Int64.self) == 0)
    #expect(try await pool.query(Self.halves)[0].decode(Int64.self) == 0)
    await pool.close()
    await cluster.stop()
  }

  private static let lost = Statement(
    "test.lost", .read,
    """
    SELECT count(*) FROM unnest($1::int8[]) AS n WHERE NOT EXISTS (
      SELECT FROM contact c JOIN device d USING (customer_id, contact_id)
      WHERE customer_id = 1 AND c.original_id = 'user' || n
        AND d.token IN (lpad(to_hex(n), 64, '0'), 'f' || lpad(to_hex(n), 63, '0'))
      HAVING count(*) = 2)
    """)
  private static let halves = Statement(
    "test.halves", .read,
    """
    SELECT count(*) FROM contact c
    LEFT JOIN (SELECT contact_id, count(*) AS devices FROM device GROUP BY contact_id) d USING (contact_id)
    LEFT JOIN (SELECT contact_id, count(*) AS events FROM device_event GROUP BY contact_id) e USING (contact_id)
    WHERE coalesce(d.devices, 0) <> 2 OR coalesce(e.events, 0) <> 2
    """)
}
