import FoundationEssentials
import Logging
import Testing
import Wire

@testable import Providers

/// What an app's account makes of a push.
@Suite struct FCMPayloadTests {
  private func text(_ text: String) -> [UInt8] { Array(#""\#(text)""#.utf8) }

  private func field(_ name: String, _ json: String) -> RenderedMessage.Field {
    .init(name: text(name), value: Array(json.utf8))
  }

  private func json(_ message: RenderedMessage, tag: String? = nil) -> String {
    String(decoding: FCMPayload.json(message, token: "a:b", tag: tag), as: UTF8.self)
  }

  private func account(project: String = "acme-1") throws -> any PushAccount {
    try PushServices(PushServiceSettings(), logger: Logger(label: "test")).account(
      appID: "com.acme.app", of: CustomerID(1),
      credentials: .fcm(.init(projectID: project, clientEmail: "p@acme", privateKeyID: "k", privateKey: "")))
  }

  private func refusal(_ account: any PushAccount, token: String = "a:b", alert: String = "Sale") -> Verdict? {
    let push = OutgoingPush(token: token, id: UUID(), message: RenderedMessage(alert: text(alert)))
    if case .refused(let verdict) = account.prepare(push) { return verdict }
    return nil
  }

  @Test func `A message with everything has its texts in the notification and in the data`() {
    let message = RenderedMessage(
      alert: text("Sale"), info: text("Today"), badge: Array("3".utf8), sound: text("ding"), category: text("OFFER"),
      url: text("https://p/1"), pushreadurl: text("https://r/1"), fields: [field("shop", #""north""#)])
    #expect(
      json(message, tag: "s17")
        == #"{"message":{"token":"a:b","notification":{"title":"Sale","body":"Today"},"#
        + #""data":{"source":"carma","alert":"Sale","info":"Today","url":"https://p/1","pushreadurl":"https://r/1","#
        + #""badge":"3","sound":"ding","category":"OFFER","shop":"north"},"#
        + #""android":{"priority":"HIGH","notification":{"tag":"s17","sound":"ding","#
        + #""notification_count":3}}}}"#)
  }

  @Test func `Without an info the alert is the notification's body`() {
    #expect(
      json(RenderedMessage(alert: text("Sale")))
        == #"{"message":{"token":"a:b","notification":{"body":"Sale"},"data":{"source":"carma","alert":"Sale"},"#
        + #""android":{"priority":"HIGH"}}}"#)
  }

  @Test func `Without an alert it is a data message`() {
    #expect(
      json(RenderedMessage(badge: Array("3".utf8), sound: text("ding")), tag: "s17")
        == #"{"message":{"token":"a:b","data":{"source":"carma","badge":"3","sound":"ding"},"#
        + #""android":{"priority":"HIGH"}}}"#)
  }

  @Test func `Only a key of the message's own is a collapse key, for FCM keeps four of a phone that is away`() {
    #expect(
      json(RenderedMessage(alert: text("Sale"), collapseKey: "parcel"), tag: "parcel").hasSuffix(
        #""android":{"priority":"HIGH","collapse_key":"parcel","notification":{"tag":"parcel"}}}}"#))
    #expect(!json(RenderedMessage(alert: text("Sale")), tag: "s17").contains("collapse_key"))
  }

  @Test func `Every further field is a string`() {
    let fields = [
      field("a", "1.5"), field("b", "true"), field("c", "null"), field("d", #"{"x":["\\\"y"]}"#), field("e", #""t""#),
    ]
    #expect(
      json(RenderedMessage(fields: fields))
        == #"{"message":{"token":"a:b","data":{"source":"carma","a":"1.5","b":"true","c":"null","#
        + #""d":"{\"x\":[\"\\\\\\\"y\"]}","e":"t"},"android":{"priority":"HIGH"}}}"#)
  }

  @Test func `Fields whose names FCM reserves are left out`() {
    let names = ["from", "message_type", "collapse_key", "google.sent", "gcm.n", "gcmx", "formal"]
    #expect(
      json(RenderedMessage(fields: names.map { field($0, "1") }))
        == #"{"message":{"token":"a:b","data":{"source":"carma","formal":"1"},"android":{"priority":"HIGH"}}}"#)
  }

  @Test func `It is told which fields were left out, beside what a message too large has lost`() throws {
    let account = try account()
    func reductions(_ fields: [RenderedMessage.Field], info: String? = nil) throws -> String? {
      let message = RenderedMessage(alert: text("Sale"), info: info.map(text), fields: fields)
      return try #require(account.prepare(OutgoingPush(token: "a:b", id: UUID(), message: message)).request)
        .reductions.description
    }
    #expect(try reductions([field("formal", "1")]) == nil)
    let dropped = "fields with names that FCM reserves dropped"
    #expect(try reductions([field("formal", "1"), field("from", "1")]) == dropped)
    #expect(
      try reductions([field("google.x", "1")], info: String(repeating: "x", count: 5000)) == "info dropped, \(dropped)")
  }

  @Test func `A badge that is no number of 32 bits is not counted`() {
    #expect(!json(RenderedMessage(alert: text("A"), badge: Array("9999999999".utf8))).contains("notification_count"))
  }

  @Test(arguments: [
    (#""abc""#, 3), (#""""#, 0), (#""a\"b\\c\n""#, 6), (#""\u00e9""#, 2), (#""\u20ac""#, 3), (#""\ud83d\ude00""#, 4),
    (#""é€""#, 5), ("17", 2),
  ])
  func `A text's size is that of its UTF-8`(_ json: String, _ size: Int) {
    #expect(JSONText.length(Array(json.utf8)) == size)
  }

  @Test func `The size is that of names and values in data and notification`() throws {
    // source carma, alert Sale, and body Sale.
    let message = RenderedMessage(alert: text("Sale"))
    #expect(FCMPayload.size(message, tag: nil) == 11 + 9 + 8)
    #expect(FCMPayload.size(message, tag: "s17") == 11 + 9 + 8 + 6)
    for type in [AppType.android, .firebase] {
      #expect(PushServices.payloadSize(of: message, for: type) == (28, 4096))
    }
  }

  @Test func `A message over the limit is cut down to it, and refused where that is not possible`() throws {
    let account = try account()
    func prepared(_ alert: Int, field: Int = 0) -> PreparedPush {
      let fields = field > 0 ? [self.field("a", "\"" + String(repeating: "x", count: field) + "\"")] : []
      let message = RenderedMessage(alert: text(String(repeating: "x", count: alert)), fields: fields)
      return account.prepare(OutgoingPush(token: "a:b", id: UUID(), message: message))
    }
    // The alert counts twice, with 20 bytes of names and source beside it. The ellipsis has three bytes.
    #expect(try #require(prepared((4096 - 20) / 2).request).reductions == [])
    let cut = try #require(prepared((4096 - 20) / 2 + 1).request)
    #expect(cut.reductions == .alertShortened && FCMPayload.size(ofBody: cut.body) == 4096)
    #expect(prepared(1, field: 4096).refusal == .payloadRefused(reason: "MessageTooBig"))
  }

  @Test func `An image is shown by the notification, and a silent message is data alone`() {
    var message = RenderedMessage(alert: text("Sale"), image: text("https://i/1"), threadID: text("t"))
    #expect(
      json(message)
        == #"{"message":{"token":"a:b","notification":{"body":"Sale","image":"https://i/1"},"#
        + #""data":{"source":"carma","alert":"Sale","image":"https://i/1"},"android":{"priority":"HIGH"},"#
        + #""apns":{"payload":{"aps":{"thread-id":"t"}}}}}"#)
    message.isSilent = true
    #expect(
      json(message)
        == #"{"message":{"token":"a:b","data":{"source":"carma","alert":"Sale","image":"https://i/1"},"#
        + #""android":{"priority":"HIGH"}}}"#)
  }

  @Test func `An override is merged last, and its texts count in the size`() throws {
    var message = RenderedMessage(alert: text("Sale"))
    message.overrides = [
      "apns": ["payload": ["x": 1]],
      "fcm": [
        "android": ["priority": nil, "notification": ["channel_id": "offers"]], "data": ["alert": nil, "a": "b"],
      ],
    ]
    #expect(
      json(message)
        == #"{"message":{"android":{"notification":{"channel_id":"offers"}},"data":{"a":"b","source":"carma"},"#
        + #""notification":{"body":"Sale"},"token":"a:b"}}"#)
    // source carma, a b, body Sale, channel_id offers.
    #expect(FCMPayload.size(message, tag: nil) == 11 + 2 + 8 + 16)
  }

  @Test(arguments: ["", "a b", "a\nb", "ä", String(repeating: "x", count: 4097)])
  func `What cannot be a token is refused as FCM refuses it`(_ token: String) throws {
    #expect(
      refusal(try account(), token: token) == .tokenInvalid(.unregistered, since: nil, reason: "INVALID_ARGUMENT"))
  }

  @Test func `A token may have any printable character`() throws {
    let push = OutgoingPush(token: #"a"\b"#, id: UUID(), message: RenderedMessage(alert: text("Sale")))
    guard case .request(let request) = try account().prepare(push) else {
      Issue.record("refused")
      return
    }
    #expect(String(decoding: request.body, as: UTF8.self).hasPrefix(#"{"message":{"token":"a\"\\b","#))
    #expect(request.headers[":path"] == "/v1/projects/acme-1/messages:send")
    #expect(request.headers["content-length"] == "\(request.body.count)")
  }

  @Test(arguments: ["", "a/b", "a b", "a?x", "a\r\nb"])
  func `A project's id that is no part of a path refuses the credentials`(_ project: String) async throws {
    let account = try account(project: project)
    #expect(refusal(account) == .credentialsRefused(reason: "ProjectIDUnusable"))
    #expect(await account.check(.production) == .refused(reason: "ProjectIDUnusable"))
  }

  @Test func `Whether the app has a sandbox does not matter`() throws {
    #expect(try account().environments == [.production])
    #expect(try account().service == "FCM")
  }
}
