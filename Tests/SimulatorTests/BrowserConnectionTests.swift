import Foundation
import NIOHTTP1
import Support
import Locking
import Testing
import Wire

@testable import Simulator

/// Mozilla's protocol between a browser and its push service, as a browser sees it.
@Suite struct BrowserConnectionTests {
  private static let channel = "0d8e7c35-6d42-4f33-8d55-1c0f4e0a7b11"

  private func withBrowser(
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (PushSimulator, WebPushRequester, WebSocketClient, _ agent: String) async throws -> Void
  ) async throws {
    try await withRequests(now: now) { simulator, requests in
      let requester = WebPushRequester(client: requests.client, origin: simulator.webPushURL)
      let (client, agent) = try await WebSocketClient.welcomed(simulator)
      try await body(simulator, requester, client, agent)
    }
  }

  private func register(_ client: WebSocketClient, _ key: String, channel: String = channel) async throws -> JSONValue {
    try await client.ask(#"{"messageType":"register","channelID":"\#(channel)","key":"\#(key)"}"#)
  }

  private func endpoint(_ client: WebSocketClient, _ requester: WebPushRequester) async throws -> String {
    // Firefox pads the key.
    let reply = try await register(client, requester.sender.vapidKey + "=")
    #expect(reply.integer("status") == 200 && reply.string("channelID") == Self.channel)
    return try #require(reply.string("pushEndpoint"))
  }

  @Test func `A browser gets a push as it was encrypted, and acknowledges it`() async throws {
    try await withBrowser { simulator, requester, client, _ in
      let endpoint = try await endpoint(client, requester)
      #expect(endpoint.hasPrefix("\(simulator.webPushURL)/wpush/v2/"))
      let strange = simulator.webPush.subscription(named: "robin", vapidKey: requester.sender.vapidKey)
      let body = try WebPushSender.sealed("Hello", for: strange)
      let answer = try await requester.push(body, to: endpoint)
      let push = try await client.next()
      #expect(push.string("messageType") == "notification" && push.string("channelID") == Self.channel)
      #expect(push.string("data") == Base64URL.text(body) && push["headers"] == ["encoding": "aes128gcm"])
      let version = try #require(push.string("version"))
      #expect(answer.header("location")?.hasSuffix(version) == true)
      try await client.say(
        #"{"messageType":"ack","updates":[{"channelID":"\#(Self.channel)","version":"\#(version)","code":101}]}"#)
      let acknowledgement = await simulator.webPush.acknowledged(count: 1)[0]
      #expect(acknowledgement.version == version && acknowledgement.code == 101)
      _ = try await requester.push([], to: endpoint, headers: ["content-encoding": ""])
      let empty = try await client.next()
      #expect(empty["data"] == nil && empty["headers"] == nil)
      #expect(try await client.ask("{}") == [:])
    }
  }

  @Test func `Pushes wait for a browser that is away, until it has acknowledged them or their time is over`()
    async throws
  {
    let clock = Mutex(Date())
    try await withBrowser(now: { clock.withLock { $0 } }) { simulator, requester, client, agent in
      let endpoint = try await endpoint(client, requester)
      simulator.webPush.disconnectBrowsers()
      try await client.closed()
      var versions: [String] = []
      for headers in [["ttl": "60"], ["ttl": "600"], ["ttl": "600", "topic": "a"], ["ttl": "600", "topic": "a"]] {
        let claims = WebPushSender.claims(aud: requester.origin, exp: clock.withLock { $0 } + 3600)
        let answer = try await requester.push(
          [], to: endpoint, authorization: requester.sender.authorization(claims), headers: headers)
        versions.append(String(try #require(answer.header("location")?.split(separator: "/").last)))
      }
      clock.withLock { $0 += 61 }
      let (second, same) = try await WebSocketClient.welcomed(simulator, as: agent)
      #expect(same == agent)
      #expect(try await second.next().string("version") == versions[1])
      #expect(try await second.next().string("version") == versions[3])
      try await second.say(
        #"{"messageType":"ack","updates":[{"channelID":"\#(Self.channel)","version":"\#(versions[1])","code":100}]}"#)
      _ = await simulator.webPush.acknowledged(count: 1)
      let (third, _) = try await WebSocketClient.welcomed(simulator, as: agent)
      #expect(try await third.next().string("version") == versions[3])
      try await second.closed()
    }
  }

  @Test func `An unregistered channel gets nothing more, and its sender is told`() async throws {
    try await withBrowser { _, requester, client, _ in
      let endpoint = try await endpoint(client, requester)
      let reply = try await client.ask(
        #"{"messageType":"unregister","channelID":"\#(Self.channel)","code":200}"#)
      #expect(reply.integer("status") == 200 && reply.string("messageType") == "unregister")
      let answer = try await requester.push([], to: endpoint)
      #expect(answer.status == 410 && answer.errno == 106)
    }
  }

  @Test func `A browser that breaks the protocol is told, or its connection is closed`() async throws {
    try await withBrowser { simulator, requester, client, _ in
      #expect(try await register(client, "AAAA").integer("status") == 400)
      #expect(try await register(client, requester.sender.vapidKey, channel: "x").integer("status") == 401)
      try await client.say(#"{"messageType":"dance"}"#)
      try await client.closed()
      for first in ["no JSON", #"{"messageType":"register","channelID":"\#(Self.channel)"}"#] {
        let client = try await WebSocketClient(simulator)
        try await client.say(first)
        try await client.closed()
      }
      let (_, agent) = try await WebSocketClient.welcomed(simulator, as: "../x")
      #expect(agent.utf8.count == 32)
    }
  }
}
