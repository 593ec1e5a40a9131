import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

@Suite struct CanaryTests {
  @Test func `No log line and no error shows the database's password, a page's token or an Idempotency-Key`()
    async throws
  {
    try await withProcessFixture { fixture in
      try await fixture.addDevices(1)
      var pushcart = fixture.pushcart
      pushcart.environment["DATABASE_URL"] = fixture.database.connectionString + " password='canary password'"
      let hub = try await ProcessFixture.Hub(pushcart)
      let list = try await hub.server.send(
        "POST", "/api/v1/lists", key: fixture.key, headers: [("Idempotency-Key", "canary-idempotency")],
        json: #"{"name":"L"}"#)
      #expect(list.status == 201)
      _ = try await fixture.send(through: hub.server)
      let push = try JSONValue(parsing: try #require(await fixture.simulator.apns.received(count: 1).first).payload)
      let read = try #require(push.string("pushreadurl")).dropFirst(ProcessFixture.publicURL.count)
      #expect(try await hub.server.send("GET", String(read)).status < 300)
      #expect(try await hub.server.send("GET", "/c/canary-token").status == 404)
      let check = try await pushcart.run("check")
      hub.process.signal(SIGTERM)
      #expect(await hub.process.exit() == 0)

      let said = hub.process.text + check.output + check.errors
      let token = String(try #require(read.split(separator: "/").last))
      for canary in ["canary", token, pushcart.masterKey] {
        #expect(!said.contains(canary), "\(canary) is shown")
      }
    }
  }

  @Test(arguments: ["postgres://u:canary@127.0.0.1:1/x", "postgres://u:canary@nowhere.invalid/x"])
  func `The error for an unreachable database omits its password`(_ address: String) async throws {
    let pushcart = Pushcart(databaseURL: address, masterKey: "Y2FuYXJ5")
    let keyless = try await pushcart.run("check")
    #expect(keyless.status == 1 && !(keyless.output + keyless.errors).contains("Y2Fu"))
    var whole = pushcart
    whole.environment["PUSHCART_MASTER_KEY"] = ""
    for line in [["customer", "list"], ["migrate"]] {
      let outcome = try await whole.run(line)
      #expect(outcome.status == 1 && !(outcome.output + outcome.errors).contains("canary"), "\(outcome.errors)")
    }
  }
}
