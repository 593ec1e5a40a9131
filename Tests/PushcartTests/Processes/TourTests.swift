import Foundation
import Postgres
import Providers
import Simulator
import Support
import Testing
import Wire

@Suite struct TourTests {
  private let phone = [("User-Agent", "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) Mobile/15E148")]

  @Test func `API, command line and psql count a registered phone's push and open alike`()
    async throws
  {
    try await withProcessFixture { fixture in
      let hub = try await fixture.serve()
      try await put(fixture, hub.server, name: "Robin", token: "c0ffee")
      try await put(fixture, hub.server, name: "Kim", token: "fade0410")
      try await fixture.pushcart.run(
        "template", "put", "--customer", "1", "--name", "offer", "--file", Self.path("Templates/offer.html"))
      let sent = try await fixture.pushcart.run(
        "send", "--customer", "1", "--app", ProcessFixture.appID, "--all", "--alert", "Hi {{firstName}}", "--template",
        "offer",
        "--wait", "--json")
      #expect(sent.status == 0, "\(sent.errors)")

      let received = fixture.simulator.apns.requests
      #expect(received.count == 2)
      let push = try JSONValue(parsing: try #require(received.first { $0.token.hasPrefix("c0ffee") }).payload)
      let page = try #require(push.string("url")).dropFirst(ProcessFixture.publicURL.count)
      let read = try #require(push.string("pushreadurl")).dropFirst(ProcessFixture.publicURL.count)
      #expect(try await hub.server.send("GET", String(page), headers: phone).text.contains("Robin"))
      #expect(try await hub.server.send("GET", String(page), headers: phone).status == 200)
      #expect(try await hub.server.send("GET", String(read), headers: phone).status < 300)

      let expected: JSONValue = [
        "audience": 2, "queued": 0, "sending": 0, "waiting": 0, "sent": 2, "accepted": 1, "failed": 1, "uncertain": 0,
        "skipped": 0, "cancelled": 0, "opened": 1,
      ]
      let api = try await hub.server.send("GET", "/api/v1/sendouts/1", key: fixture.key).json
      let command = try await fixture.pushcart.run("sendout", "show", "1", "--customer", "1", "--json").json
      #expect(api["counts"] == expected)
      #expect(command == api)
      #expect(try await view(fixture.database) == expected)
      let opens = try await fixture.database.query(
        "SELECT sum(opens)::int8, sum(first_opens)::int8 FROM report.opens_by_hour WHERE customer_id = 1")
      #expect(try opens[0].decode(Int.self, Int.self) == (3, 1))

      #expect(await Self.exitStatus(of: hub) == 0)
      try await expectNoSecrets(in: hub.process.text, fixture)
    }
  }

  @Test func `Every report script prints as the report role`() async throws {
    try await withProcessFixture { fixture in
      let hub = try await fixture.serve()
      try await put(fixture, hub.server, name: "Robin", token: "c0ffee")
      try await put(fixture, hub.server, name: "Kim", token: "fade0410")
      try await fixture.pushcart.run(
        "send", "--customer", "1", "--app", ProcessFixture.appID, "--all", "--alert", "Hi", "--wait", "--json")
      let scripts = try FileManager.default.contentsOfDirectory(atPath: Self.path("sql/reports"))
      #expect(scripts.count >= 4)
      for script in scripts {
        let report = try await psql(
          fixture.database.connectionString, "-v", "customer=1", "-v", "sendout=1", "-v", "contact=robin@example.com",
          "-f", Self.path("sql/reports/\(script)"))
        #expect(report.status == 0 && report.output.count > 200, "\(script): \(report.output)")
        #expect(!report.output.contains("ERROR"), "\(script): \(report.output)")
      }
      await hub.process.die()
    }
  }

  private func put(_ fixture: ProcessFixture, _ server: TestWebServer, name: String, token: String) async throws {
    let token = token + String(repeating: "0", count: 64 - token.count)
    let reply = try await server.send(
      "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices",
      headers: [("X-Carma-Authentication-Token", fixture.key)],
      json: """
        {"originalId":"\(name.lowercased())@example.com","firstName":"\(name)","deviceInfo":[{"devicetoken":"\(token)"}]}
        """)
    #expect(reply.status == 200, "\(reply.text)")
  }

  private func view(_ database: TestDatabase) async throws -> JSONValue {
    let rows = try await database.query(
      """
      SELECT row_to_json(c)::text FROM (
        SELECT audience, queued, sending, waiting, sent, accepted, failed, uncertain, skipped, cancelled, opened
        FROM report.sendout_totals WHERE customer_id = 1 AND sendout_id = 1) c
      """)
    return try JSONValue(parsing: try rows[0].decode(String.self).utf8)
  }

  /// The log, at level trace, holds no secret and no contact's data.
  private func expectNoSecrets(in log: String, _ fixture: ProcessFixture) async throws {
    #expect(log.contains("answered"))
    let signingKey = APNsCredentials.sample.signingKey.split(separator: "\n")[1]
    let secrets = [
      fixture.key, fixture.pushcart.masterKey, String(signingKey), "PRIVATE KEY", "robin@example.com", "Robin",
      "c0ffee",
      "fade0410",
    ]
    for secret in secrets { #expect(!log.contains(secret), "\(secret) stands in the log") }
  }

  private func psql(_ arguments: String...) async throws -> (status: Int32, output: String) {
    let words = arguments.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
    return try await Shell.run("PGOPTIONS='-c role=pushcart_report' psql -X \(words) 2>&1")
  }

  /// Stops a hub and waits for its end.
  private static func exitStatus(of hub: ProcessFixture.Hub) async -> Int32 {
    hub.process.signal(SIGTERM)
    return await hub.process.exit()
  }

  private static func path(_ path: String) -> String {
    URL(filePath: #filePath).appending(path: "../../../../\(path)").standardized.path
  }
}
