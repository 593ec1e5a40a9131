import Delivery
import Providers
import Registry
import Sendouts
import Simulator
import Support
import Testing
import Wire

/// Sendouts to both environments, of which one is closed.
@Suite struct EnvironmentTests {
  /// Waits until the sendout is in that state without waiting pushes.
  private func hurried(_ bench: SendingBench, _ key: SendoutKey, _ state: SendoutState) async throws -> SendoutReply {
    try await bench.until(key) { sendout in
      if sendout.state == state, sendout.counts?.sending == 0 { return true }
      try await bench.makeDue(key)
      return false
    }
  }

  @Test func `An unavailable sandbox delays only itself: what was tried expires, and its backlog stays as it is`()
    async throws
  {
    try await withSendingBench({
      $0[.apnsSandboxURL] = "https://localhost:1"
      $0.connectAttempts = 1
    }) { bench in
      // Whole batches of one environment, the closed one first.
      try await bench.addDevices(80, sandbox: true)
      try await bench.addDevices(100, from: 81)
      try await bench.withHubs {
        let key = try await bench.send()
        let sent = try await bench.until(key) { $0.counts?.accepted == 100 && ($0.counts?.waiting ?? 0) > 0 }
        #expect(sent.state == .running)
        try await bench.database.query("UPDATE push SET give_up_at = now() WHERE give_up_at IS NOT NULL")
        try await waitUntil {
          try await bench.makeDue(key)
          return try await bench.show(key).counts?.failed != 0
        }
        let pushes = try await bench.pushes(key)
        // Before any macro: behind one, Swift 6.3.1 compiled a closure with `||` here so that it asked for another state.
        let left = pushes.filter { [.queued, .waiting].contains($0.state) }
        let failed = pushes.filter { $0.state == .failed }
        #expect(failed.allSatisfy { $0.reason == "ConnectionRefused" && $0.attempts == 0 && $0.sentAt == nil })
        #expect(failed.count + left.count == 80)
      }
    }
  }

  @Test(arguments: [false, true])
  func `A key refused by the sandbox pauses the sendout after production is sent`(sandboxFirst: Bool)
    async throws
  {
    try await withSendingBench { bench in
      if sandboxFirst {
        try await bench.addDevices(80, sandbox: true)
        try await bench.addDevices(100, from: 81)
      } else {
        try await bench.addDevices(100)
        try await bench.addDevices(80, from: 101, sandbox: true)
      }
      let sample = APNsCredentials.sample
      func trust(_ environments: Set<SimulatedAPNs.Environment>) throws {
        try bench.simulator.apns.trust(
          teamID: sample.teamID, keyID: sample.keyID, signingKey: sample.signingKey, environments: environments)
      }
      try trust([.production])
      try await bench.withHubs {
        let key = try await bench.send()
        let paused = try await hurried(bench, key, .paused)
        #expect(paused.haltReason == "BadEnvironmentKeyIdInToken")
        #expect(paused.counts?.accepted == 100 && paused.counts?.sent == 100)
        #expect(try await bench.currentApp()?.sandboxAlarm?.reason == "BadEnvironmentKeyIdInToken")
        #expect(try await bench.currentApp()?.alarm == nil)

        try trust([.production, .sandbox])
        try await bench.sendouts.resume(bench.customer, key.sendout)
        let finished = try await hurried(bench, key, .finished)
        #expect(finished.counts == SendoutCounts(audience: 180, sent: 180, accepted: 180))
        #expect(try await bench.pushes(key).allSatisfy { $0.attempts == 1 && $0.resentBecause == nil })
        // Nothing is wrong with the app any more, and nobody had to say so.
        #expect(try await bench.currentApp()?.sandboxAlarm == nil)
      }
    }
  }
}
