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
        _ = try await Ledger(transaction).freeze(key, apps: [bench.app.id], audience: .all)
      }
      let database = CountingDatabase(bench.pool)
      let dispatcher = Dispatcher(
        database, services: bench.services, links: bench.links, suppressions: .ofTests,
        settings: TestHub().dispatch, logger: TestServer.logger)
      let result = await dispatcher.dispatch(
        try bench.plan(key, MessageBody(alert: "Hello")), to: try await bench.appTarget(dispatcher), bench.lane)
      #expect(result.end == .drained)
      #expect(try await bench.show(key).counts?.accepted == 3000)
      let counts = database.counts
      #expect(counts["batch.claim"] == 4)
      #expect(counts["device.recipients"] == 3)
      // Batches are settled with their last outcomes.
      #expect(counts["batch.release"] == nil)
      let settles = try #require(counts["push.settle"])
      #expect(settles < 300)
    }
  }
}

extension SendingBench {
  /// The plan to send a sendout.
  func plan(_ key: SendoutKey, _ message: MessageBody) throws -> SendoutPlan {
    SendoutPlan(
      key: key,
      content: .same(
        MessageContent(template: try MessageTemplate(message), sendout: SendoutFields(), hasPage: false)),
      onUncertain: .resend)
  }

  /// What is needed to send to its app.
  func appTarget(_ dispatcher: Dispatcher) async throws -> AppTarget {
    let credentials = try #require(try await PushCredentialVault(pool, vault: vault).credentials(for: app))
    return dispatcher.target(for: app, credentials)
  }

  /// The lane of its app's devices in production.
  var lane: Lane { Lane(app: app.id, isSandbox: false) }
}
