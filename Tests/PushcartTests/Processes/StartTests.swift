import Foundation
import Registry
import Support
import Testing

@Suite struct StartTests {
  @Test func `A hub with the wrong master key does not start and names the setting`() async throws {
    try await withProcessFixture { fixture in
      try await fixture.serve().process.die()
      let other = MasterKeys.generate()
      var pushcart = fixture.pushcart
      pushcart.environment["PUSHCART_MASTER_KEY"] = other
      pushcart.environment["PUSHCART_PORT"] = "0"
      let outcome = try await pushcart.run("serve")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("Error: PUSHCART_MASTER_KEY is not the key that this database was sealed under"))
      #expect(!outcome.errors.contains("sealed(") && !outcome.errors.contains(other))
    }
  }

  @Test func `The request id of a 5xx reply is in the log at the default level`()
    async throws
  {
    try await withProcessFixture { fixture in
      let hub = try await ProcessFixture.Hub(fixture.pushcart, logLevel: "info")
      try await fixture.database.query("UPDATE schema_migration SET checksum = '\\x00' WHERE name LIKE '0001%'")
      let reply = try await hub.server.send("GET", "/readyz")
      #expect(reply.status == 503)
      let id = try #require(reply.header("X-Request-Id"))
      hub.process.signal(SIGTERM)
      #expect(await hub.process.exit() == 0)
      let lines = hub.process.text.split(separator: "\n").filter { $0.contains(#""request-id":"\#(id)""#) }
      #expect(lines.count == 1 && lines.allSatisfy { $0.contains(#""level":"warning""#) }, "\(hub.process.text)")
    }
  }

  @Test func `Check and migrate print how the report role gets missing privileges`() async throws {
    try await withProcessFixture { fixture in
      let lines = ["migrate", "check"]
      for line in lines {
        let said = try await fixture.pushcart.run(line).output
        #expect(!said.contains("report.admit"))
      }
      try await fixture.database.query("REVOKE USAGE ON SCHEMA report FROM pushcart_report")
      for line in lines {
        let said = try await fixture.pushcart.run(line).output
        #expect(said.contains("SELECT report.admit('pushcart_report');"), "\(said)")
      }
    }
  }

  @Test func `All wrong settings are reported together, in sentences`() async throws {
    let pushcart = Pushcart(databaseURL: "postgres://u:ca@nary@db/x", masterKey: "canary")
    let outcome = try await pushcart.run("serve", "--provider-ca-file", "/canary", "--host", "canary.invalid")
    #expect(outcome.status == 1)
    for setting in ["DATABASE_URL", "PUSHCART_MASTER_KEY", "PUSHCART_PROVIDER_CA_FILE", "PUSHCART_HOST"] {
      #expect(outcome.errors.contains("- \(setting) "))
    }
    #expect(!outcome.errors.contains("nary"))
  }
}
