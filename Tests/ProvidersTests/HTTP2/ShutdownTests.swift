import NIOCore
import NIOPosix
import Providers
import Simulator
import Support
import Testing
import Wire

/// A provider's shutdown.
@Suite struct ShutdownTests {
  @Test func `Shutdown waits for responses to sent pushes, and returns the rest`() async throws {
    try await withAPNs(provider: { $0.connectionsPerPool = 1 }) { simulator, apns in
      simulator.apns.rule(.nth(1), .ignore)
      async let verdicts = apns.verdicts(APNsPush.samples(5))
      _ = await simulator.apns.received(count: 1)
      async let down: Void = apns.shutDown()
      let outcomes = await apns.verdicts([.sample()], to: .production)
      #expect(outcomes == [.unsent(reason: "ShuttingDown")])
      simulator.apns.answerIgnored()
      await down
      #expect(await verdicts == [.accepted] + Array(repeating: .unsent(reason: "ShuttingDown"), count: 4))
      #expect(await apns.verdicts([.sample()]) == [.unsent(reason: "ShuttingDown")])
      // Nor is a key that comes only now given a connection.
      #expect(await apns.verdicts([.sample()], to: .sandbox) == [.unsent(reason: "ShuttingDown")])
      #expect(simulator.apns.connectionsOpened == 1)
    }
  }

  @Test func `A connection that is opening does not delay shutdown, and is closed when open`() async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let (closings, closed) = AsyncStream.makeStream(of: Void.self)
    // Its queue has room for one; whoever comes next waits until somebody is let in.
    let busy = try await ServerBootstrap(group: group)
      .serverChannelOption(.backlog, value: 0)
      .serverChannelOption(.autoRead, value: false)
      .childChannelInitializer { channel in
        channel.closeFuture.whenComplete { _ in closed.yield() }
        return channel.eventLoop.makeSucceededVoidFuture()
      }
      .bind(host: "127.0.0.1", port: 0).get()
    let address = try #require(busy.localAddress)
    let first = try await ClientBootstrap(group: group).connect(to: address).get()
    try await withSimulator { simulator in
      var settings = PushServiceSettings(simulator)
      settings[.apnsProductionURL] = "https://127.0.0.1:\(address.port ?? 0)"
      try await withProvider(settings) { apns in
        let outcomes = apns.send([.sample()], to: .production, as: .sample)
        await apns.shutDown()
        let verdicts = await outcomes.reduce(into: []) { $0 += $1.map(\.verdict) }
        #expect(verdicts == [.unsent(reason: "ShuttingDown")])
      }
    }
    try await busy.setOption(.autoRead, value: true).get()
    for await _ in closings { break }
    #expect(first.isActive)
    try await first.close()
    try await busy.close()
  }
}
