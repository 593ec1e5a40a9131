import AsyncHTTPClient
import FoundationEssentials
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
    _ body: (SimulatedWNS, WNSRequester) async throws -> Void
  ) async throws {
    try await withRequests(now: now, configure: configure) { simulator, requests in
      simulator.wns.register(packageSID: Self.sid, secret: "s/cret", name: "Acme")
      simulator.wns.register(tenantID: "acme.example", clientID: "c-7", secret: "s/cret")
      var requester = WNSRequester(client: requests.client, simulator: simulator)
      let reply = try await requester.askForToken(Self.signIn())
      #expect(reply.status == 200 && reply.json["expires_in"] == 86400 && reply.json["token_type"] == "bearer")
      let token = try #require(reply.json.string("access_token"))
      requester.accessToken = token
      try await body(simulator.wns, requester)
    }
  }

  @Test func `Both token endpoints check tenant, client, secret and scope, and say what is wrong`() async throws {
    try await withWNS { _, requester in
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
        let reply = try await requester.askForToken(form, at: path)
        #expect(reply.status == status && reply.json.string("error") == error, "\(path) \(form)")
      }
    }
  }

  @Test func `The access token is checked before the channel, and the channel before the notification`() async throws {
    try await withWNS { wns, requester in
      wns.expire(channel: "gone")
      wns.restrict(channel: "foreign", to: "c-7")
      let token = requester.accessToken
      for (path, body, bearer, status) in [
        ("/?token=a", "<x", nil, 401), ("/?token=gone", "<x", "other", 401), ("/other", "<x", token, 404),
        ("/?token=gone", "<x", token, 410), ("/?token=foreign", "<x", token, 403), ("/?token=a", "<x", token, 400),
        ("/?token=a", Self.toast, token, 200),
      ] as [(String, String, String?, Int)] {
        var sender = requester
        sender.accessToken = bearer
        let reply = try await sender.send(body, Self.headers, to: path)
        #expect(reply.status == status, "\(path)")
      }
      #expect(try await requester.send("", method: .GET).status == 405)
      wns.expireAccessTokens()
      #expect(try await requester.send(Self.toast, Self.headers).status == 401)
    }
  }

  @Test func `What WNS would refuse of headers and body is refused`() async throws {
    try await withWNS { _, requester in
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
      ] as [([(String, String)], String, Int)] {
        let reply = try await requester.send(body, headers)
        #expect(reply.status == status, "\(headers) \(body.prefix(120)): \(reply.headers)")
        #expect((reply.header("x-wns-error-description") != nil) == (status != 200))
      }
    }
  }

  @Test func `Test tokens and a device's connection choose the answer`() async throws {
    try await withWNS { wns, requester in
      wns.set(.temporarilyDisconnected, of: "offline")
      let status = [("x-wns-requestforstatus", "true"), ("ms-cv", "abc.1")]
      let raw = [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")]
      for (channel, code, word) in [
        ("a", 200, "received"), ("offline", 200, "dropped"), ("fade2001x", 200, "dropped"),
        ("fade2002x", 200, "channelthrottled"), ("fade0406x", 406, "received"),
      ] as [(String, Int, String)] {
        let reply = try await requester.send("x", raw + status, to: "/?token=\(channel)")
        #expect(reply.status == code)
        let said = reply.header("x-wns-notificationstatus")
        #expect(code == 200 ? said == word : said == nil, "\(channel)")
        #expect(
          reply.header("x-wns-deviceconnectionstatus") == (channel == "offline" ? "tempdisconnected" : "connected"))
        #expect(reply.header("ms-cv") == "abc.1")
        #expect(reply.header("x-wns-msg-id")?.count == 16)
      }
    }
  }

  @Test func `A Windows device shows toasts, badges and raw notifications`() async throws {
    try await withWNS(configure: { $0.phonePort = 0 }) { wns, requester in
      let launch = #"{"url":"https://hub/c/x","pushreadurl":"https://hub/r/x"}"#
      let toast = """
        <toast launch='\(launch)'><visual><binding template='ToastGeneric'><text>For &lt;Windows></text><text>More</text>\
        <image src='https://h/i.png'/></binding></visual></toast>
        """
      _ = try await requester.send(toast, Self.headers)
      _ = try await requester.send("<badge value='3'/>", [("x-wns-type", "wns/badge"), ("content-type", "text/xml")])
      _ = try await requester.send(
        #"{"source":"carma"}"#, [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")])
      wns.expire(channel: "gone")
      _ = try await requester.send(toast, Self.headers, to: "/?token=gone")
      let (page, screen) = try await requester.client.phone("windows", of: requester.simulator)
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
  var accessToken: String?

  /// Asks for an access token by a form.
  func askForToken(_ form: String, at path: String = "/accesstoken.srf") async throws -> HTTPAnswer {
    try await client.ask(
      .POST, simulator.wnsURL + path, [("content-type", "application/x-www-form-urlencoded")], Array(form.utf8))
  }

  func send(
    _ body: String, _ headers: [(String, String)] = [], to path: String = "/?token=a", method: HTTPMethod = .POST
  ) async throws -> HTTPAnswer {
    try await client.ask(
      method, simulator.wnsURL + path,
      headers + [accessToken].compactMap(\.self).map { ("authorization", "Bearer \($0)") }, Array(body.utf8))
  }
}
