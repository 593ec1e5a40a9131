import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The simulated Push Kit, as an independent client sees it.
@Suite struct HMSReplyTests {
  private static let address = "/v1/104567891/messages:send"
  private static let signIn = "grant_type=client_credentials&client_id=104567891&client_secret=s%2Fcret"

  /// A message that Push Kit accepts.
  private static func body(_ more: String = #""data":"{}""#, tokens: [String] = ["token-1"]) -> String {
    let tokens = tokens.map { "\"\($0)\"" }.joined(separator: ",")
    return #"{"message":{\#(more),"token":[\#(tokens)]}}"#
  }

  private static func notification(_ members: String) -> String { #""android":{"notification":{\#(members)}}"# }

  private func withHMS(
    now: @escaping @Sendable () -> Date = { Date() }, configure: (inout SimulatorSettings) -> Void = { _ in },
    _ body: (SimulatedHMS, HMSRequester, String) async throws -> Void
  ) async throws {
    try await withRequests(now: now, configure: configure) { simulator, requests in
      simulator.hms.register(clientID: "104567891", secret: "s/cret", name: "Acme")
      let requester = HMSRequester(client: requests.client, simulator: simulator)
      let (status, json, _) = try await requester.post(HuaweiTokenRequest.path, Self.signIn, form: true)
      #expect(status == 200 && json["expires_in"] == 3600)
      try await body(simulator.hms, requester, try #require(json.string("access_token")))
    }
  }

  @Test func `A client gets an access token by its secret alone, and errors have Huawei's numbers`() async throws {
    try await withHMS { hms, requester, _ in
      for (form, error) in [
        ("grant_type=client_credentials&client_id=104567891&client_secret=other", 1101),
        ("grant_type=client_credentials&client_id=1&client_secret=x", 1101),
        ("grant_type=client_credentials&client_id=104567891", 1102),
        ("grant_type=password&client_id=104567891&client_secret=x", 1102), ("", 1102),
      ] as [(String, Int64)] {
        let (status, json, _) = try await requester.post(HuaweiTokenRequest.path, form, form: true)
        #expect(status == 400 && json["error"] == .integer(error), "\(form)")
      }
      #expect(hms.tokenRequestCount == 6)
    }
  }

  @Test func `The access token is checked before the message, and serves its own client alone`() async throws {
    try await withHMS { hms, requester, token in
      let path = Self.address
      for (path, authorization, code) in [
        (path, nil, "80200001"), (path, "Bearer x", "80200001"), (path, token, "80200001"),
        ("/v1/1/messages:send", "Bearer \(token)", "80200001"),
      ] as [(String, String?, JSONValue)] {
        let (status, json, _) = try await requester.post(path, "no JSON", authorization: authorization)
        #expect(status == 401 && json["code"] == code)
      }
      #expect(try await requester.post("/v3/x/messages:send", Self.body(), authorization: "Bearer \(token)").0 == 404)
      hms.expireAccessTokens()
      let (status, json, _) = try await requester.post(path, Self.body(), authorization: "Bearer \(token)")
      #expect(status == 401 && json["code"] == "80200003")
    }
  }

  @Test func `What Push Kit would refuse is refused by its code`() async throws {
    try await withHMS { _, requester, token in
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
        let (_, json, _) = try await requester.post(Self.address, body, authorization: "Bearer \(token)")
        #expect(json["code"] == code, "\(body.prefix(120)): \(json)")
      }
    }
  }

  @Test func `Invalid tokens are named if others are valid, and test tokens choose a reply`() async throws {
    try await withHMS { hms, requester, token in
      hms.unregister(token: "gone")
      let mixed = Self.body(tokens: ["token-1", "gone", "fade0404x"])
      let (status, json, _) = try await requester.post(Self.address, mixed, authorization: "Bearer \(token)")
      #expect(status == 200 && json["code"] == "80100000")
      let report = try JSONValue(parsing: Array(try #require(json.string("msg")).utf8))
      #expect(report == ["success": 1, "failure": 2, "illegal_tokens": ["gone", "fade0404x"]])
      for (device, code) in [("gone", "80300007"), ("fade0500", "81000001"), ("fade0403", "80300002")] {
        let (_, json, _) = try await requester.post(
          Self.address, Self.body(tokens: [device]), authorization: "Bearer \(token)")
        #expect(json.string("code") == code)
      }
    }
  }

  @Test func `A Huawei phone shows what arrived on each of the devices of a request, and nothing else`() async throws {
    try await withHMS(configure: { $0.phonePort = 0 }) { hms, requester, token in
      hms.unregister(token: "gone")
      let data = #"{\"url\":\"https://hub/c/x\",\"pushreadurl\":\"https://hub/r/x\"}"#
      let shown = Self.notification(
        #""title":"For <Huawei>","body":"More","click_action":{"type":3},"default_sound":true"#)
      let body = Self.body(#""data":"\#(data)",\#(shown)"#, tokens: ["first", "gone", "second"])
      _ = try await requester.post(Self.address, body, authorization: "Bearer \(token)")
      let test = #"{"validate_only":true,\#(body.dropFirst())"#
      _ = try await requester.post(Self.address, test, authorization: "Bearer \(token)")
      let url = try #require(requester.simulator.phoneURL)
      let response = try await requester.client.execute(HTTPClientRequest(url: url + "/"), timeout: .seconds(600))
      let page = String(buffer: try await response.body.collect(upTo: 1 << 20))
      let phone = try #require(page.components(separatedBy: #"data-phone="huawei""#).last)
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

  func post(
    _ path: String, _ body: String, authorization: String? = nil, form: Bool = false
  ) async throws -> (status: Int, json: JSONValue, headers: HTTPHeaders) {
    var sent = HTTPClientRequest(url: simulator.hmsURL + path)
    sent.method = .POST
    sent.headers.add(name: "content-type", value: form ? "application/x-www-form-urlencoded" : "application/json")
    if let authorization { sent.headers.add(name: "authorization", value: authorization) }
    sent.body = .bytes(ByteBuffer(string: body))
    let response = try await client.execute(sent, timeout: .seconds(600))
    let text = try await response.body.collect(upTo: 1 << 16)
    return (
      Int(response.status.code),
      (try? JSONValue(json: Array(text.readableBytesView))) ?? .null, response.headers
    )
  }
}
