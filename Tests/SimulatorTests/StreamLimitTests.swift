import NIOCore
import NIOHPACK
import NIOHTTP2
import Support
import Testing
import Wire

@testable import Simulator

/// What only frames show: stream limits, GOAWAY, resets.
@Suite struct StreamLimitTests {
  private func withFrames(
    configure: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (PushSimulator, FrameClient) async throws -> Void
  ) async throws {
    try await withSimulator(configure: configure) { simulator in
      let client = try await FrameClient(simulator.productionURL, caFile: simulator.caFile)
      try await body(simulator, client)
      try? await client.close()
    }
  }

  @Test func `A connection has one stream at first, and a thousand after the first accepted token`() async throws {
    try await withFrames { _, client in
      #expect(await client.streamLimit() == 1)
      // Refused before anybody looked at a token, and refused because of the token: still one.
      var request = TestRequest()
      request.path = "/3/device/xyz"
      client.send(request.block, payload: request.payload, stream: 1)
      #expect(await client.status(on: 1) == "400")
      client.send(TestRequest("bearer nonsense").block, payload: "{}", stream: 3)
      #expect(await client.status(on: 3) == "403")
      // A token that is accepted for a push that is not.
      client.send(TestRequest().block, payload: "nothing", stream: 5)
      #expect(await client.streamLimit() == 1000)
      #expect(await client.status(on: 5) == "400")
    }
  }

  @Test func `A second stream beside the first is refused`() async throws {
    try await withFrames { simulator, client in
      #expect(await client.streamLimit() == 1)
      client.send(TestRequest().block, stream: 1)
      client.send(TestRequest().block, payload: "{}", stream: 3)
      // NIOHTTP2 keeps the second one back until the first is answered: the limit is the server's word.
      client.finish(TestRequest().payload, stream: 1)
      #expect(await client.status(on: 1) == "200")
      #expect(await client.status(on: 3) == "400")
      #expect(simulator.apns.requests.map(\.stream) == [1, 3])
    }
  }

  @Test func `A lowered limit refuses the open streams beyond it`() async throws {
    try await withFrames { simulator, client in
      client.send(TestRequest().block, payload: TestRequest().payload, stream: 1)
      #expect(await client.status(on: 1) == "200")
      simulator.apns.rule(.any, .ignore)
      for stream in [3, 5, 7] { client.send(TestRequest().block, payload: TestRequest().payload, stream: stream) }
      _ = await simulator.apns.received(count: 4)
      simulator.apns.limitStreams(to: 2)
      #expect(await client.streamLimit() == 2)
      #expect(await client.reset(.refusedStream) == 7)
      simulator.apns.answerIgnored()
      #expect(await client.status(on: 3) == "200")
      #expect(await client.status(on: 5) == "200")
    }
  }

  @Test func `GOAWAY names the last stream and can carry a reason`() async throws {
    try await withFrames { simulator, client in
      simulator.apns.rule(.nth(2), .goAway(reason: "Shutdown"))
      client.send(TestRequest().block, payload: TestRequest().payload, stream: 1)
      #expect(await client.status(on: 1) == "200")
      client.send(TestRequest().block, payload: TestRequest().payload, stream: 3)
      #expect(await client.goAway() == #"1 {"reason":"Shutdown"}"#)
    }
  }

  @Test func `A cut connection closes without GOAWAY`() async throws {
    try await withFrames { simulator, client in
      simulator.apns.rule(.any, .cut)
      client.send(TestRequest().block, payload: TestRequest().payload, stream: 1)
      #expect(await client.status(on: 1) == nil)
    }
  }

  @Test func `A connection to any other service has a hundred streams before anybody has signed in`() async throws {
    try await withSimulator { simulator in
      for port in PushSimulator.kinds.filter({ $0.service != .apns }).flatMap({ $0.ports }) {
        let client = try await FrameClient(simulator.url(at: port), caFile: simulator.caFile)
        #expect(await client.streamLimit() == 100)
        try? await client.close()
      }
    }
  }

  @Test func `A stream beyond the acknowledged limit ends the connection and is counted`() async throws {
    try await withSimulator { simulator in
      let client = try await FrameClient(simulator.productionURL, caFile: simulator.caFile, ignoresLimit: true)
      client.send(TestRequest().block, stream: 1)
      #expect(await client.streamLimit() == 100)
      #expect(simulator.apns.streamsBeyondLimit == 0)
      // The limit is one, and the first stream is still open.
      client.send(TestRequest().block, stream: 3)
      let error = await client.next { frame -> HTTP2ErrorCode? in
        if case .goAway(_, let error, _) = frame.payload { error } else { nil }
      }
      #expect(error == .protocolError)
      // The count comes before the end of the connection, and after the GOAWAY.
      _ = await client.next { _ -> Bool? in nil }
      #expect(simulator.apns.streamsBeyondLimit == 1)
      try? await client.close()
    }
  }
}
