import Content
import Delivery
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct DispatchCostTests {
  @Test func `A dispatch runs a few statements per batch, none per push`() async throws {
    try await withSendingBench(simulator: { $0.requestsKept = 1 }) { bench in
      try await bench.addDevices(3000)
      let key = try await bench.send("Hello")
      try await bench.pool.transaction { transaction in
        _ = try await Ledger(transaction).freeze(key, app: bench.app.id, audience: .all)
      }
      let database = CountingDatabase(bench.pool)
      let dispatcher = Dispatcher(database, apns: bench.apns, links: bench.links, logger: TestServer.logger)
      let end = await dispatcher.dispatch(try await bench.order(key, MessageBody(alert: "Hello")))
      #expect(end == .drained)
      #expect(try await bench.show(key).counts?.accepted == 3000)
      let counts = database.counts
      #expect(counts["batch.claim"] == 4)
      #expect(counts["device.recipients"] == 3)
      #expect(counts["batch.release"] == 3)
      let settles = try #require(counts["push.settle"])
      #expect(settles < 300)
    }
  }
}

extension SendingBench {
  /// The order to send a sendout.
  func order(_ key: SendoutKey, _ message: MessageBody) async throws -> SendoutOrder {
    let credentials = try #require(try await SigningCredentialVault(pool, vault: vault).credentials(for: app))
    return SendoutOrder(
      key: key, app: app.id, appFields: AppFields(appId: app.appID, name: app.name), topic: app.appID,
      credentials: credentials, message: try MessageTemplate(message), sendoutFields: SendoutFields(), hasPage: false,
      onUncertain: .resend)
  }
}
