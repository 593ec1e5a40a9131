import AsyncHTTPClient
import Crypto
import Foundation
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The simulated Web Push service, as an independent client sees it.
@Suite struct WebPushReplyTests {
  private func withWebPush(
    configure: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (PushSimulator, WebPushRequester, BrowserSubscription) async throws -> Void
  ) async throws {
    try await withRequests(configure: configure) { simulator, requests in
      let requester = WebPushRequester(client: requests.client, origin: simulator.webPushURL)
      let browser = simulator.webPush.subscription(named: "robin", vapidKey: requester.sender.vapidKey)
      try await body(simulator, requester, browser)
    }
  }

  @Test func `A push that is encrypted for a sample browser is accepted, and the browser reads it`() async throws {
    try await withWebPush { simulator, requester, browser in
      let body = try WebPushSender.sealed("Grüße, Robin", for: browser)
      let answer = try await requester.push(
        body, to: browser.endpoint, headers: ["ttl": "9999999", "topic": "lunch-7", "urgency": "high"])
      #expect(answer.status == 201 && answer.text.isEmpty)
      #expect(answer.header("location")?.hasPrefix("\(simulator.webPushURL)/m/") == true)
      #expect(answer.header("ttl") == "2592000")
      let empty = try await requester.push([], to: browser.endpoint, headers: ["content-encoding": ""])
      #expect(empty.status == 201)
      let other = simulator.webPush.subscription(named: "kim", vapidKey: requester.sender.vapidKey)
      let strange = try await requester.push(
        try WebPushSender.sealed("For Kim", for: other), to: browser.endpoint)
      #expect(strange.status == 201)
      let received = simulator.webPush.requests
      #expect(received.map { $0.text.map { String(decoding: $0, as: UTF8.self) } } == ["Grüße, Robin", nil, nil])
      #expect(received.allSatisfy { browser.endpoint.hasSuffix($0.token) })
      #expect(received[0].header("topic") == "lunch-7" && received[0].payload == body)
    }
  }

  @Test func `A sample browser keeps its subscription when the Simulator starts again`() async throws {
    let sender = WebPushSender()
    var first: BrowserSubscription?
    try await withSimulator { first = $0.webPush.subscription(named: "robin", vapidKey: sender.vapidKey) }
    try await withSimulator { simulator in
      let second = simulator.webPush.subscription(named: "robin", vapidKey: sender.vapidKey)
      #expect(second.p256dh == first?.p256dh && second.auth == first?.auth)
      #expect(second.endpoint.hasPrefix(simulator.webPushURL))
      #expect(second.endpoint.split(separator: "/").last == first?.endpoint.split(separator: "/").last)
      let json = try JSONValue(parsing: second.json.utf8)
      #expect(json["expirationTime"] == .null && json["keys"]?.string("p256dh") == second.p256dh)
      let other = simulator.webPush.subscription(named: "kim", vapidKey: sender.vapidKey)
      #expect(other.p256dh != second.p256dh && other.auth != second.auth)
    }
  }

  @Test func `An address that is no endpoint is refused before anything else`() async throws {
    try await withWebPush { simulator, requester, browser in
      for path in ["/", "/wpush/v2/", "/wpush/v1/abc", "/wpush/v2/abc", "/wpush/v2/robin.short"] {
        let answer = try await requester.push([], to: simulator.webPushURL + path, authorization: "")
        #expect(answer.status == 404 && answer.errno == 102, "\(path): \(answer.text)")
      }
      #expect(try await requester.push([], to: browser.endpoint, method: .PUT).status == 405)
    }
  }

