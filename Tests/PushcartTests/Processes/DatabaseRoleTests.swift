import Foundation
import Postgres
import Providers
import Registry
import Simulator
import Support
import Testing
import Wire

/// The roles that docker/roles.sql sets up: one owns the schema, one serves, one reads reports.
@Suite struct DatabaseRoleTests {
  private static let root = URL(filePath: #filePath).appending(path: "../../../..").standardized.path

  @Test func `A hub serves, sends and counts opens as a user that cannot change the schema`() async throws {
    try await withRoles { owner, hub, simulator in
      let before = Pushcart(databaseURL: owner, masterKey: "")
      let migrated = try await before.run("migrate")
      #expect(migrated.status == 0 && !migrated.output.contains("lacks"), "\(migrated)")

      let pushcart = Self.pushcart(hub, simulator)
      let check = try await pushcart.run("check")
      #expect(check.status == 0, "\(check)")
      #expect(check.output.contains("pushcart_hub can serve and cannot change the schema"), "\(check.output)")
      try await tour(pushcart, simulator)

      let recount = try await pushcart.run("recount", "--customer", "1")
      #expect(recount.status == 0 && recount.output == "customer 1: 1 contacts are counted\n", "\(recount)")
      let activity = try await Self.psql(owner, "SELECT received, opened FROM report.contact_activity")
      #expect(activity.output.contains("1 |      1"), "\(activity)")
      let unknown = try await pushcart.run("recount", "--customer", "7")
      #expect(unknown.status != 0 && unknown.errors.contains("There is no customer 7."), "\(unknown)")

      #expect(try await Self.psql(hub, "SELECT setval('sendout_sendout_id_seq', 100)").status != 0)
      #expect(try await Self.psql(owner, "SELECT setval('sendout_sendout_id_seq', 100)").status == 0)
      #expect(try await Self.psql(owner, "UPDATE sendout SET finished_at = now() - interval '2 days'").status == 0)
      let dry = try await pushcart.run("retention", "--retention-days", "1", "--dry-run")
      #expect(dry.output.contains("partition push_1, about") && dry.output.contains("dry run"), "\(dry)")
      let retention = try await pushcart.run("retention", "--retention-days", "1")
      #expect(retention.output.contains("customer 1: 1 sendouts") && retention.status == 0, "\(retention)")
      let totals = try await pushcart.run("sendout", "show", "1", "--customer", "1", "--json")
      #expect(try totals.json["counts"]?.integer("opened") == 1, "\(totals)")
      #expect(try await Self.psql(owner, "SELECT FROM partitions.push_1").output.contains("does not exist"))
      #expect(try await Self.psql(owner, "SELECT FROM partitions.push_101").status == 0)

      for refused in [
        "CREATE TABLE t (a int)", "DROP TABLE push", "ALTER TABLE push ADD a int", "TRUNCATE push",
        "DELETE FROM audit_log", "UPDATE audit_log SET target = 'x'", "DELETE FROM schema_migration",
        "UPDATE schema_migration SET checksum = 'x'", "CREATE ROLE r",
        "CREATE SCHEMA s", "CREATE TEMP TABLE t (a int)",
        "SELECT admit_hub('pushcart_report')", "SELECT FROM partitions.push_101", "DROP TABLE partitions.push_101",
        "SELECT make_partition('push', 'x', 'DEFAULT')",
      ] {
        let outcome = try await Self.psql(hub, refused)
        #expect(
          outcome.status != 0 && outcome.output.contains(#/permission denied|must be owner/#), "\(refused): \(outcome)")
      }
    }
  }

  @Test func `Check names a database user that has more or fewer privileges than a hub needs`() async throws {
    try await withRoles { owner, hub, simulator in
      try await Pushcart(databaseURL: owner, masterKey: "").run("migrate")
      let rich = try await Self.pushcart(owner, simulator).run("check").output
      #expect(
        rich.contains("ok     database user    pushcart_owner owns the schema; a hub is safer with a user"), "\(rich)")
      #expect(try await Self.psql(owner, "REVOKE INSERT ON push FROM pushcart_serve").status == 0)
      let poor = try await Self.pushcart(hub, simulator).run("check")
      #expect(poor.status == 1)
      #expect(
        poor.output.contains("pushcart_hub cannot use the table push. Its owner runs: GRANT pushcart_serve"), "\(poor)")
      let remedy = try await Pushcart(databaseURL: owner, masterKey: "").run("migrate").output
      #expect(remedy.contains("SELECT admit_hub('pushcart_serve');"), "\(remedy)")

      let mayErase =
        "SELECT has_function_privilege('pushcart_serve', 'erase_from_audit_log'::regproc, 'EXECUTE') AS may"
      let revoke = "REVOKE EXECUTE ON FUNCTION erase_from_audit_log FROM pushcart_serve"
      #expect(try await Self.psql(owner, revoke).status == 0)
      #expect(try await Self.psql(owner, mayErase).output.contains("\n f\n"))
      #expect(try await Self.psql(owner, "SELECT admit_hub('pushcart_serve')").status == 0)
      #expect(try await Self.psql(owner, mayErase).output.contains("\n t\n"))
    }
  }

