import FoundationEssentials
import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2
import Support
import Testing
import Wire

@testable import Simulator

/// Replies of the simulated FCM that tests choose, its log, and its connections.
@Suite struct FCMReplyTests {
  @Test(
    arguments: [
      ("fade0400", 400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", nil),
      ("fade0401", 401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", nil),
      ("fade0403", 403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", nil),
      ("fade0404", 404, "NOT_FOUND", "UNREGISTERED", nil),
      ("fade0429", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", nil),
      ("fade1429", 429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "60"),
      ("fade0500", 500, "INTERNAL", "INTERNAL", nil),
      ("fade0503", 503, "UNAVAILABLE", "UNAVAILABLE", nil), ("fade1503", 503, "UNAVAILABLE", "UNAVAILABLE", "1"),
    ] as [(String, Int, JSONValue, JSONValue, String?)])
  func `A test token selects its error`(
    _ prefix: String, _ status: Int, _ name: JSONValue, _ code: JSONValue, _ retryAfter: String?
  ) async throws {
    try await withFCM { _, fcm in
      let answer = try await fcm.send(FCMRequester.body(token: prefix + ":APA91b"))
      #expect(answer.status == status)
      #expect(answer.json["error"]?["code"] == .integer(Int64(status)))
      #expect(answer.name == name)
      #expect(answer.errorCode == code)
      #expect(answer.headers.first(name: "retry-after") == retryAfter)
      let entry = SimulatedFCM.testTokens.table.first { $0.prefix == prefix }
      #expect(entry?.meaning.hasPrefix("\(status) ") == true)
    }
  }

  @Test func `Test tokens are compared exactly`() async throws {
    let table = SimulatedFCM.testTokens.table
    #expect(Set(table.map(\.prefix)).count == table.count)
    try await withFCM { _, fcm in
      try await fcm.expect(200, for: FCMRequester.body(token: "FADE0404"))
    }
  }

  @Test func `A registration token can be unregistered, or belong to another project`() async throws {
    try await withFCM { simulator, fcm in
      simulator.fcm.unregister(token: "gone")
      simulator.fcm.restrict(token: "foreign", to: "other-shop")
      try await fcm.expect(404, "UNREGISTERED", for: FCMRequester.body(token: "gone"))
      try await fcm.expect(403, "SENDER_ID_MISMATCH", for: FCMRequester.body(token: "foreign"))
      try await fcm.expect(200, for: FCMRequester.body(token: "Gone"))
    }
  }

  @Test func `Rules apply after the checks, as often as they say, and can be removed`() async throws {
    try await withFCM { simulator, fcm in
      simulator.fcm.rule(.token("ab"), .refuse(.unregistered), times: 1)
      simulator.fcm.rule(.nth(2), .refuse(.init(status: 502, body: "<html>", contentType: "text/html")))
      simulator.fcm.rule(RequestMatch(project: "other-shop"), .refuse(.internal))
      try await fcm.expect(400, for: FCMRequester.body(#""x":1"#))
      try await fcm.expect(404, "UNREGISTERED", for: FCMRequester.body(token: "abc"))
      let proxy = try await fcm.send(FCMRequester.body(token: "abc"))
      #expect(proxy.status == 502 && proxy.json == "<html>")
      try await fcm.expect(200)
      simulator.fcm.rule(.any, .after(.milliseconds(1), .refuse(.quotaExceeded(retryAfter: "3"))))
      #expect(try await fcm.send().headers.first(name: "retry-after") == "3")
      simulator.fcm.removeRules()
      try await fcm.expect(200)
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

  @Test func `The last requests are kept, with all their details`() async throws {
    try await withFCM(configure: { $0.requestsKept = 2 }) { simulator, fcm in
      async let waiting = simulator.fcm.received(count: 3)
      for number in 1...3 {
        _ = try await fcm.send(FCMRequester.body(token: "t\(number)", #""android":{"collapseKey":"c\#(number)"}"#))
      }
      let received = await waiting
      #expect(received.map(\.number) == [2, 3])
      #expect(received.map(\.token) == ["t2", "t3"])
      #expect(received.map(\.project) == ["acme-shop", "acme-shop"])
      #expect(received.map { $0.message["android"]?["collapse_key"] } == ["c2", "c3"])
      #expect(received.map { $0.header("content-type") } == ["application/json", "application/json"])
      // The access token was asked for on stream 1.
      #expect(received.map(\.stream) == [5, 7])
      #expect(Set(received.map(\.connection)) == [1])
      #expect(String(decoding: received[1].payload, as: UTF8.self).contains("collapseKey"))
      #expect(simulator.fcm.count == 3)
      #expect(simulator.fcm.openConnections == 1)
      #expect(simulator.apns.count == 0)
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

  @Test func `A connection has a hundred streams at once, before anybody has signed in`() async throws {
    try await withFrames { simulator, client, block in
      #expect(await client.streamLimit() == 100)
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
      let refused = await client.next { frame -> Int? in
        if case .rstStream(.refusedStream) = frame.payload { Int(frame.streamID) } else { nil }
      }
      #expect(refused == 1)
      client.send(block, payload: FCMRequester.body(), stream: 3)
      let reset = await client.next { frame -> Int? in
        if case .rstStream(.internalError) = frame.payload { Int(frame.streamID) } else { nil }
      }
      #expect(reset == 3)
      client.send(block, payload: FCMRequester.body(), stream: 5)
      let word = await client.next { frame -> String? in
        guard case .goAway(let last, _, let debugData) = frame.payload else { return nil }
        return "\(Int(last)) \(debugData.map { String(buffer: $0) } ?? "")"
      }
      #expect(word == "3 session_timed_out")
      simulator.fcm.cut()
      #expect(await client.next { _ in nil as Int? } == nil)
    }
  }
}
