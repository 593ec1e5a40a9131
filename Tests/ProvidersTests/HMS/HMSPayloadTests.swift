import FoundationEssentials
import Support
import Testing
import Wire

@testable import Providers

/// Messages in Push Kit's form.
@Suite struct HMSPayloadTests {
  private func body(_ message: RenderedMessage, tag: String? = nil, ttl: Int? = nil) -> String {
    let opening = HMSPayload.opening(message, tag: tag, ttl: ttl)
    return String(
      decoding: HMSPayload.body(opening, tokens: [#""t1""#, #""t2""#].map { Array($0.utf8) }), as: UTF8.self)
  }

  private func text(_ text: String) -> [UInt8] { JSONText.quoted(text) }

  @Test func `With an alert it is a notification that opens the app, and its fields are JSON in data`() {
    let message = RenderedMessage(
      alert: text("Hi"), info: text("More"), badge: Array("3".utf8), url: text("https://h/c/x"),
      pushreadurl: text("https://h/r/x"), fields: [.init(name: text("table"), value: Array("7".utf8))])
    #expect(
      body(message, tag: "s17", ttl: 60) == #"""
        {"validate_only":false,"message":{"data":"{\"source\":\"carma\",\"alert\":\"Hi\",\"info\":\"More\",\#
        \"url\":\"https://h/c/x\",\"pushreadurl\":\"https://h/r/x\",\"badge\":3,\"table\":7}",\#
        "android":{"urgency":"NORMAL","ttl":"60s",\#
        "notification":{"title":"Hi","body":"More","click_action":{"type":3},"tag":"s17","default_sound":true}},\#
        "token":["t1","t2"]}}
        """#)
  }

  @Test func `Without an alert it is a data message`() {
    #expect(
      body(RenderedMessage(fields: [.init(name: text("a"), value: text("b"))])) == #"""
        {"validate_only":false,"message":{"data":"{\"source\":\"carma\",\"a\":\"b\"}","android":{"urgency":"NORMAL"},\#
        "token":["t1","t2"]}}
        """#)
  }

  @Test func `A sound of its own takes the place of the default one, and an alert alone is title and body`() {
    let sounding = body(RenderedMessage(alert: text("Hi"), sound: text("bell")))
    #expect(sounding.contains(#""title":"Hi","body":"Hi","click_action":{"type":3},"sound":"bell"}"#))
  }

  @Test func `An image and a group belong to the notification, and a silent message has none`() {
    var message = RenderedMessage(alert: text("Hi"), image: text("https://i/1"), threadID: text("t"))
    let shown = body(message, tag: "s17")
    #expect(shown.contains(#""click_action":{"type":3},"image":"https://i/1","tag":"s17","group":"t","#))
    message.isSilent = true
    let silent = body(message, tag: "s17")
    #expect(!silent.contains("notification") && silent.contains(#"\"image\":\"https://i/1\""#))
  }

  @Test func `An override is merged last, and the tokens stay behind it`() {
    var message = RenderedMessage(alert: text("Hi"))
    message.overrides = ["hms": ["data": nil, "android": ["category": "MARKETING", "notification": nil]], "fcm": [:]]
    #expect(
      body(message) == #"""
        {"validate_only":false,"message":{"android":{"category":"MARKETING","urgency":"NORMAL"},"token":["t1","t2"]}}
        """#)
    message.overrides = ["hms": ["data": nil, "android": nil]]
    #expect(body(message) == #"{"validate_only":false,"message":{"token":["t1","t2"]}}"#)
  }

  @Test func `Only a key of the message's own is a collapse key`() {
    let message = RenderedMessage(alert: text("Hi"), collapseKey: "parcel")
    #expect(body(message, tag: "parcel").contains(#""android":{"collapse_key":\#(HMSPayload.group(of: "parcel")),"#))
    #expect(!body(RenderedMessage(alert: text("Hi")), tag: "s17").contains("collapse_key"))
  }

  @Test func `A collapse key is a group from 1 to 100, the same each time`() {
    let groups = (1...500).map { HMSPayload.group(of: "s\($0)") }
    #expect(groups.allSatisfy { (1...100).contains($0) } && Set(groups).count > 90)
    #expect(groups == (1...500).map { HMSPayload.group(of: "s\($0)") })
  }

  @Test func `The time to live is 1 second to 15 days, and left to Push Kit without an end`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withProvider(PushServiceSettings(), now: { now }) { services in
      let account = services.account(appID: "a", of: CustomerID(1), credentials: .hms(.client(id: "1", secret: "s")))
      for (seconds, ttl) in [(-5, "1s"), (0, "1s"), (30, "30s"), (9_999_999, "1296000s")] {
        let push = OutgoingPush(
          token: "t", id: UUID(), message: RenderedMessage(),
          lifetime: PushLifetime(until: now.addingTimeInterval(Double(seconds)), at: now))
        let body = String(decoding: try #require(account.prepare(push).request).body, as: UTF8.self)
        #expect(body.contains(#""ttl":"\#(ttl)""#), "\(seconds)")
      }
      let endless = try #require(account.prepare(OutgoingPush(token: "t", id: UUID(), message: .init())).request)
      #expect(!String(decoding: endless.body, as: UTF8.self).contains("ttl"))
    }
  }

  @Test func `4096 bytes without the tokens are sent, and one more is refused`() async throws {
    try await withAPNs { simulator, services in
      let account = services.huawei(simulator)
      let room = HMSPayload.limit - HMSPayload.size(RenderedMessage(fields: [.init(name: text("a"), value: text(""))]))
      func push(_ length: Int) -> PreparedPush {
        let field = RenderedMessage.Field(name: text("a"), value: text(String(repeating: "x", count: length)))
        return account.prepare(OutgoingPush(token: "token-1", id: UUID(), message: RenderedMessage(fields: [field])))
      }
      let largest = try #require(push(room).request)
      for await outcomes in account.send([largest], to: .production, while: { true }) {
        #expect(outcomes.map(\.verdict) == [.accepted])
      }
      #expect(push(room + 1).refusal == .payloadRefused(reason: "MessageTooBig"))
    }
  }

  @Test(arguments: ["", "a b", "a\n", "tök", String(repeating: "x", count: 4097)])
  func `What cannot be a token is refused as Push Kit refuses it`(_ token: String) async throws {
    try await withProvider(PushServiceSettings()) { services in
      let account = services.account(appID: "a", of: CustomerID(1), credentials: .hms(.client(id: "1", secret: "s")))
      let prepared = account.prepare(OutgoingPush(token: token, id: UUID(), message: RenderedMessage()))
      #expect(prepared.refusal == HMSSendingTests.invalid)
    }
  }
}

extension PreparedPush {
  var request: PushRequest? { if case .request(let request) = self { request } else { nil } }
  var refusal: Verdict? { if case .refused(let verdict) = self { verdict } else { nil } }
}
