import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Connections that die without a word, and responses that never come, over TLS and HTTP/2.
@Suite struct SilentConnectionTests {
  /// Runs `body` with services that send through a proxy.
  private func withProxy(
    streamLimit: Int = 1000, _ configure: (inout PushServiceSettings) -> Void,
    _ body: (PushSimulator, PushServices, FreezingProxy) async throws -> Void
  ) async throws {
    try await withSimulator(configure: { $0.streamLimits[.apns] = streamLimit }) { simulator in
      let proxy = try await FreezingProxy(to: simulator.productionURL)
      var settings = PushServiceSettings(simulator)
      settings[.apnsProductionURL] = "https://127.0.0.1:\(proxy.port)"
      settings.connectionsPerPool = 1
      configure(&settings)
      try await withProvider(settings) { services in
        try await body(simulator, services, proxy)
        try await proxy.close()
      }
    }
  }

  @Test func `No push leaves on a connection that died in its silence`() async throws {
    try await withProxy({
      $0.pingBeforeUse = .zero
      $0.pingTimeout = .seconds(8)
    }) { simulator, services, proxy in
      #expect(await services.verdicts([.sample()]) == [.accepted])
      try await proxy.freeze()
      #expect(Set(await services.verdicts(APNsPush.samples(500))) == [.accepted])
      #expect(simulator.apns.count == 501)
    }
  }

  @Test func `A connection that answers a PING is used again`() async throws {
    try await withProxy({ $0.pingBeforeUse = .zero }) { simulator, services, _ in
      for _ in 0..<3 { #expect(await services.verdicts([.sample()]) == [.accepted]) }
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `A connection that dies while responses are awaited is left by what waits`() async throws {
    try await withProxy(
      streamLimit: 7,
      {
        $0.pingWhenWaiting = .milliseconds(100)
        $0.pingTimeout = .seconds(8)
      }
    ) { simulator, services, proxy in
      #expect(await services.verdicts([.sample()]) == [.accepted])
      try await proxy.freeze()
      let verdicts = await services.verdicts(APNsPush.samples(500))
      let uncertain = verdicts.count { $0 == .uncertain(reason: "ConnectionDead") }
      // What had left is lost, as many as the server takes at once. The others go to the next connection.
      #expect(uncertain == 7)
      #expect(verdicts.count { $0 == .accepted } == 493)
    }
  }

  @Test func `A lost response ends soon after many later ones`() async throws {
    try await withAPNs(provider: {
      $0.connectionsPerPool = 1
      $0.overtakenTimeout = .milliseconds(100)
    }) { simulator, services in
      #expect(await services.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.prefix("dd"), .ignore)
      let verdicts = await services.verdicts([.sample(token: "dd00")] + APNsPush.samples(200))
      #expect(
        verdicts == [.uncertain(reason: "RequestTimeout")] + Array(repeating: .accepted, count: 200))
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `A server that answers no request is left for another connection`() async throws {
    try await withAPNs(provider: {
      $0.connectionsPerPool = 1
      $0.requestTimeout = .seconds(10)
    }) { simulator, services in
      #expect(await services.verdicts([.sample()]) == [.accepted])
      simulator.apns.rule(.prefix("dd"), .ignore)
      let lost = (0..<3).map { APNsPush.sample(token: "dd0\($0)") }
      #expect(Set(await services.verdicts(lost)) == [.uncertain(reason: "RequestTimeout")])
      #expect(await services.verdicts([.sample()]) == [.accepted])
      #expect(simulator.apns.connectionsOpened == 2)
    }
  }

  @Test func `A server that ends each connection after fifty pushes gets them all`() async throws {
    try await withAPNs { simulator, services in
      for number in 1...40 { simulator.apns.rule(.nth(50 * number), .goAway(reason: "Shutdown")) }
      #expect(Set(await services.verdicts(APNsPush.samples(2000))) == [.accepted])
      #expect(simulator.apns.connectionsOpened > 20)
    }
  }
}
