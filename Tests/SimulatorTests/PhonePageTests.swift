import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The phone page, over HTTP.
@Suite struct PhonePageTests {
  private func withPhone(
    _ body: (PushSimulator, Requester, _ url: String) async throws -> Void
  ) async throws {
    try await withRequests(configure: { $0.phonePort = 0 }) { simulator, requests in
      try await body(simulator, requests, try #require(simulator.phoneURL))
    }
  }

  private func get(_ url: String, _ requests: Requester) async throws -> HTTPAnswer {
    try await requests.client.ask(.GET, url)
  }

  private func request(_ token: String, _ payload: String) -> TestRequest {
    var request = TestRequest()
    request.path = "/3/device/" + token
    request.payload = payload
    return request
  }

  @Test func `The page shows received pushes with their texts escaped`() async throws {
    try await withPhone { _, requests, url in
      _ = try await requests.answer(
        request(
          "ab01",
          #"{"aps":{"alert":{"title":"<script>alert(1)</script>","body":"a \"b\" & 'c'"},"badge":3},"url":"https://hub/c/x","pushreadurl":"https://hub/r/x"}"#
        ))
      _ = try await requests.answer(request("ab02", #"{"aps":{"alert":"Plain"},"url":"javascript:alert(1)"}"#))
      _ = try await requests.answer(request("fade0410", #"{"aps":{"alert":"Never seen"}}"#))
      let answer = try await get(url + "/", requests)
      let page = answer.text
      #expect(answer.header("content-type") == "text/html; charset=utf-8")
      #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
      #expect(!page.contains("<script>alert"))
      #expect(page.contains("a &quot;b&quot; &amp; &#39;c&#39;"))
      #expect(page.contains(#"data-url="https://hub/c/x""#))
      #expect(page.contains(#"data-read="https://hub/r/x""#))
      #expect(page.contains("<b>3</b>"))
      #expect(page.contains("Plain"))
      #expect(!page.contains(#"data-url="javascript"#))
      #expect(!page.contains("Never seen"))
      #expect(page.contains("Acme"))
    }
  }

  private func status(
    _ url: String, host: String, _ requests: Requester, method: HTTPMethod = .GET
  ) async throws -> (Int, String) {
    let answer = try await requests.client.ask(
      method, url, [("host", host), ("content-type", "application/json")],
      method == .POST ? Array(#"{"reply":"cut"}"#.utf8) : nil)
    return (answer.status, answer.text)
  }

  @Test(
    arguments: [
      ("evil.example", 421), ("evil.example:8081", 421), ("localhost.evil.example", 421),
      ("127.0.0.1.evil.example", 421), ("192.0.2.1", 421), ("[2001:db8::1]:8081", 421),
      ("localhost:8081@evil.example", 400), ("[::1].evil.example", 400), ("[::1", 400), (":8081", 400),
    ] as [(String, Int)])
  func `A request under another host's name is refused, so that no web page can reach the Simulator by DNS rebinding`(
    host: String, refusal: Int
  ) async throws {
    try await withPhone { simulator, requests, url in
      for path in ["/", "/phone.js", "/events", "/rules", "/nothing"] {
        let (status, text) = try await status(url + path, host: host, requests)
        #expect(status == refusal && text.contains(refusal == 421 ? "--phone-name" : "Host"), "\(path)")
      }
      for path in ["/rules", "/connections"] {
        #expect(try await status(url + path, host: host, requests, method: .POST).0 == refusal, "\(path)")
      }
      #expect(simulator.apns.traffic.rules.entries.isEmpty)
    }
  }

  @Test func `The phone page answers to localhost, its address and the names it was given`() async throws {
    try await withRequests(configure: {
      $0.phonePort = 0
      $0.phoneNames = ["Phone.test"]
    }) { simulator, requests in
      let url = try #require(simulator.phoneURL)
      for host in [
        "localhost", "LOCALHOST:1", "127.0.0.1", "127.0.0.1:8081", "[::1]:8081", "phone.test", "PHONE.test:80",
      ] {
        #expect(try await status(url + "/", host: host, requests).0 == 200, "\(host)")
      }
      #expect(try await status(url + "/", host: "", requests).0 == 400)
    }
  }

  @Test func `A push of another type than alert shows its type, under the app's own name`() async throws {
    try await withPhone { simulator, requests, _ in
      _ = try await requests.answer(TestRequest())
      for (type, topic) in [("voip", "com.acme.app.voip"), ("pushtotalk", "com.acme.app.voip-ptt")] {
        _ = try await requests.answer(TestRequest().with("apns-push-type", type).with("apns-topic", topic))
      }
      let shown = simulator.apns.requests.map { PhonePush($0) }
      #expect(shown.map(\.notes) == [["production"], ["production", "voip"], ["production", "pushtotalk"]])
      #expect(shown.map(\.app) == ["Acme", "Acme", "Acme"])
    }
  }

  @Test func `The page can be limited to one device`() async throws {
    try await withPhone { _, requests, url in
      _ = try await requests.answer(request("ab01", #"{"aps":{"alert":"For the first"}}"#))
      _ = try await requests.answer(request("ab02", #"{"aps":{"alert":"For the second"}}"#))
      let page = try await get(url + "/?token=AB02", requests).text
      #expect(page.contains("For the second"))
      #expect(!page.contains("For the first"))
      // Both can be chosen.
      #expect(page.contains(#"data-token="ab01""#))
    }
  }

  @Test func `Style, script and icon come from the page's own server, and nothing from elsewhere`() async throws {
    try await withPhone { _, requests, url in
      for (path, type) in [
        ("/phone.css", "text/css; charset=utf-8"), ("/phone.js", "text/javascript; charset=utf-8"),
        ("/phone.svg", "image/svg+xml"),
      ] {
        let answer = try await get(url + path, requests)
        #expect(answer.header("content-type") == type)
        #expect(!answer.text.contains("https://"))
        #expect(!answer.text.isEmpty)
      }
      let policy = try await get(url + "/", requests).header("content-security-policy")
      #expect(policy?.contains("default-src 'none'; script-src 'self'") == true)
    }
  }

  @Test func `New pushes are sent as events, after the last one that the page has`() async throws {
    try await withPhone { _, requests, url in
      for number in 1...3 {
        _ = try await requests.answer(request("ab0\(number)", #"{"aps":{"alert":"P\#(number)"}}"#))
      }
      let response = try await requests.client.execute(
        HTTPClientRequest(url: url + "/events?after=1&token=ab03"), timeout: .seconds(600))
      #expect(response.headers.first(name: "content-type") == "text/event-stream")
      var text = ""
      for try await chunk in response.body {
        text += String(buffer: chunk)
        if text.contains("id: 3\n") { break }
      }
      #expect(text.contains("event: push\nid: 3\ndata: {"))
      #expect(!text.contains("id: 2\n"))
    }
  }

  @Test(arguments: [
    (#"{"aps":{"alert":"Hi"}}"#, "Hi", "", false),
    (#"{"aps":{"alert":{"title":"Hi","subtitle":"there","body":"you"}}}"#, "Hi", "there\nyou", false),
    (#"{"aps":{"alert":{"body":"Only a body"}}}"#, "Acme", "Only a body", false),
    (#"{"aps":{"alert":"Hi"},"info":"More"}"#, "Hi", "More", false),
    (#"{"aps":{"content-available":1}}"#, "Silent push", "", true),
  ])
  func `A phone shows title and text`(_ json: String, _ title: String, _ text: String, _ isSilent: Bool) async throws {
    try await withRequests { simulator, requests in
      _ = try await requests.answer(request("ab", json))
      let push = PhonePush(try #require(simulator.apns.requests.first))
      #expect(push.title == title)
      #expect(push.text == text)
      #expect(push.isSilent == isSilent)
    }
  }

  @Test(arguments: [
    (#""notification":{"title":"Hi","body":"You"},"data":{"alert":"Other"}"#, "Hi", "You", ["FCM"]),
    (#""notification":{"body":"Only a body"}"#, "Acme Shop", "Only a body", ["FCM"]),
    (
      #""notification":{"title":"Hi"},"android":{"notification":{"title":"Android","body":"You"}}"#, "Android", "You",
      ["FCM"]
    ),
    (#""data":{"alert":"Hi","info":"More"}"#, "Hi", "More", ["FCM", "data message"]),
    (#""data":{"alert":"Hi"},"android":{"data":{"alert":"Android"}}"#, "Android", "", ["FCM", "data message"]),
    (#""data":{"sync":"1"}"#, "Silent push", "", ["FCM", "data message"]),
  ])
  func `An Android phone shows a notification, or what an app would make of data`(
    _ fields: String, _ title: String, _ text: String, _ notes: [String]
  ) async throws {
    try await withFCM { simulator, fcm in
      _ = try await fcm.send(FCMRequester.body(fields))
      let push = PhonePush(try #require(simulator.fcm.requests.first))
      #expect(push.phone == SimulatedFCM.phone)
      #expect(push.title == title)
      #expect(push.text == text)
      #expect(push.notes == notes)
      #expect(push.isSilent == (title == "Silent push"))
    }
  }

  @Test func `A phone with many pushes leaves no other empty`() async throws {
    try await withFCM(configure: { $0.phonePort = 0 }) { simulator, fcm in
      let apns = Requester(client: fcm.client, simulator: simulator)
      _ = try await fcm.send(FCMRequester.body(token: "first", #""data":{"alert":"For an Android phone"}"#))
      for number in 0...PhonePage.length {
        _ = try await apns.answer(request("ab01", #"{"aps":{"alert":"iPhone \#(number)."}}"#))
      }
      let page = try await get(try #require(simulator.phoneURL) + "/", apns).text
      #expect(page.contains("For an Android phone"))
      #expect(!page.contains("iPhone 0.") && page.contains("iPhone 1.") && page.contains("iPhone 60."))
    }
  }

  @Test func `iPhones and Android phones show their own pushes, in one order`() async throws {
    try await withFCM(configure: { $0.phonePort = 0 }) { simulator, fcm in
      let url = try #require(simulator.phoneURL)
      let apns = Requester(client: fcm.client, simulator: simulator)
      _ = try await apns.answer(request("ab01", #"{"aps":{"alert":"For an iPhone"}}"#))
      let data =
        #""data":{"alert":"For <Android>","url":"https://hub/c/x","pushreadurl":"https://hub/r/x","badge":"4"}"#
      _ = try await fcm.send(FCMRequester.body(token: "Tok:en+&1", data))
      _ = try await fcm.send(FCMRequester.body(token: "fade0404", data))
      _ = try await fcm.send(
        FCMRequester.body(
          token: "second",
          #""notification":{"title":"With a picture","image":"https://hub/i.png"},"android":{"notification":{"notification_count":5}}"#
        ))
      let page = try await get(url + "/", apns).text
      let halves = page.components(separatedBy: #"data-phone="android""#)
      #expect(halves.count == 2)
      #expect(halves[0].contains("For an iPhone") && !halves[0].contains("&lt;Android&gt;"))
      #expect(halves[1].contains("For &lt;Android&gt;") && !halves[1].contains("For an iPhone"))
      #expect(halves[1].contains(#"data-url="https://hub/c/x""#) && halves[1].contains(#"data-read="https://hub/r/x""#))
      #expect(halves[1].contains("<b>4</b>") && halves[1].contains("<b>5</b>"))
      #expect(halves[1].contains(#"src="https://hub/i.png""#))
      #expect(page.contains(#"data-last="3""#))
      #expect(page.contains(#"href="/?token=Tok%3Aen%2B%261""#))
      for (variable, value) in simulator.addresses { #expect(page.contains("<dt>\(variable)</dt><dd>\(value)</dd>")) }

      let one = try await get(url + "/?token=Tok%3Aen%2B%261", apns).text
      #expect(one.contains("&lt;Android&gt;") && !one.contains("With a picture"))
      #expect(!one.contains(#"data-phone="iphone""#))

      let response = try await fcm.client.execute(
        HTTPClientRequest(url: url + "/events?after=1"), timeout: .seconds(600))
      var text = ""
      for try await chunk in response.body {
        text += String(buffer: chunk)
        if text.contains("id: 3\n") { break }
      }
      #expect(text.contains("id: 2\n") && text.contains(#""phone":"android""#))
    }
  }

  @Test(arguments: [
    ("com.acme.app", "Acme"), ("com.acme.wallet", "Wallet"), ("com.acme.app.voip", "Acme"), ("app", "App"), ("", "App"),
  ])
  func `An app's name is derived from its bundle id`(_ topic: String, _ name: String) {
    #expect(PhonePush.appName(topic: topic) == name)
  }

  @Test(arguments: [("acme-shop", "Acme Shop"), ("acme", "Acme"), ("", "App")])
  func `An Android app's name is derived from its project`(_ project: String, _ name: String) {
    #expect(PhonePush.appName(project: project) == name)
  }
}
