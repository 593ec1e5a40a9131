import Delivery
import Foundation
import Postgres
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

@Suite struct VerdictTests {
  /// A push to a token that begins with `bb`, beside two that are accepted, once it has the expected outcome.
  private func outcome(
    of reply: SimulatedAPNs.Reply, times: Int? = nil, policy: UncertainPolicy = .resend,
    registeredAt: Date = Date(timeIntervalSinceNow: -3600), _ configure: (inout TestHub) -> Void = { _ in },
    hurries: Bool = false, is state: PushState,
    _ check: (SendingBench, PushReply) async throws -> Void = { _, _ in }
  ) async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(2)
      let device = try await bench.addDevices(1, from: 3, prefix: "bb", registeredAt: registeredAt)[0]
      bench.simulator.apns.rule(.prefix("bb"), reply, times: times)
      try await bench.withHubs(1, configure) {
        let key = try await bench.send("Hello", onUncertain: policy)
        var push: PushReply?
        try await waitUntil {
          push = try await bench.pushes(key).first { $0.deviceId == device }
          if hurries { try await bench.makeDue(key) }
          return push?.state == state
        }
        let others = try await bench.until(key) { $0.counts?.sending == 0 }
        let counts = try #require(others.counts)
        #expect(counts.accepted >= 2)
        try await check(bench, try #require(push))
      }
    }
  }

  @Test func `A 410 dated after the registration retires the device`() async throws {
    let since = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() - 60)
    try await outcome(of: .refuse(status: 410, reason: "Unregistered", since: since), is: .failed) { bench, push in
      #expect(push.reason == "Unregistered" && push.attempts == 1 && push.sentAt != nil)
      let (at, type, reason) = try await bench.invalidation(push.deviceId)
      #expect(at == since && type == 2 && reason == "Unregistered")
    }
  }

  @Test func `A 410 dated before the registration keeps the device, and the push is sent again`() async throws {
    let since = Date(timeIntervalSinceNow: -7200)
    try await outcome(
      of: .refuse(status: 410, reason: "Unregistered", since: since), times: 1, hurries: true, is: .accepted
    ) { bench, push in
      #expect(push.attempts == 2 && push.resentBecause == "Unregistered" && push.reason == nil)
      let invalidatedAt = try await bench.invalidation(push.deviceId).at
      #expect(invalidatedAt == nil)
    }
  }

  @Test func `BadDeviceToken retires the device for the environment it was sent to`() async throws {
    try await outcome(of: .refuse(status: 400, reason: "BadDeviceToken"), is: .failed) { bench, push in
      #expect(push.reason == "BadDeviceToken")
      var invalidation = try await bench.invalidation(push.deviceId)
      try await waitUntil {
        invalidation = try await bench.invalidation(push.deviceId)
        return invalidation.at != nil
      }
      #expect(invalidation.type == 3 && invalidation.reason == "BadDeviceToken")
    }
  }

  @Test func `BadDeviceToken for a token registered since keeps the device`() async throws {
    try await outcome(
      of: .refuse(status: 400, reason: "BadDeviceToken"), times: 1, registeredAt: Date(timeIntervalSinceNow: 3600),
      hurries: true, is: .accepted
    ) { bench, push in
      #expect(push.attempts == 2 && push.resentBecause == "BadDeviceToken")
      let invalidatedAt = try await bench.invalidation(push.deviceId).at
      #expect(invalidatedAt == nil)
    }
  }

  @Test func `A refused payload fails and nothing happens to the device`() async throws {
    try await outcome(of: .refuse(status: 400, reason: "BadCollapseId"), is: .failed) { bench, push in
      #expect(push.reason == "BadCollapseId" && push.attempts == 1)
      let invalidatedAt = try await bench.invalidation(push.deviceId).at
      #expect(invalidatedAt == nil)
    }
  }

  @Test func `TooManyRequests delays a push by at least a minute`() async throws {
    try await outcome(of: .refuse(status: 429, reason: "TooManyRequests"), is: .waiting) { _, push in
      #expect(push.reason == "TooManyRequests" && push.attempts == 1 && push.resentBecause == nil)
      let wait = try #require(push.notBefore).date.timeIntervalSince(try #require(push.settledAt).date)
      #expect(wait >= 59.9)
    }
  }

  @Test func `A delayed push is sent again when it is due, and records why`() async throws {
    try await outcome(of: .refuse(status: 503, reason: "ServiceUnavailable"), times: 2, hurries: true, is: .accepted) {
      _, push in
      #expect(push.attempts == 3 && push.resentBecause == "ServiceUnavailable")
      #expect(push.notBefore == nil && push.reason == nil)
    }
  }

  @Test func `An unanswered push is sent again or not, by the policy`() async throws {
    try await outcome(of: .resetStream, times: 1, policy: .resend, hurries: true, is: .accepted) { _, push in
      #expect(push.attempts == 2 && push.resentBecause != nil)
    }
    try await outcome(of: .resetStream, times: 1, policy: .skip, is: .uncertain) { _, push in
      #expect(push.attempts == 1 && push.resentBecause == nil && push.reason != nil)
    }
  }

  @Test func `A push that was certainly not processed is sent again without counting an attempt`() async throws {
    try await outcome(of: .goAway(), times: 1, is: .accepted) { _, push in
      #expect(push.attempts == 1 && push.resentBecause == nil)
    }
  }

  @Test(arguments: [-3.0, 3]) func `A hub whose clock is hours off retries a push for as long as others`(hours: Double)
    async throws
  {
    try await withSendingBench { bench in
      try await bench.addDevices(1)
      bench.simulator.apns.rule(.any, .refuse(status: 503, reason: "Shutdown"), times: 3)
      let dispatcher = Dispatcher(
        bench.pool, services: bench.services, links: bench.links, suppressions: .ofTests,
        settings: .unhurried, logger: TestServer.logger,
        time: ServerClock { Date(timeIntervalSinceNow: hours * 3600) })
      let runner = SendoutRunner(
        bench.pool, dispatcher: dispatcher, vault: bench.vault, settings: TestHub().runner, logger: TestServer.logger)
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask { try await runner.run() }
        let key = try await bench.send()
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).state == .finished
        }
        let finished = try await bench.show(key)
        #expect(finished.counts == SendoutCounts(audience: 1, sent: 1, accepted: 1))
        #expect(try await bench.pushes(key).map(\.attempts) == [4])
        group.cancelAll()
      }
    }
  }

  @Test func `A push expires`() async throws {
    try await withSendingBench { bench in
      try await bench.addDevices(1, prefix: "bb")
      bench.simulator.apns.rule(.any, .refuse(status: 503, reason: "ServiceUnavailable"))
      try await bench.withHubs {
        let key = try await bench.send()
        try await bench.until(key) { $0.counts?.waiting == 1 }
        try await bench.database.query("UPDATE push SET give_up_at = now()")
        try await bench.makeDue(key)
        let finished = try await bench.until(key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 1, sent: 1, failed: 1))
        let push = try await bench.pushes(key)[0]
        #expect(push.reason == "ServiceUnavailable" && push.attempts == 2)
      }
    }
  }
}
