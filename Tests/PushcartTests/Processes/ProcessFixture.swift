import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Wire

/// A customer with an app, set up by commands. Its pushes go to a Simulator in the tests' process.
struct ProcessFixture: Sendable {
  let pushcart: Pushcart
  let database: TestDatabase
  let simulator: PushSimulator
  /// A key of scope admin.
  let key: String

  static let appID = "com.acme.app"
  static let publicURL = "http://push.example.com"

  /// Starts a hub as a process.
  func serve(logLevel: String = "trace", limits: String = "umask 022") async throws -> Hub {
    try await Hub(pushcart, logLevel: logLevel, limits: limits)
  }

  /// A hub that runs as a process.
  struct Hub: Sendable {
    let process: RunningPushcart
    let server: TestWebServer

    init(_ pushcart: Pushcart, logLevel: String = "trace", limits: String = "umask 022") async throws {
      let settings = [
        "DATABASE_URL": pushcart.databaseURL, "PUSHCART_MASTER_KEY": pushcart.masterKey,
        "PUSHCART_PORT": "0", "PUSHCART_PUBLIC_URL": ProcessFixture.publicURL, "PUSHCART_LOG_FORMAT": "json",
        "PUSHCART_LOG_LEVEL": logLevel,
      ]
      process = try RunningPushcart(
        ["serve"], environment: settings.merging(pushcart.environment) { $1 }, folder: "/tmp", limits: limits)
      try await process.says(#""message":"listening""#)
      let line = process.text.split(separator: "\n").first { $0.contains(#""message":"listening""#) } ?? ""
      let port = try JSONValue(parsing: line.utf8).string("port") ?? ""
      server = TestWebServer(url: "http://127.0.0.1:\(port)")
    }
  }

  /// Inserts contacts with a device each into the database.
  func addDevices(_ count: Int) async throws {
    try await database.query(
      """
      WITH made AS (
        INSERT INTO contact (customer_id, original_id, first_name)
        SELECT 1, 'user' || n || '@example.com', 'N' || n FROM generate_series(1, $1::int8) AS n
        RETURNING contact_id, substr(first_name, 2)::int8 AS n)
      INSERT INTO device (customer_id, push_app_id, contact_id, token, token_key)
      SELECT 1, 1, contact_id, token, decode(token, 'hex')
      FROM made, LATERAL (SELECT 'ab' || lpad(to_hex(n), 62, '0') AS token) AS t
      """, Int64(count))
  }

  /// Starts a sendout to all contacts.
  func send(through server: TestWebServer) async throws -> Int64 {
    let body = #"{"name":"All","appId":"\#(Self.appID)","audience":{"all":true},"message":{"alert":"Hi"},"start":true}"#
    return try await server.send("POST", "/api/v1/sendouts", key: key, json: body).json.integer("sendoutId") ?? 0
  }
}

/// Runs `body` on a fixture of its own.
func withProcessFixture(
  configure: (inout SimulatorSettings) -> Void = { _ in },
  _ body: @escaping @Sendable (ProcessFixture) async throws -> Void
) async throws {
  let folder = try TemporaryDirectory(named: "stage")
  defer { folder.remove() }
  let signingKey = "\(folder.path)/AuthKey.p8"
  try APNsCredentials.sample.signingKey.write(toFile: signingKey, atomically: true, encoding: .utf8)
  try await withSimulator(configure: configure) { simulator in
    try await withPushcart { pushcart, database in
      var pushcart = pushcart
      pushcart.environment = [
        "PUSHCART_APNS_PRODUCTION_URL": simulator.productionURL, "PUSHCART_APNS_SANDBOX_URL": simulator.sandboxURL,
        "PUSHCART_PROVIDER_CA_FILE": simulator.caFile,
      ]
      try await pushcart.run("customer", "add", "--name", "ACME")
      try await pushcart.run(
        "app", "add", "--customer", "1", "--type", "ios", "--app-id", ProcessFixture.appID, "--name", "Acme",
        "--team-id",
        APNsCredentials.sample.teamID, "--key-id", APNsCredentials.sample.keyID, "--signing-key", signingKey)
      let key = try await pushcart.run(
        "key", "add", "--customer", "1", "--name", "all", "--scope", "admin", "--json")
      try await body(
        ProcessFixture(
          pushcart: pushcart, database: database, simulator: simulator, key: try key.json.string("token") ?? ""))
    }
  }
}