  @Test func `The sender's authorization is checked before the push, and all that Mozilla checks of it`() async throws {
    try await withWebPush { simulator, requester, browser in
      let (sender, origin) = (requester.sender, simulator.webPushURL)
      let valid = try sender.authorization(WebPushSender.claims(aud: origin))
      let tooLate = WebPushSender.claims(aud: origin, exp: Date() + 86_400 + 60)
      let forged = try WebPushSender().authorization(WebPushSender.claims(aud: origin))
      for authorization in [
        "", "Bearer x", "WebPush \(valid.dropFirst(8))", "vapid k=\(sender.vapidKey)", "vapid t=a.b.c",
        valid.replacing("k=B", with: "k=C"), forged,
        forged.replacing(#/k=.*/#, with: "k=\(sender.vapidKey)"),
        try sender.authorization(WebPushSender.claims(aud: origin), alg: "HS256"),
        try sender.authorization(WebPushSender.claims(aud: origin, exp: Date() - 1)),
        try sender.authorization(tooLate),
        try sender.authorization(WebPushSender.claims(aud: "https://example.com")),
        try sender.authorization(WebPushSender.claims(aud: "\(origin)/wpush")),
        try sender.authorization(WebPushSender.claims(aud: origin, sub: "null")),
        try sender.authorization(WebPushSender.claims(aud: origin, sub: #""someone""#)),
        try sender.authorization(#"{"aud":"\#(origin)","sub":"mailto:a@example.com"}"#),
        try sender.authorization(#"{"aud":"\#(origin)","exp":"4000000000","sub":"mailto:a@example.com"}"#),
      ] {
        let answer = try await requester.push(
          [1], to: browser.endpoint, authorization: authorization, headers: ["ttl": ""])
        #expect(answer.status == 401 && answer.errno == 109, "\(authorization): \(answer.text)")
      }
      let other = simulator.webPush.subscription(named: "robin", vapidKey: WebPushSender().vapidKey)
      #expect(try await requester.push([], to: other.endpoint).errno == 109)
    }
  }

  @Test func `What Mozilla would refuse of a push, or a browser would drop, is refused by its errno`() async throws {
    try await withWebPush { _, requester, browser in
      let body = try WebPushSender.sealed("Hello", for: browser)
      let limit = try WebPushSender.sealed(String(repeating: "x", count: 3993), for: browser)
      var (otherKeyID, smallRecord, noPoint) = (body, body, body)
      otherKeyID[20] = 64
      smallRecord[18] = 0
      smallRecord[19] = 17
      noPoint[22] ^= 1
      for (body, headers, status, errno) in [
        (limit + [0], ["ttl": ""], 413, 104), (body, ["ttl": ""], 400, 111), (body, ["ttl": "soon"], 400, 111),
        (body, ["ttl": "-1"], 400, 114), (body, ["content-encoding": ""], 400, 110),
        (body, ["content-encoding": "aesgcm"], 400, 110), (body, ["crypto-key": "dh=x"], 400, 110),
        (body, ["topic": String(repeating: "x", count: 33)], 400, 113), (body, ["topic": "a.b"], 400, 113),
        (body, ["urgency": "urgent"], 400, 110), (Array("Hello".utf8), [:], 400, 110), (otherKeyID, [:], 400, 110),
        (smallRecord, [:], 400, 110), (noPoint, [:], 400, 110), (limit, [:], 201, nil),
        (body, ["ttl": "0", "topic": String(repeating: "x", count: 32)], 201, nil),
      ] as [([UInt8], [String: String], Int, Int64?)] {
        let answer = try await requester.push(body, to: browser.endpoint, headers: headers)
        #expect(answer.status == status && answer.errno == errno, "\(headers): \(answer.text)")
      }
    }
  }

  @Test func `The pushes of a browser that has unsubscribed are gone for a day`() async throws {
    try await withWebPush { simulator, requester, browser in
      simulator.webPush.unsubscribe(browser)
      let answer = try await requester.push([], to: browser.endpoint)
      #expect(answer.status == 410 && answer.errno == 106)
      #expect(answer.header("cache-control") == "max-age=86400")
      let other = simulator.webPush.subscription(named: "kim", vapidKey: requester.sender.vapidKey)
      #expect(try await requester.push([], to: other.endpoint).status == 201)
    }
  }

  @Test func `The browser on the phone page shows the decrypted text, and nothing of a push that it cannot read`()
    async throws
  {
    try await withWebPush(configure: { $0.phonePort = 0 }) { simulator, requester, browser in
      let text = #"{"alert":"For <Robin>","info":"More","url":"https://hub/c/x","pushreadurl":"https://hub/r/x"}"#
      let stranger = simulator.webPush.subscription(named: "kim", vapidKey: requester.sender.vapidKey)
      _ = try await requester.push(try WebPushSender.sealed(text, for: browser), to: browser.endpoint)
      _ = try await requester.push(try WebPushSender.sealed("Secret", for: browser), to: stranger.endpoint)
      let (page, screen) = try await requester.client.phone("web", of: simulator)
      #expect(screen.contains("For &lt;Robin&gt;</strong>") && screen.contains("Only the browser can read it</strong>"))
      #expect(screen.contains(#"data-url="https://hub/c/x""#) && screen.contains(#"data-read="https://hub/r/x""#))
      #expect(!page.contains("Secret"))
    }
  }

  @Test func `RFC 8291's example decrypts, and the independent sender makes it`() throws {
    func bytes(_ text: String) -> [UInt8] { Base64URL.decode(Array(text.utf8)) ?? [] }
    let auth = "BTBZMqHH6r4Tts7J_aSIgg"
    let key = try P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
    let body = bytes(
      "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_"
        + "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
    let text = "When I grow up, I want to be a watermelon"
    let record = try #require(EncryptedRecord(body))
    #expect(record.opened(with: key, auth: bytes(auth)) == Array(text.utf8))
    #expect(record.opened(with: key, auth: bytes("AAAAAAAAAAAAAAAAAAAAAA")) == nil)
    let browser = BrowserSubscription(
      endpoint: "", p256dh: Base64URL.text(Array(key.publicKey.x963Representation)), auth: auth)
    let made = try WebPushSender.sealed(
      text, for: browser, key: .init(rawRepresentation: bytes("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")),
      salt: bytes("DGv6ra1nlYgDCS1FRnbzlw"))
    #expect(made == body)
  }
}
