import Foundation
import Postgres
import Simulator
import Support
import Testing

@Suite struct DrainTests {
  @Test func `Stalled clients delay neither pushes nor replies of a hub that shuts down`()
    async throws
  {
    try await withProcessFixture(configure: { $0.requestsKept = 100_000 }) { fixture in
      try await fixture.addDevices(2500)
      fixture.simulator.apns.rule(.any, .after(.milliseconds(20), .accept))
      let hub = try await fixture.serve()
      _ = try await fixture.send(through: hub.server)
      let stuck = try await StuckClient(hub.server.url, key: fixture.key)
      let refused = try await StuckClient(hub.server.url, key: "none")
      _ = await fixture.simulator.apns.received(count: 500)

      let late = try await fixture.database.pool.transaction { transaction in
        try await transaction.query(Self.lock)
        let late = Task { try await Self.put(fixture, hub) }
        try await waitUntil { try await !transaction.query(Self.waiting).isEmpty }
        hub.process.signal(SIGTERM)
        try await hub.process.says("Server State: shuttingDown")
        return late
      }
      #expect(try await late.value.status == 200)

      #expect(await hub.process.exit() == 0, "\(hub.process.text)")
      withExtendedLifetime((stuck, refused)) {}
      let claimed = try await fixture.database.query("SELECT 1 FROM push_batch WHERE state = 'claimed'")
      #expect(claimed.isEmpty)
      let accepted = try await fixture.database.query("SELECT count(*) FROM push WHERE state = 'accepted'")
      #expect(try accepted[0].decode(Int.self) == fixture.simulator.apns.count)
    }
  }

  @Test func `A hub that waits for a push service's reply stops within its limit, and says what it leaves`()
    async throws
  {
    try await withProcessFixture { fixture in
      try await fixture.addDevices(3)
      fixture.simulator.apns.rule(.any, .ignore)
      defer { fixture.simulator.apns.answerIgnored() }
      var pushcart = fixture.pushcart
      pushcart.environment["PUSHCART_DRAIN_SECONDS"] = "1"
      let hub = try await ProcessFixture.Hub(pushcart)
      _ = try await fixture.send(through: hub.server)
      _ = await fixture.simulator.apns.received(count: 1)
      hub.process.signal(SIGTERM)
      #expect(await hub.process.exit() == 0, "\(hub.process.text)")
      #expect(hub.process.text.contains("shutdown timeout"))
    }
  }

  private static func put(_ fixture: ProcessFixture, _ hub: ProcessFixture.Hub) async throws -> TestReply {
    try await hub.server.send(
      "PUT", "/rest/1/apps/\(ProcessFixture.appID)/pushdevices",
      headers: [("X-Carma-Authentication-Token", fixture.key)],
      json: #"{"originalId":"late@example.com","deviceInfo":[{"devicetoken":"c0ffee42"}]}"#)
  }

  /// Blocks registrations until its transaction ends.
  private static let lock = Statement("test.lock", .write, "LOCK TABLE contact IN EXCLUSIVE MODE")
  private static let waiting = Statement(
    "test.waiting", .read,
    "SELECT 1 FROM \(TestDatabase.locks) WHERE NOT granted AND locktype = 'relation' AND relation = 'contact'::regclass"
  )
}
