import FoundationEssentials
import Logging
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// What an app's account makes of a push, and that it sends.
@Suite struct APNsAccountTests {
  private func text(_ text: String) -> [UInt8] { Array(#""\#(text)""#.utf8) }

  private func payload(_ message: RenderedMessage) -> String {
    String(decoding: APNsPayload.json(message), as: UTF8.self)
  }

  @Test func `A payload's members have their fixed order`() {
    let message = RenderedMessage(
      alert: text("Sale"), info: text("Today"), badge: Array("3".utf8), sound: text("ding"), category: text("OFFER"),
      url: text("https://p/1"), pushreadurl: text("https://r/1"),
      fields: [.init(name: text("a"), value: Array("[1]".utf8)), .init(name: text("b"), value: Array("null".utf8))])
    #expect(
      payload(message)
        == #"{"aps":{"alert":{"title":"Sale","body":"Today"},"badge":3,"sound":"ding","category":"OFFER"},"source":"carma","#
        + #""url":"https://p/1","pushreadurl":"https://r/1","alert":"Sale","info":"Today","a":[1],"b":null}"#)
  }

  @Test func `Without an info the alert is a text, and what is absent is left out`() {
    #expect(
      payload(RenderedMessage(alert: text("Sale")))
        == #"{"aps":{"alert":"Sale"},"source":"carma","alert":"Sale"}"#)
    #expect(payload(RenderedMessage(sound: text("ding"))) == #"{"aps":{"sound":"ding"},"source":"carma"}"#)
  }

  @Test func `The size of a message is that of its payload`() throws {
    let message = RenderedMessage(alert: text("Sale"))
    let size = PushServices.payloadSize(of: message, for: .ios)
    #expect(size == (APNsPayload.json(message).count, 4096))
    #expect(PushServices.payloadSize(of: message, for: .windows) == (WNSPayload.body(message, as: .toast).count, 5000))
  }

  @Test func `A background push asks for the app alone, and a voice call may be larger than others`() throws {
    #expect(payload(RenderedMessage()) == #"{"aps":{"content-available":1},"source":"carma"}"#)
    #expect(payload(RenderedMessage(pushType: .background)) == payload(RenderedMessage()))
    #expect(payload(RenderedMessage(pushType: .voip)) == #"{"aps":{},"source":"carma"}"#)
    let call = PushServices.payloadSize(of: RenderedMessage(pushType: .voip), for: .ios)
    #expect(call.limit == 5120)
    var overridden = RenderedMessage(alert: text("Call"))
    overridden.overrides = ["apns": ["headers": ["apns-push-type": "voip"]]]
    #expect(PushServices.payloadSize(of: overridden, for: .ios).limit == 5120)
  }

  @Test func `A silent message shows nothing, and an image and a thread have their members`() {
    var message = RenderedMessage(alert: text("Sale"), image: text("https://i/1"), threadID: text("t"))
    #expect(
      payload(message) == #"{"aps":{"alert":"Sale","thread-id":"t","mutable-content":1},"source":"carma","#
        + #""alert":"Sale","image":"https://i/1"}"#)
    message.isSilent = true
    #expect(
      payload(message)
        == #"{"aps":{"content-available":1},"source":"carma","alert":"Sale","image":"https://i/1"}"#)
  }

  @Test func `An override sets headers and payload at APNs, and others change nothing there`() async throws {
    try await withAPNs { simulator, services in
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1), credentials: APNsCredentials.sample.shared)
      var message = RenderedMessage(alert: text("Sale"), fields: [.init(name: text("a"), value: text("b"))])
      message.overrides = [
        "apns": [
          "headers": [
            "apns-priority": "5", "apns-expiration": "1900000000", "apns-collapse-id": nil,
            "apns-topic": "com.acme.app.voip", "apns-push-type": "voip",
          ],
          "payload": ["aps": ["interruption-level": "time-sensitive", "alert": ["title": "T"]], "a": nil],
        ],
        "fcm": ["data": ["x": "y"]],
      ]
      let push = OutgoingPush(token: "ab01", id: UUID(), collapseKey: "s17", message: message)
      guard case .request(let request) = account.prepare(push) else {
        Issue.record("not prepared")
        return
      }
      #expect(
        String(decoding: request.body, as: UTF8.self)
          == #"{"alert":"Sale","aps":{"alert":{"title":"T"},"interruption-level":"time-sensitive"},"source":"carma"}"#)
      let headers = request.headers
      #expect(headers["apns-topic"] == "com.acme.app.voip" && headers["apns-push-type"] == "voip")
      #expect(headers["apns-priority"] == "5" && headers["apns-expiration"] == "1900000000")
      #expect(headers["apns-collapse-id"] == nil)

      message.overrides = ["apns": ["headers": ["apns-priority": "7"]]]
      let bad = OutgoingPush(token: "ab01", id: UUID(), message: message)
      guard case .refused(let verdict) = account.prepare(bad) else {
        Issue.record("not refused")
        return
      }
      #expect(verdict == .payloadRefused(reason: "BadOverride apns-priority"))
    }
  }