  private static func pushcart(_ database: String, _ simulator: PushSimulator) -> Pushcart {
    Pushcart(
      databaseURL: database, masterKey: MasterKeys.generate(),
      environment: [
        "PUSHCART_APNS_PRODUCTION_URL": simulator.productionURL, "PUSHCART_APNS_SANDBOX_URL": simulator.sandboxURL,
        "PUSHCART_PROVIDER_CA_FILE": simulator.caFile,
      ])
  }

  /// A key, an app, a phone, a sendout with a page, and its opening.
  private func tour(_ pushcart: Pushcart, _ simulator: PushSimulator) async throws {
    let folder = try TemporaryDirectory(named: "roles")
    defer { folder.remove() }
    let signingKey = "\(folder.path)/AuthKey.p8"
    let sample = APNsCredentials.sample
    try sample.signingKey.write(toFile: signingKey, atomically: true, encoding: .utf8)
    let customer = try await pushcart.run("customer", "add", "--name", "ACME")
    #expect(customer.status == 0, "\(customer.errors)")
    let app = try await pushcart.run(
      "app", "add", "--customer", "1", "--type", "ios", "--app-id", ProcessFixture.appID, "--name", "Acme",
      "--team-id", sample.teamID, "--key-id", sample.keyID, "--signing-key", signingKey)
    #expect(app.status == 0, "\(app.errors)")
    let list = try await pushcart.run("list", "add", "--customer", "1", "--name", "news")
    #expect(list.status == 0, "\(list.errors)")
    let made = try await pushcart.run(
      "key", "add", "--customer", "1", "--name", "all", "--scope", "admin", "--json")
    #expect(made.status == 0, "\(made.errors)")
    let key = try #require(try made.json.string("token"))
    let page = "\(folder.path)/offer.html"
    try "Hi {{firstName}}".write(toFile: page, atomically: true, encoding: .utf8)
    try await pushcart.run("template", "put", "--customer", "1", "--name", "offer", "--file", page)

    let hub = try await ProcessFixture.Hub(pushcart)
    let token = String(repeating: "c0ffee42", count: 8)
    let put = try await hub.server.send(
      "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices", headers: [("X-Carma-Authentication-Token", key)],
      json: #"{"originalId":"a","firstName":"Robin","listId":1,"deviceInfo":[{"devicetoken":"\#(token)"}]}"#)
    #expect(put.status == 200, "\(put.text)")
    let sendout = try await hub.server.send(
      "POST", "/api/v1/sendouts", key: key, headers: [("Idempotency-Key", "once")],
      json:
        #"{"appId":"\#(ProcessFixture.appID)","audience":{"all":true},"message":{"alert":"Hi"},"template":"offer","start":true}"#
    )
    #expect(sendout.status == 201, "\(sendout.text)")
    let finished = try await pushcart.run("sendout", "show", "1", "--customer", "1", "--watch", "--json")
    #expect(try finished.json["counts"]?.integer("accepted") == 1, "\(finished)")
    let received = try #require(simulator.apns.requests.first { $0.token == token })
    let push = try JSONValue(parsing: received.payload)
    let url = try #require(push.string("url")).dropFirst(ProcessFixture.publicURL.count)
    let opened = try await hub.server.send("GET", String(url), headers: [("User-Agent", "Mozilla/5.0 (iPhone)")])
    #expect(opened.text == "Hi Robin", "\(opened)")
    let shown = try await pushcart.run("sendout", "show", "1", "--customer", "1", "--json")
    #expect(try shown.json["counts"]?.integer("opened") == 1, "\(shown)")
    let report = try await hub.server.send("GET", "/api/v1/reports/opens", key: key)
    #expect(report.status == 200, "\(report.text)")
    try await waitUntil { try await hub.server.send("GET", "/readyz").status == 200 }
    hub.process.signal(SIGTERM)
    #expect(await hub.process.exit() == 0)
    #expect(!hub.process.text.contains("permission denied"), "\(hub.process.text)")
  }

  /// A server of its own, since roles belong to the whole server, set up by docker/roles.sql.
  private func withRoles(
    _ body: @escaping @Sendable (_ owner: String, _ hub: String, PushSimulator) async throws -> Void
  ) async throws {
    let directory = try TemporaryDirectory(named: "roles")
    defer { directory.remove() }
    var configuration = ClusterConfiguration(directory: directory.path)
    configuration.isDurable = false
    let cluster = try await PrivateCluster.start(configuration, logger: TestServer.logger)
    do {
      let made = try await Self.shell(
        "PUSHCART_OWNER_PASSWORD=o PUSHCART_HUB_PASSWORD=h psql -X -f '\(Self.root)/docker/roles.sql'",
        cluster.connectionString(database: "postgres"))
      try #require(made.status == 0, "\(made.output)")
      let database = cluster.connectionString(database: "pushcart")
      try await withSimulator {
        try await body("\(database) user=pushcart_owner", "\(database) user=pushcart_hub", $0)
      }
    } catch {
      await cluster.stop()
      throw error
    }
    await cluster.stop()
  }

  private static func psql(_ database: String, _ query: String) async throws -> (status: Int32, output: String) {
    try await shell("psql -X -c \"\(query)\"", database)
  }

  /// Runs a psql command on a database, standard error with it.
  private static func shell(_ command: String, _ database: String) async throws -> (status: Int32, output: String) {
    try await Shell.run("\(command) -d '\(database.replacing("'", with: "'\\''"))' 2>&1")
  }
}
