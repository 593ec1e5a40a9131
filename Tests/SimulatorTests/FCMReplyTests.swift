import FoundationEssentials
import NIOHPACK
import NIOHTTP2
import Support
import Testing
import Wire

@testable import Simulator

/// Replies of the simulated FCM that tests choose, and its connections.
@Suite struct FCMReplyTests {
  @Test func `A registration token can be unregistered, or belong to another project`() async throws {
    try await withFCM { simulator, fcm in
      simulator.fcm.unregister(token: "gone")
      simulator.fcm.restrict(token: "foreign", to: "other-shop")
      try await fcm.expect(404, "UNREGISTERED", for: FCMRequester.body(token: "gone"))
      try await fcm.expect(403, "SENDER_ID_MISMATCH", for: FCMRequester.body(token: "foreign"))
      try await fcm.expect(200, for: FCMRequester.body(token: "Gone"))
    }
  }

  @Test func `A rule can be for one project, and refuse in any words`() async throws {
    try await withFCM { simulator, fcm in
      simulator.fcm.rule(RequestMatch(project: "other-shop"), .refuse(.internal))
      simulator.fcm.rule(.nth(2), .refuse(.init(status: 502, body: "<html>", contentType: "text/html")))
      try await fcm.expect(200)
      let proxy = try await fcm.send()
      #expect(proxy.status == 502 && proxy.text == "<html>")
      simulator.fcm.rule(.any, .after(.milliseconds(1), .refuse(.quotaExceeded(retryAfter: "3"))))
      #expect(try await fcm.send().retryAfter == "3")
    }
  }

  @Test func `A message that is only validated is accepted and delivered to nobody`() async throws {
    try await withFCM(configure: { $0.phonePort = 0 }) { simulator, fcm in
      let valid = try await fcm.send(#"{"validate_only":true,"message":{"token":"abc"}}"#)
      #expect(valid.status == 200)
      #expect(valid.json["name"] == "projects/acme-shop/messages/fake_message_id")
      #expect(try await fcm.send(#"{"validateOnly":true,"message":{}}"#).status == 400)
      let received = simulator.fcm.requests
      #expect(received.map(\.validateOnly) == [true, true])
      #expect(received.map(\.isAccepted) == [false, false])
      #expect(received[0].reply == .accept)
    }
  }
}

// MARK: - Frames

extension FCMReplyTests {
  private func block(_ authorization: String) -> HPACKHeaders {
    [
      ":method": "POST", ":scheme": "https", ":authority": "localhost", ":path": FCMRequester.address,
      "content-type": "application/json", "authorization": authorization,
    ]
  }

  private func withFrames(
    _ body: (PushSimulator, FrameClient, _ block: HPACKHeaders) async throws -> Void
  ) async throws {
    try await withFCM { simulator, fcm in
      let client = try await FrameClient(simulator.fcmURL, caFile: simulator.caFile)
      try await body(simulator, client, block("Bearer \(fcm.accessToken ?? "")"))
      try? await client.close()
    }
  }

  @Test func `A connection has many streams at once`() async throws {
    try await withFrames { simulator, client, block in
      simulator.fcm.rule(.any, .ignore)
      for stream in [1, 3, 5] { client.send(block, payload: FCMRequester.body(), stream: stream) }
      #expect(await simulator.fcm.received(count: 3).map(\.stream) == [1, 3, 5])
      simulator.fcm.answerIgnored()
      for stream in [1, 3, 5] { #expect(await client.status(on: stream) == "200") }
    }
  }

  @Test func `Streams are refused, and connections end, as rules and orders say`() async throws {
    try await withFrames { simulator, client, block in
      simulator.fcm.rule(.nth(1), .refuseStream)
      simulator.fcm.rule(.nth(2), .resetStream)
      simulator.fcm.rule(.nth(3), .goAway(reason: "session_timed_out"))
      client.send(block, payload: FCMRequester.body(), stream: 1)
      #expect(await client.reset(.refusedStream) == 1)
      client.send(block, payload: FCMRequester.body(), stream: 3)
      #expect(await client.reset(.internalError) == 3)
      client.send(block, payload: FCMRequester.body(), stream: 5)
      #expect(await client.goAway() == "3 session_timed_out")
      simulator.fcm.cut()
      #expect(await client.next { _ in nil as Int? } == nil)
    }
  }
}
