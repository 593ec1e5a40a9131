import Delivery
import Foundation
import Postgres
import Providers
import Registry
import Support
import Locking
import Testing
import Wire

@testable import Subscriptions

/// Notifications for which a customer has no place at strangers' addresses.
@Suite struct WebhookPlaceTests {
  @Test func `A push for which there is no place was not tried`() async throws {
    try await withDataTree { tree in
      var settings = PushServiceSettings(tree.bench.simulator, isPatient: false)
      settings.untrustedTimeout = .milliseconds(400)
      settings.placeTimeout = .zero
      try await withProvider(settings) { services in
        let dispatcher = tree.bench.dispatcher(TestHub(), services: services)
        // All at once: so the first have all places that an address has before it has answered.
        let pushes = (0..<70).map { _ in
          DirectPush(
            token: "https://hooks.invalid/", id: UUID(), forms: [RenderedMessage(literalData: [:], alert: [])],
            attempts: 5)
        }
        let told = Mutex<[DirectOutcome]>([])
        let sender = DirectSender(dispatcher)
        let target = dispatcher.webhooks(of: tree.bench.customer, token: nil)
        await sender.withRun(to: target) { run in
          await sender.send(pushes, to: target, in: run) { outcomes in told.withLock { $0 += outcomes } }
        }
        let blocked = told.withLock { $0.filter(\.isBlocked) }
        #expect(told.withLock { $0.count } == 70 && blocked.count == 70 - 16)
        for outcome in blocked {
          guard case .blocked(let delay, "NoPlace") = outcome.result else {
            Issue.record("\(outcome)")
            continue
          }
          #expect(delay >= .seconds(1) && delay <= .milliseconds(1500))
        }
      }
    }
  }

  @Test func `What was not tried waits, and has as much time as before`() async throws {
    try await withDataTree { tree in
      try await tree.subscribe("phone", "/n", .value)
      try await tree.put("/n", "1")
      try await tree.query(
        "UPDATE data_tree_due SET attempts = 3, first_failed_at = now() - interval '3 hours' WHERE customer_id > 0")
      let (pool, lane) = (tree.bench.pool, tree.lane)
      let queue = NotificationQueue(database: pool, run: UUID(), lease: .seconds(600))
      let items = try await queue.take(lane, upTo: 10, from: pool, vault: tree.bench.vault).items
      try await queue.settle(items.map { .init(id: $0.claimed.id, next: .blocked, delay: .seconds(60)) }, of: lane)
      let rows = try await tree.query(
        """
        SELECT attempts = 3 AND first_failed_at < now() - interval '2 hours' AND due_at > now() AND lease_until IS NULL
          FROM data_tree_due WHERE customer_id > 0
        """
      ).map { try $0.decode(Bool.self) }
      #expect(rows == [true])
      #expect(try await tree.outcomes() == [])
    }
  }
}
