import Foundation
import Postgres
import Simulator
import Support
import Testing
import Wire

@Suite struct CrashTests {
  @Test func `A hub killed during a sendout and restarted misses no device`() async throws {
    try await withProcessFixture(configure: { $0.requestsKept = 100_000 }) { fixture in
      try await fixture.addDevices(3000)
      // Numbers 256 to 271: those that the hub has in hand when it is killed.
      fixture.simulator.apns.rule(.prefix("ab" + String(repeating: "0", count: 59) + "10"), .ignore)
      fixture.simulator.apns.rule(.any, .after(.milliseconds(20), .accept))
      let first = try await fixture.serve(logLevel: "info")
      let sendout = try await fixture.send(through: first.server)
      _ = await fixture.simulator.apns.received(count: 700)
      await first.process.die()
      fixture.simulator.apns.removeRules()

      let second = try await fixture.serve(logLevel: "info")
      let watched = try await fixture.pushcart.run(
        "sendout", "show", String(sendout), "--customer", "1", "--watch", "--json")
      #expect(try watched.json.string("state") == "finished", "\(watched.errors)")
      await second.process.die()

      let times = Dictionary(grouping: fixture.simulator.apns.requests, by: \.token).mapValues(\.count)
      let rows = try await fixture.database.query(
        """
        SELECT d.token, p.state, p.resent_because
        FROM push p JOIN device d USING (customer_id, device_id) WHERE p.customer_id = 1 AND p.sendout_id = $1
        """, sendout)
      #expect(rows.count == 3000)
      var resent = 0
      for row in rows {
        let (token, state, because) = try row.decode(String.self, String.self, String?.self)
        #expect(state == "accepted")
        #expect(times[token, default: 0] >= 1, "\(token) was left out")
        if because == nil { #expect(times[token] == 1, "\(token) got it twice, and the ledger does not say why") }
        if because != nil { resent += 1 }
      }
      #expect(resent > 0)
    }
  }

  @Test func `A hub killed during a freeze leaves no partial ledger`() async throws {
    try await withProcessFixture { fixture in
      try await fixture.addDevices(300)
      let first = try await fixture.serve(logLevel: "info")
      let sendout = try await fixture.database.pool.transaction { transaction in
        // The pushes are written by now, and their batches are waited for.
        try await transaction.query(sql: "LOCK TABLE push_batch IN SHARE MODE")
        let sendout = try await fixture.send(through: first.server)
        try await waitUntil {
          try await !fixture.database.query(
            "SELECT 1 FROM \(TestDatabase.locks) WHERE relation = 'push_batch'::regclass AND mode = 'RowExclusiveLock' AND NOT granted"
          ).isEmpty
        }
        await first.process.die()
        return sendout
      }
      #expect(try await fixture.database.query("SELECT 1 FROM push").isEmpty)

      let second = try await fixture.serve(logLevel: "info")
      let watched = try await fixture.pushcart.run(
        "sendout", "show", String(sendout), "--customer", "1", "--watch", "--json")
      #expect(try watched.json["counts"]?.integer("audience") == 300)
      #expect(try watched.json["counts"]?.integer("accepted") == 300)
      #expect(fixture.simulator.apns.count == 300)
      await second.process.die()
    }
  }

  @Test func `A hub that shuts down settles its pushes and leaves the rest to the next hub`() async throws {
    try await withProcessFixture(configure: { $0.requestsKept = 100_000 }) { fixture in
      try await fixture.addDevices(2500)
      fixture.simulator.apns.rule(.any, .after(.milliseconds(20), .accept))
      let first = try await fixture.serve(logLevel: "info")
      let sendout = try await fixture.send(through: first.server)
      _ = await fixture.simulator.apns.received(count: 500)
      first.process.signal(SIGTERM)
      #expect(await first.process.exit() == 0, "\(first.process.text)")

      let claimed = try await fixture.database.query("SELECT 1 FROM push_batch WHERE state = 'claimed'")
      #expect(claimed.isEmpty)
      let accepted = try await fixture.database.query("SELECT count(*) FROM push WHERE state = 'accepted'")
      #expect(try accepted[0].decode(Int.self) == fixture.simulator.apns.count)

      let second = try await fixture.serve(logLevel: "info")
      let watched = try await fixture.pushcart.run(
        "sendout", "show", String(sendout), "--customer", "1", "--watch", "--json")
      #expect(try watched.json["counts"]?.integer("accepted") == 2500)
      #expect(fixture.simulator.apns.count == 2500)
      await second.process.die()
    }
  }

  @Test func `A hub does not start on an outdated schema and says what to do`() async throws {
    try await withProcessFixture { fixture in
      try await fixture.database.query(
        "DELETE FROM schema_migration WHERE name = (SELECT max(name) FROM schema_migration)")
      let outcome = try await fixture.pushcart.run("serve")
      #expect(outcome.status == 1)
      #expect(outcome.errors.contains("pushcart migrate"))
    }
  }

  @Test func `Health, readiness and metrics answer, and a changed migration keeps a hub from starting`() async throws {
    try await withProcessFixture { fixture in
      let hub = try await fixture.serve(logLevel: "info")
      #expect(try await hub.server.send("GET", "/healthz").status == 200)
      // A busy database may take longer than a probe waits.
      try await waitUntil { try await hub.server.send("GET", "/readyz").status == 200 }
      let metrics = try await hub.server.send("GET", "/metrics")
      #expect(metrics.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
      #expect(
        metrics.text.contains("pushcart_http_request_seconds_count{method=\"GET\",route=\"/readyz\",status=\"200\"} 1"))
      await hub.process.die()

      try await fixture.database.query("UPDATE schema_migration SET checksum = '\\x00' WHERE name LIKE '0006%'")
      let refused = try await fixture.pushcart.run("serve")
      #expect(refused.status == 1 && refused.errors.contains("0006"))
    }
  }
}