  @Test(arguments: PushType.allCases, [MessagePriority.high, .normal])
  func `A push is sent with its type, and the priority that this allows`(
    _ type: PushType, _ priority: MessagePriority
  ) async throws {
    try await withAPNs { simulator, services in
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1), credentials: APNsCredentials.sample.shared)
      let push = OutgoingPush(
        token: "ab01", id: UUID(), message: RenderedMessage(pushType: type), priority: priority)
      guard case .request(let request) = account.prepare(push) else {
        Issue.record("not prepared")
        return
      }
      for await outcomes in account.send([request], to: .production, while: { true }) {
        #expect(outcomes.map(\.verdict) == [.accepted])
      }
      let received = try #require(simulator.apns.requests.first)
      #expect(received.header("apns-push-type") == type.rawValue)
      let expected: [PushType: String] = [.background: "5", .voip: "10", .pushtotalk: "10"]
      #expect(received.header("apns-priority") == expected[type] ?? (priority == .high ? "10" : "5"))
    }
  }

  @Test(arguments: [
    (RenderedMessage(pushType: .alert), MessagePriority.high, "background", nil as String?, "5"),
    (RenderedMessage(pushType: .alert), .normal, "voip", nil, "10"),
    (RenderedMessage(pushType: .alert), .normal, "pushtotalk", nil, "10"),
    // What is neither shown nor heard is a background push, which has a priority of its own.
    (RenderedMessage(isSilent: true), .high, "alert", nil, "10"),
    (RenderedMessage(isSilent: true), .normal, "alert", nil, "5"),
    (RenderedMessage(pushType: .voip), .normal, "location", nil, "5"),
    (RenderedMessage(pushType: .alert), .high, "background", "1", "1"),
  ])
  func `An override of the push type takes that type's priority, unless it has its own`(
    _ message: RenderedMessage, _ priority: MessagePriority, _ type: String, _ own: String?, _ expected: String
  ) async throws {
    try await withAPNs { _, services in
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1), credentials: APNsCredentials.sample.shared)
      var headers: [UTF8String: JSONValue] = ["apns-push-type": .string(type)]
      headers["apns-priority"] = own.map(JSONValue.string)
      var message = message
      message.overrides = ["apns": ["headers": .object(headers)]]
      let push = OutgoingPush(token: "ab01", id: UUID(), message: message, priority: priority)
      let request = try #require(account.prepare(push).request)
      #expect(request.headers["apns-push-type"] == type && request.headers["apns-priority"] == expected)
    }
  }

  @Test func `A prepared push is received as it was prepared`() async throws {
    try await withAPNs { simulator, services in
      let account = services.account(
        appID: "com.acme.app", of: CustomerID(1), credentials: APNsCredentials.sample.shared)
      let push = OutgoingPush(
        token: "ab01", id: UUID(), collapseKey: "s17", message: RenderedMessage(alert: text("Grüße")))
      guard case .request(let request) = account.prepare(push) else {
        Issue.record("not prepared")
        return
      }
      for environment in account.environments {
        var verdicts: [Verdict] = []
        for await outcomes in account.send([request], to: environment, while: { true }) {
          verdicts += outcomes.map(\.verdict)
        }
        #expect(verdicts == [.accepted])
      }
      let received = simulator.apns.requests
      #expect(received.map(\.environment) == [.production, .sandbox])
      #expect(received.allSatisfy { $0.token == "ab01" && $0.payload == APNsPayload.json(push.message) })
      #expect(received.allSatisfy { $0.header("apns-collapse-id") == "s17" })
      // Without a time to live, Apple's own policy says how long it is stored.
      #expect(received.allSatisfy { $0.header("apns-expiration") == nil })
      #expect(received.allSatisfy { $0.header("apns-id") == push.id.uuidString.lowercased() })
      #expect(await account.check(.production) == .accepted)
    }
  }

  @Test func `A push that APNs would refuse is refused when it is prepared`() throws {
    let services = try PushServices(PushServiceSettings(), logger: .init(label: "test"))
    let account = services.account(
      appID: "com.acme.app", of: CustomerID(1), credentials: APNsCredentials.sample.shared)
    func verdict(token: String, field: String = "") -> Verdict? {
      let message = RenderedMessage(alert: text("Sale"), fields: [.init(name: text("a"), value: text(field))])
      let push = OutgoingPush(token: token, id: UUID(), message: message)
      if case .refused(let verdict) = account.prepare(push) { return verdict }
      return nil
    }
    #expect(verdict(token: "ab") == nil)
    #expect(
      verdict(token: "no token")
        == .tokenInvalid(.unregistered, since: nil, reason: "BadDeviceToken"))
    #expect(
      verdict(token: "ab", field: String(repeating: "x", count: 4096)) == .payloadRefused(reason: "PayloadTooLarge"))
  }

  @Test(arguments: [APNsReason.badTopic, .missingTopic, .topicDisallowed, .deviceTokenNotForTopic])
  func `A topic that a message overrides is the message's fault`(reason: APNsReason) {
    let classification = ResponseClassification(reason)
    #expect(classification.ofOwnTopic.verdict == .payloadRefused(reason: reason.rawValue))
    #expect(classification.ofOwnTopic.recovery == .none)
    #expect(ResponseClassification(.unregistered).ofOwnTopic == ResponseClassification(.unregistered))
  }
}
