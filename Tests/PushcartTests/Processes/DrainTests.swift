import Foundation
import Postgres
import Simulator
import Support
import Testing

@Suite struct DrainTests {
  @Test func `Clients that do not go on cost a hub told to end neither its pushes nor anybody's answer`()
    async throws
  {
    try await withStage(configure: { $0.arrivalsKept = 100_000 }) { stage in
      try await stage.addDevices(2500)
      stage.simulator.apns.rule(.any, .after(.milliseconds(20), .accept))
      let hub = try await stage.serve()
      _ = try await stage.send(through: hub.site)
      let stuck = try await StuckClient(hub.site.url, key: stage.key)
      let refused = try await StuckClient(hub.site.url, key: "none")
      _ = await stage.simulator.apns.received(count: 500)

      let late = try await stage.database.pool.transaction { transaction in
        try await transaction.query(Self.lock)
        let late = Task { try await Self.put(stage, hub) }
        while try await transaction.query(Self.waiting).isEmpty { await Task.yield() }
        hub.process.signal(SIGTERM)
        try await hub.process.says("Server State: shuttingDown")
        return late
      }
      #expect(try await late.value.status == 200)

      #expect(await hub.process.exit() == 0, "\(hub.process.text)")
      withExtendedLifetime((stuck, refused)) {}
      let claimed = try await stage.database.query("SELECT 1 FROM push_batch WHERE state = 'claimed'")
      #expect(claimed.isEmpty)
      let accepted = try await stage.database.query("SELECT count(*) FROM push WHERE state = 'accepted'")
      #expect(try accepted[0].decode(Int.self) == stage.simulator.apns.count)
    }
  }

  private static func put(_ stage: Stage, _ hub: Stage.Hub) async throws -> TestReply {
    try await hub.site.send(
      "PUT", "/rest/1/apps/\(Stage.appID)/pushdevices", headers: [("X-Carma-Authentication-Token", stage.key)],
      json: #"{"originalId":"late@example.com","deviceInfo":[{"devicetoken":"c0ffee42"}]}"#)
  }

  /// Lets nobody register until its transaction ends.
  private static let lock = Statement("test.lock", .write, "LOCK TABLE contact IN EXCLUSIVE MODE")
  private static let waiting = Statement(
    "test.waiting", .read,
    "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation' AND relation = 'contact'::regclass")
}
