import AsyncHTTPClient
import FoundationEssentials
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The simulated Push Kit, as an independent client sees it.
@Suite struct HMSReplyTests {
  private static let signIn = "grant_type=client_credentials&client_id=104567891&client_secret=s%2Fcret"

  /// A message that Push Kit accepts.
  private static func body(_ more: String = #""data":"{}""#, tokens: [String] = ["token-1"]) -> String {
    let tokens = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"message":{\#(more),"token":[\#(tokens)]}}"#
  }

  private static func notification(_ members: String) -> String { #""android":{"notification":{\#(members)}}"# }

  private func withHMS(
    now: @escaping @Sendable () -> Date = { Date() }, configure: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (SimulatedHMS, HMSRequester) async throws -> Void
  ) async throws {
    try await withRequests(now: now, configure: configure) { simulator, requests in
      simulator.hms.register(clientID: "104567891", secret: "s/cret", name: "Acme")
      var requester = HMSRequester(client: requests.client, simulator: simulator)
      let answer = try await requester.askForToken(Self.signIn)
      #expect(answer.status == 200 && answer.json["expires_in"] == 3600)
      let token = try #require(answer.json.string("access_token"))
      requester.accessToken = token
      try await body(simulator.hms, requester)
    }
  }

  @Test func `A client gets an access token by its secret alone, and errors have Huawei's numbers`() async throws {
    try await withHMS { hms, requester in
      for (form, error) in [
        ("grant_type=client_credentials&client_id=104567891&client_secret=other", 1101),
        ("grant_type=client_credentials&client_id=1&client_secret=x", 1101),
        ("grant_type=client_credentials&client_id=104567891", 1102),
        ("grant_type=password&client_id=104567891&client_secret=x", 1102), ("", 1102),
      ] as [(String, Int64)] {
        let answer = try await requester.askForToken(form)
        #expect(answer.status == 400 && answer.json["error"] == .integer(error), "\(form)")
      }
      #expect(hms.tokenRequestCount == 6)
    }
  }

  @Test func `The access token is checked before the message, and serves its own client alone`() async throws {
    try await withHMS { hms, requester in
      var stranger = requester
      stranger.accessToken = nil
      for answer in [
        try await stranger.send("no JSON"), try await requester.send("no JSON", authorization: "Bearer x"),
        try await requester.send("no JSON", authorization: requester.accessToken),
        try await requester.send("no JSON", to: "/v1/1/messages:send"),
      ] {
        #expect(answer.status == 401 && answer.json["code"] == "80200001")
      }
      #expect(try await requester.send(Self.body(), to: "/v3/x/messages:send").status == 404)
      hms.expireAccessTokens()
      let late = try await requester.send(Self.body())
      #expect(late.status == 401 && late.json["code"] == "80200003")
    }
  }

  @Test func `What Push Kit would refuse is refused by its code`() async throws {
    try await withHMS { _, requester in
      let many = (0...1000).map { "token-\($0)" }
      let click = #""title":"A","body":"B","click_action":{"type":3}"#
      for (body, code) in [
        ("no JSON", "80100003"), (Self.body(#""date":"{}""#), "80100003"), (Self.body(#""data":{}"#), "80100003"),
        (#"{"message":{"data":"{}","token":"token-1"}}"#, "80100003"),
        (#"{"message":{"data":"{}"}}"#, "80100001"), (Self.body(#""topic":"a","data":"{}""#), "80100001"),
        (Self.body(tokens: []), "80100001"), (Self.body(tokens: many), "80300010"),
        (Self.body(#""data":"\#(String(repeating: "x", count: 4096))""#), "80300008"),
        (Self.body(#""android":{"collapse_key":101}"#), "80100013"),
        (Self.body(#""android":{"ttl":"1296001s"}"#), "80100001"), (Self.body(#""android":{"ttl":"0s"}"#), "80100004"),
        (Self.body(#""android":{"urgency":"HIGH"}"#), "80300011"),
        (Self.body(Self.notification(#""title":"A","body":"B","default_sound":true"#)), "80100003"),
        (Self.body(Self.notification(click)), "80100003"),
        (Self.body(Self.notification(click + #","default_sound":true,"badge":{"set_num":1}"#)), "80100003"),
        (Self.body(Self.notification(#""title":"A","click_action":{"type":3},"default_sound":true"#)), "80100003"),
        (Self.body(Self.notification(click + #","default_sound":true"#)), "80000000"),
        (Self.body(tokens: Array(many.dropLast())), "80000000"),
      ] as [(String, JSONValue)] {
        let answer = try await requester.send(body)
        #expect(answer.json["code"] == code, "\(body.prefix(120)): \(answer.text)")
      }
    }
  }

  @Test func `Invalid tokens are named if others are valid`() async throws {
    try await withHMS { hms, requester in
      hms.unregister(token: "gone")
      let mixed = Self.body(tokens: ["token-1", "gone", "fade0404x"])
      let answer = try await requester.send(mixed)
      #expect(answer.status == 200 && answer.json["code"] == "80100000")
      let report = try JSONValue(parsing: Array(try #require(answer.json.string("msg")).utf8))
      #expect(report == ["success": 1, "failure": 2, "illegal_tokens": ["gone", "fade0404x"]])
      #expect(try await requester.send(Self.body(tokens: ["gone"])).json["code"] == "80300007")
    }
  }

  @Test func `A Huawei phone shows what arrived on each of the devices of a request, and nothing else`() async throws {
    try await withHMS(configure: { $0.phonePort = 0 }) { hms, requester in
      hms.unregister(token: "gone")
      let data = #"{\"url\":\"https://hub/c/x\",\"pushreadurl\":\"https://hub/r/x\"}"#
      let shown = Self.notification(
        #""title":"For <Huawei>","body":"More","click_action":{"type":3},"default_sound":true"#)
      let body = Self.body(#""data":"\#(data)",\#(shown)"#, tokens: ["first", "gone", "second"])
      _ = try await requester.send(body)
      let test = #"{"validate_only":true,\#(body.dropFirst())"#
      _ = try await requester.send(test)
      let (page, phone) = try await requester.client.phone("huawei", of: requester.simulator)
      #expect(phone.components(separatedBy: "For &lt;Huawei&gt;</strong>").count == 3)
      #expect(phone.contains(#"data-url="https://hub/c/x""#) && phone.contains(#"data-read="https://hub/r/x""#))
      #expect(page.contains("Acme, Huawei") && !page.contains(#"data-token="gone""#))
    }
  }
}

/// Sends to the simulated Push Kit.
struct HMSRequester {
  let client: HTTPClient
  let simulator: PushSimulator
  var accessToken: String?

  /// Asks for an access token by a form.
  func askForToken(_ form: String) async throws -> HTTPAnswer {
    try await client.ask(
      .POST, simulator.hmsURL + HuaweiTokenRequest.path, [("content-type", "application/x-www-form-urlencoded")],
      Array(form.utf8))
  }

  /// - Parameter authorization: other than the access token.
  func send(
    _ body: String, to path: String = "/v1/104567891/messages:send", authorization: String? = nil
  ) async throws -> HTTPAnswer {
    let value = authorization ?? accessToken.map { "Bearer \($0)" }
    return try await client.ask(
      .POST, simulator.hmsURL + path,
      [("content-type", "application/json")] + [value].compactMap(\.self).map { ("authorization", $0) },
      Array(body.utf8))
  }
}
