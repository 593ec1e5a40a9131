import Delivery
import Foundation
import Registry
import Sendouts
import Simulator
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
      let lifetimes = Self.lifetimes(service, bench.simulator)
      // A slow machine takes its time.
      #expect(lifetimes.count == 1 && (3300...3600).contains(lifetimes[0] ?? 0), "\(lifetimes)")
    }
  }

  /// What the simulations were told, in seconds; of APNs, which is told a moment, what was left when the request came.
  private static func lifetimes(_ service: SendoutService, _ simulator: PushSimulator) -> [Int?] {
    func seconds(_ text: String?) -> Int? { text.flatMap { Int($0.dropLast()) } }
    return switch service {
    case .apns:
      simulator.apns.requests.map { request in
        request.header("apns-expiration").flatMap(Int.init).map { $0 - Int(request.at.timeIntervalSince1970) }
      }
    case .fcm: simulator.fcm.requests.map { seconds($0.message["android"]?.string("ttl")) }
    case .hms: simulator.hms.requests.map { seconds($0.message["android"]?.string("ttl")) }
    case .wns: simulator.wns.requests.map { $0.header("x-wns-ttl").flatMap(Int.init) }
    case .webPush: simulator.webPush.requests.map { $0.header("ttl").flatMap(Int.init) }
    }
  }
}
