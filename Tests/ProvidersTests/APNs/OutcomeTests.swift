import FoundationEssentials
import Providers
import Simulator
import Support
import Testing
import Wire

/// Outcomes of pushes, over TLS and HTTP/2.
@Suite struct OutcomeTests {
  @Test func `Pushes of one call have verdicts of their own`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.prefix("aa"), .refuse(status: 400, reason: "DeviceTokenNotForTopic"))
      var tooLong = APNsPush.sample()
      tooLong.payload = [UInt8](repeating: 32, count: 4097)
      let pushes = [APNsPush.sample(token: "aa00"), tooLong, .sample(token: "bb00"), .sample(token: "not hex")]
      #expect(
        await apns.verdicts(pushes) == [
          .tokenInvalid(.wrongApp, since: nil, reason: "DeviceTokenNotForTopic"),
          .payloadRefused(reason: "PayloadTooLarge"),
          .accepted, .tokenInvalid(.unregistered, since: nil, reason: "BadDeviceToken"),
        ])
      // Neither the long one nor the one that is no token has travelled.
      #expect(simulator.apns.count == 2)
    }
  }

  @Test func `Concurrent calls get their own outcomes`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.rule(.prefix("aa"), .refuse(status: 429, reason: "TooManyRequests"))
      async let refused = apns.verdicts((0..<300).map { _ in .sample(token: "aa00") })
      async let accepted = apns.verdicts((0..<300).map { _ in .sample(token: "bb00") })
      #expect(Set(await refused) == [.retry(after: .seconds(60), reason: "TooManyRequests")])
      #expect(Set(await accepted) == [.accepted])
    }
  }

  @Test func `Sending nothing ends at once`() async throws {
    try await withAPNs { simulator, apns in
      #expect(await apns.verdicts([]).isEmpty)
      #expect(simulator.apns.connectionsOpened == 0)
    }
  }

  @Test func `A token of the other environment is refused`() async throws {
    try await withAPNs { simulator, apns in
      simulator.apns.restrict(token: "aa", to: .sandbox)
      simulator.apns.restrict(token: "bb", to: .production)
      let pushes = [APNsPush.sample(token: "AA"), .sample(token: "BB"), .sample(token: "cc")]
      let refused = Verdict.tokenInvalid(.wrongEnvironment, since: nil, reason: "BadDeviceToken")
      #expect(await apns.verdicts(pushes, to: .sandbox) == [.accepted, refused, .accepted])
      #expect(await apns.verdicts(pushes, to: .production) == [refused, .accepted, .accepted])
    }
  }

  @Test(arguments: [
    (PushType.alert, "com.acme.app"), (.background, "com.acme.app"), (.voip, "com.acme.app.voip"),
    (.complication, "com.acme.app.complication"), (.fileprovider, "com.acme.app.pushkit.fileprovider"),
    (.location, "com.acme.app.location-query"), (.liveactivity, "com.acme.app.push-type.liveactivity"),
    (.pushtotalk, "com.acme.app.voip-ptt"), (.mdm, "com.acme.app"),
  ])
  func `The push type is sent, and gives the topic its suffix`(_ pushType: PushType, _ topic: String) async throws {
    try await withAPNs { simulator, apns in
      var push = APNsPush.sample(pushType: pushType)
      push.priority = .considerate
      #expect(await apns.verdicts([push]) == [.accepted])
      let received = try #require(simulator.apns.requests.first)
      #expect(received.header("apns-push-type") == pushType.rawValue)
      #expect(received.header("apns-topic") == topic)
    }
  }

  @Test func `A VoIP push may be larger than others`() async throws {
    try await withAPNs { _, apns in
      var call = APNsPush.sample(pushType: .voip)
      call.payload = Array(#"{"aps":{}}"#.utf8) + [UInt8](repeating: 32, count: 5110)
      var alert = call
      alert.pushType = .alert
      #expect(await apns.verdicts([call, alert]) == [.accepted, .payloadRefused(reason: "PayloadTooLarge")])
      call.payload.append(32)
      #expect(await apns.verdicts([call]) == [.payloadRefused(reason: "PayloadTooLarge")])
    }
  }

  @Test(arguments: [
    ("", "com.acme.app", nil, Verdict.tokenInvalid(.unregistered, since: nil, reason: "MissingDeviceToken")),
    ("ab/../cd", "com.acme.app", nil, .tokenInvalid(.unregistered, since: nil, reason: "BadDeviceToken")),
    // Whatever the environment, as an FCM token that was registered for iOS.
    ("dQw4w9WgXcQ:APA91b", "com.acme.app", nil, .tokenInvalid(.unregistered, since: nil, reason: "BadDeviceToken")),
    ("äb", "com.acme.app", nil, .tokenInvalid(.unregistered, since: nil, reason: "BadDeviceToken")),
    ("abcd", "", nil, .credentialsRefused(reason: "MissingTopic")),
    ("abcd", "com.acme\r\napp", nil, .credentialsRefused(reason: "BadTopic")),
    ("abcd", "com.acme.app", String(repeating: "x", count: 65), .payloadRefused(reason: "BadCollapseId")),
    ("abcd", "com.acme.app", "x\ny", .payloadRefused(reason: "BadCollapseId")),
  ])
  func `A push that APNs would refuse is not sent`(
    _ token: String, _ topic: String, _ collapseID: String?, _ verdict: Verdict
  ) async throws {
    try await withAPNs { simulator, apns in
      var push = APNsPush.sample(token: token)
      push.topic = topic
      push.collapseID = collapseID
      #expect(await apns.verdicts([push]) == [verdict])
      #expect(simulator.apns.connectionsOpened == 0)
    }
  }

  @Test func `When the reader is cancelled, waiting pushes do not leave`() async throws {
    try await withAPNs(provider: { $0.connectionsPerPool = 1 }) { simulator, apns in
      simulator.apns.rule(.nth(1), .ignore)
      // A fresh connection sends one push and waits: the others are still here.
      let task = Task { await apns.verdicts(APNsPush.samples(100)) }
      _ = await simulator.apns.received(count: 1)
      task.cancel()
      _ = await task.value
      simulator.apns.answerIgnored()
      #expect(await apns.verdicts([.sample(token: "cc")]) == [.accepted])
      #expect(simulator.apns.requests.map(\.token).last == "cc")
      #expect(simulator.apns.count == 2)
    }
  }
}
