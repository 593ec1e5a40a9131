import Delivery
import Foundation
import Registry
import Sendouts
import Support
import Testing
import Wire

/// How long push services are told to keep a push: what is left of its ttl by the database's clock, and no more than was asked for.
@Suite struct LifetimeTests {
  @Test(arguments: SendoutService.allCases, [600.0, -600])
  func `A hub whose clock is wrong tells what is left by the database's clock`(
    service: SendoutService, lead: Double
  ) async throws {
    try await withSendingBench { bench in
      _ = try await service.addApp(bench, contacts: 1)
      try await bench.withHubs(1, { $0.now = { Date(timeIntervalSinceNow: lead) } }) {
        let reply = try await bench.sendouts.create(
          bench.customer,
          SendoutRequest(
            name: "Offer", appId: SendingBench.appID, audience: .all, message: MessageBody(alert: "x", ttl: 3600),
            start: true))
        try await bench.until(SendoutKey(bench.customer, reply.sendoutId), .finished)
      }
      let lifetimes = service.lifetimes(bench.simulator)
      // A slow machine takes its time.
      #expect(lifetimes.count == 1 && (3300...3600).contains(lifetimes[0] ?? 0), "\(lifetimes)")
    }
  }
}
