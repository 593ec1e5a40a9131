import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The simulated WNS, as an independent client sees it.
@Suite struct WNSReplyTests {
  private static let sid = "ms-app://s-1-15-2-7"
  private static let toast =
    "<toast><visual><binding template='ToastGeneric'><text>Hi</text></binding></visual></toast>"
  private static let headers = [("x-wns-type", "wns/toast"), ("content-type", "text/xml")]

  private static func signIn(
    id: String = "ms-app%3A%2F%2Fs-1-15-2-7", secret: String = "s%2Fcret", scope: String = "notify.windows.com"
  ) -> String {
    "grant_type=client_credentials&client_id=\(id)&client_secret=\(secret)&scope=\(scope)"
  }

  private func withWNS(
    now: @escaping @Sendable () -> Date = { Date() }, configure: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (SimulatedWNS, WNSRequester, String) async throws -> Void
  ) async throws {
    try await withRequests(now: now, configure: configure) { simulator, requests in
      simulator.wns.register(packageSID: Self.sid, secret: "s/cret", name: "Acme")
      simulator.wns.register(tenantID: "acme.example", clientID: "c-7", secret: "s/cret")
      let requester = WNSRequester(client: requests.client, simulator: simulator)
      let reply = try await requester.signIn("/accesstoken.srf", Self.signIn())
      #expect(reply.status == 200 && reply.json["expires_in"] == 86400 && reply.json["token_type"] == "bearer")
      try await body(simulator.wns, requester, try #require(reply.json.string("access_token")))
    }
  }

  @Test func `Both token endpoints check tenant, client, secret and scope, and say what is wrong`() async throws {
    try await withWNS { _, requester, _ in
      let entra = "/acme.example/oauth2/v2.0/token"
      let scope = "https%3A%2F%2Fwns.windows.com%2F.default"
      for (path, form, status, error) in [
        ("/accesstoken.srf", Self.signIn(secret: "x"), 400, "invalid_client"),
        ("/accesstoken.srf", Self.signIn(id: "other"), 400, "invalid_client"),
        ("/accesstoken.srf", Self.signIn(id: "c-7"), 400, "invalid_client"),
        ("/accesstoken.srf", Self.signIn(scope: scope), 400, "invalid_scope"),
        ("/accesstoken.srf", "client_id=x", 400, "unsupported_grant_type"),
        ("/accesstoken.srf", "grant_type=client_credentials&client_id=x", 400, "invalid_request"),
        (entra, Self.signIn(id: "c-7", scope: scope), 200, nil),
        (entra, Self.signIn(id: "c-7", secret: "x", scope: scope), 401, "invalid_client"),
        (entra, Self.signIn(id: "c-8", scope: scope), 400, "unauthorized_client"),
        (entra, Self.signIn(id: "c-7"), 400, "invalid_scope"),
        ("/other/oauth2/v2.0/token", Self.signIn(id: "c-7", scope: scope), 400, "invalid_request"),
      ] as [(String, String, Int, String?)] {
        let reply = try await requester.signIn(path, form)
        #expect(reply.status == status && reply.json.string("error") == error, "\(path) \(form)")
      }
    }
  }

  @Test func `The access token is checked before the channel, and the channel before the notification`() async throws {
    try await withWNS { wns, requester, token in
      wns.expire(channel: "gone")
      wns.restrict(channel: "foreign", to: "c-7")
      for (path, body, bearer, status) in [
        ("/?token=a", "<x", nil, 401), ("/?token=gone", "<x", "other", 401), ("/other", "<x", token, 404),
        ("/?token=gone", "<x", token, 410), ("/?token=foreign", "<x", token, 403), ("/?token=a", "<x", token, 400),
        ("/?token=a", Self.toast, token, 200),
      ] as [(String, String, String?, UInt)] {
        let reply = try await requester.post(path, body, Self.headers, bearer: bearer)
        #expect(reply.status == status, "\(path)")
      }
      let wrong = try await requester.post("/?token=a", "", bearer: token, method: .GET)
      #expect(wrong.status == 405)
      wns.expireAccessTokens()
      let late = try await requester.post("/?token=a", Self.toast, Self.headers, bearer: token)
      #expect(late.status == 401)
    }
  }

  @Test func `What WNS would refuse of headers and body is refused`() async throws {
    try await withWNS { _, requester, token in
      let badge = [("x-wns-type", "wns/badge"), ("content-type", "text/xml")]
      let raw = [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")]
      for (headers, body, status) in [
        (Self.headers, Self.toast, 200), (Self.headers, "<?xml version='1.0'?>\n<!-- x -->" + Self.toast, 200),
        (Self.headers, "<?xml version='1.0'?>\n" + Self.toast, 200),
        (Self.headers, "<toast/>", 400), (Self.headers, "<toast><visual/></toast>", 400),
        (Self.headers, "<tile><visual><binding template='x'/></visual></tile>", 400),
        (Self.headers, Self.toast + "x", 400), (Self.headers, Self.toast.replacing("Hi", with: "a & b"), 400),
        (Self.headers, Self.toast.replacing("Hi", with: "\u{1}"), 400),
        (Self.headers, Self.toast.replacing("Hi", with: "&#1;"), 400),
        (Self.headers, Self.toast.replacing("Hi", with: "&amp;&#x1F600;<!-- x -->"), 200),
        (Self.headers, Self.toast.replacing("<text>", with: "<text a='1' a='2'>"), 400),
        (Self.headers, Self.toast.replacing("<text>", with: "<text a='<'>"), 400),
        (Self.headers, Self.toast.replacing("<text>", with: "<text a='&lt;'>"), 200),
        (Self.headers, Self.toast.replacing("Hi", with: String(repeating: "x", count: 5000)), 413),
        ([("x-wns-type", "wns/toast"), ("content-type", "application/json")], Self.toast, 400),
        ([("content-type", "text/xml")], Self.toast, 400),
        (badge, "<badge value='3'/>", 200), (badge, "<badge value='newMessage'/>", 200),
        (badge, "<badge value='x'/>", 400),
        (raw, "anything", 200), (raw + [("x-wns-cache-policy", "cache")], "x", 200),
        (raw + [("x-wns-cache-policy", "maybe")], "x", 400),
        (Self.headers + [("x-wns-cache-policy", "cache")], Self.toast, 400),
        (raw + [("x-wns-ttl", "60")], "x", 200), (raw + [("x-wns-ttl", "0")], "x", 400),
        (raw + [("x-wns-tag", "a1")], "x", 200), (raw + [("x-wns-tag", "a-1")], "x", 400),
        (raw + [("x-wns-group", String(repeating: "a", count: 17))], "x", 400),
        (raw + [("x-wns-requestforstatus", "yes")], "x", 400), (raw + [("x-wns-suppresspopup", "true")], "x", 400),
      ] as [([(String, String)], String, UInt)] {
        let reply = try await requester.post("/?token=a", body, headers, bearer: token)
        #expect(reply.status == status, "\(headers) \(body.prefix(120)): \(reply.headers)")
        #expect((reply.headers.first(name: "x-wns-error-description") != nil) == (status != 200))
      }
    }
  }

  @Test func `Test tokens and a device's connection choose the answer`() async throws {
    try await withWNS { wns, requester, token in
      wns.set(.temporarilyDisconnected, of: "offline")
      let status = [("x-wns-requestforstatus", "true"), ("ms-cv", "abc.1")]
      let raw = [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")]
      for (channel, code, word) in [
        ("a", 200, "received"), ("offline", 200, "dropped"), ("fade2001x", 200, "dropped"),
        ("fade2002x", 200, "channelthrottled"), ("fade0406x", 406, "received"),
      ] as [(String, UInt, String)] {
        let reply = try await requester.post("/?token=\(channel)", "x", raw + status, bearer: token)
        #expect(reply.status == code)
        let said = reply.headers.first(name: "x-wns-notificationstatus")
        #expect(code == 200 ? said == word : said == nil, "\(channel)")
        #expect(
          reply.headers.first(name: "x-wns-deviceconnectionstatus")
            == (channel == "offline" ? "tempdisconnected" : "connected"))
        #expect(reply.headers.first(name: "ms-cv") == "abc.1")
        #expect(reply.headers.first(name: "x-wns-msg-id")?.count == 16)
      }
    }
  }

  @Test func `A Windows device shows toasts, badges and raw notifications`() async throws {
    try await withWNS(configure: { $0.phonePort = 0 }) { wns, requester, token in
      let launch = #"{"url":"https://hub/c/x","pushreadurl":"https://hub/r/x"}"#
      let toast = """
        <toast launch='\(launch)'><visual><binding template='ToastGeneric'><text>For &lt;Windows></text><text>More</text>\
        <image src='https://h/i.png'/></binding></visual></toast>
        """
      _ = try await requester.post("/?token=a", toast, Self.headers, bearer: token)
      _ = try await requester.post(
        "/?token=a", "<badge value='3'/>", [("x-wns-type", "wns/badge"), ("content-type", "text/xml")], bearer: token)
      _ = try await requester.post(
        "/?token=a", #"{"source":"carma"}"#, [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")],
        bearer: token)
      wns.expire(channel: "gone")
      _ = try await requester.post("/?token=gone", toast, Self.headers, bearer: token)
      let url = try #require(requester.simulator.phoneURL)
      let response = try await requester.client.execute(HTTPClientRequest(url: url + "/"), timeout: .seconds(600))
      let page = String(buffer: try await response.body.collect(upTo: 1 << 20))
      let screen = try #require(page.components(separatedBy: #"data-phone="windows""#).last)
      #expect(screen.components(separatedBy: "For &lt;Windows&gt;</strong>").count == 2)
      #expect(screen.contains(#"data-url="https://hub/c/x""#) && screen.contains(#"data-read="https://hub/r/x""#))
      #expect(screen.contains("https://h/i.png") && screen.contains("Silent push"))
      #expect(page.contains("Acme, Windows") && !page.contains("token=gone"))
    }
  }
}

/// Sends to the simulated WNS.
struct WNSRequester {
  let client: HTTPClient
  let simulator: PushSimulator

  func signIn(_ path: String, _ form: String) async throws -> (status: UInt, json: JSONValue) {
    let reply = try await post(path, form, [("content-type", "application/x-www-form-urlencoded")], bearer: nil)
    return (reply.status, (try? JSONValue(json: Array(reply.body.utf8))) ?? .null)
  }

  func post(
    _ path: String, _ body: String, _ headers: [(String, String)] = [], bearer: String?, method: HTTPMethod = .POST
  ) async throws -> (status: UInt, headers: HTTPHeaders, body: String) {
    var sent = HTTPClientRequest(url: simulator.wnsURL + path)
    sent.method = method
    for (name, value) in headers { sent.headers.add(name: name, value: value) }
    if let bearer { sent.headers.add(name: "authorization", value: "Bearer \(bearer)") }
    sent.body = .bytes(ByteBuffer(string: body))
    let response = try await client.execute(sent, timeout: .seconds(600))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 16))
    return (response.status.code, response.headers, text)
  }
}
