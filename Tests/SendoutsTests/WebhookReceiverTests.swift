import Foundation
import Outbox
import Postgres
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// A hub's posts of events, over https, to the Simulator's receiver.
@Suite struct WebhookReceiverTests {
  @Test func `The receiver verifies what a hub posts, and a post that it refuses is repeated`() async throws {
    try await withSendingBench { bench in
      let receiver = bench.simulator.webhooks
      var settings = PushServiceSettings(bench.simulator)
      settings.endpoints.webhook.listed = HostList(receiver.authority)
      let rule = settings.endpoints.webhook
      let webhook = try await bench.pool.transaction { transaction in
        try await EventWebhooks(transaction).add(
          bench.customer, EventWebhookRequest(url: receiver.url + "events", events: [.pushAccepted]),
          vault: bench.vault, rule: rule)
      }
      try await withProvider(settings) { services in
        let store = EventWebhooks(bench.pool)
        let runner = WebhookRunner(
          bench.pool, vault: bench.vault, bodies: EventBodies(bench.pool), logger: TestServer.logger,
          post: services.poster.post)
        func post() async throws -> SimulatedWebhooks.ReceivedPost? {
          _ = try await store.test(bench.customer, webhook.webhookId)
          _ = try await runner.postDue()
          return receiver.received.last
        }
        #expect(try await post()?.verdict == .unknownSecret)
        receiver.trust("whsec_" + Data(repeating: 7, count: 32).base64EncodedString())
        #expect(try await post()?.verdict == .wrongSignature)
        #expect(receiver.trust(webhook.secret ?? ""))
        let verified = try #require(try await post())
        #expect(verified.verdict == .verified && verified.event == "webhook.test" && verified.path == "/events")
        receiver.answer([500])
        let refused = try #require(try await post())
        #expect(refused.status == 500 && refused.verdict == .verified)
        let delivery = try #require(
          try await store.deliveries(bench.customer, webhook.webhookId, PageRequest()).items.first)
        #expect(delivery.state == .waiting && delivery.status == 500 && delivery.messageId == refused.id)
        try await bench.database.query("UPDATE webhook_delivery SET not_before = now() WHERE state = 'waiting'")
        _ = try await runner.postDue()
        #expect(receiver.received.last?.id == refused.id && receiver.received.last?.status == 204)
        // More than HTTP/2's first window.
        try await bench.addDevices(500)
        let key = try await bench.withHubs {
          let key = try await bench.send(trackOpens: false)
          try await bench.until(key, .finished)
          return key
        }
        #expect(try await bench.show(key).counts?.accepted == 500)
        while try await runner.postDue() > 0 {}
        let bodies = receiver.received.filter { $0.event == "push.accepted" }
        #expect(bodies.allSatisfy { $0.verdict == .verified })
        let items = try bodies.map { body -> Int in
          if case .array(let items)? = try JSONValue(json: body.body)["data"] { items.count } else { 0 }
        }
        #expect(items.reduce(0, +) == 500)
      }
    }
  }
}
