import AsyncHTTPClient
import FoundationEssentials
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// Sends to each simulated service what it accepts unless a rule is against it.
struct ServiceClients {
  /// SMS has no devices, and tests of its own.
  static let services = PushServiceName.allCases.filter { $0 != .sms }

  let simulator: PushSimulator
  let apns: Requester
  let fcm: FCMRequester
  let hms: HMSRequester
  let wns: WNSRequester
  let webPush: WebPushRequester

  static let hmsForm = "grant_type=client_credentials&client_id=104567891&client_secret=secret"
  static let wnsForm =
    "grant_type=client_credentials&client_id=ms-app%3A%2F%2Fs-1&client_secret=secret&scope=notify.windows.com"

  /// Asks the service's token endpoint for an access token.
  func signIn(_ service: PushServiceName) async throws -> ServiceAnswer {
    switch service {
    case .fcm:
      let answer = try await fcm.askForToken(try TestAssertion(fcm.account).form)
      let error = answer.json["error"]
      return ServiceAnswer(answer, error?.text ?? error?["status"]?.text)
    case .hms:
      let answer = try await hms.askForToken(Self.hmsForm)
      return ServiceAnswer(answer, answer.json.integer("error").map(String.init))
    case .wns:
      let answer = try await wns.askForToken(Self.wnsForm)
      return ServiceAnswer(answer, answer.json.string("error"))
    case .apns, .webpush, .sms: preconditionFailure("\(service) issues no access tokens")
    }
  }

  /// - Parameters:
  ///   - token: the device's, the one in a channel URI, or the name of a browser.
  ///   - isValid: false for a request that the service's checks refuse with 400.
  func send(_ service: PushServiceName, _ token: String, isValid: Bool = true) async throws -> ServiceAnswer {
    switch service {
    case .apns:
      var request = TestRequest()
      request.path = "/3/device/" + token
      if !isValid { request.set("apns-topic", nil) }
      let answer = try await apns.answer(request)
      return ServiceAnswer(answer.status, answer.reason)
    case .fcm:
      let fields = isValid ? #""data":{"alert":"Hello"}"# : #""x":1"#
      let answer = try await fcm.send(FCMRequester.body(token: token, fields))
      return ServiceAnswer(answer, answer.errorCode?.text ?? answer.name?.text)
    case .hms:
      let answer = try await hms.send(isValid ? #"{"message":{"data":"{}","token":["\#(token)"]}}"# : "no JSON")
      return ServiceAnswer(answer, answer.json.string("code"))
    case .wns:
      let raw = [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")]
      let answer = try await wns.send("x", isValid ? raw : raw + [("x-wns-ttl", "0")], to: "/?token=\(token)")
      var said = ServiceAnswer(
        answer, answer.header("x-wns-notificationstatus") ?? answer.header("x-wns-error-description"))
      said.retryAfter = answer.header("x-wns-continue-after")
      return said
    case .webpush:
      let browser = simulator.webPush.subscription(named: token, vapidKey: webPush.sender.vapidKey)
      let answer = try await webPush.push(
        try WebPushSender.sealed("Hello", for: browser), to: browser.endpoint, headers: isValid ? [:] : ["ttl": ""])
      return ServiceAnswer(answer, answer.errno.map { "\($0)" })
    case .sms: preconditionFailure("SMS has tests of its own")
    }
  }

  /// The devices that the service got requests for, by what `send` was given.
  func tokens(_ service: PushServiceName) -> [String] {
    switch service {
    case .apns: simulator.apns.requests.map(\.token)
    case .fcm: simulator.fcm.requests.map(\.token)
    case .hms: simulator.hms.requests.flatMap(\.tokens)
    case .wns: simulator.wns.requests.map { String($0.channel.suffix(4)) }
    case .webpush: simulator.webPush.requests.map { String($0.token.prefix(4)) }
    case .sms: preconditionFailure("SMS has tests of its own")
    }
  }
}

extension ServiceClients {
  /// What each test token that refuses is answered with.
  static let refusals: [PushServiceName: [String: ServiceAnswer]] = [
    .apns: [
      "fade0400": .init(400, "BadDeviceToken"), "fade1400": .init(400, "DeviceTokenNotForTopic"),
      "fade0403": .init(403, "InvalidProviderToken"), "fade1403": .init(403, "ExpiredProviderToken"),
      "fade0410": .init(410, "Unregistered"), "fade1410": .init(410, "Unregistered"),
      "fade2410": .init(410, "ExpiredToken"), "fade0413": .init(413, "PayloadTooLarge"),
      "fade0429": .init(429, "TooManyRequests"), "fade0500": .init(500, "InternalServerError"),
      "fade0503": .init(503, "ServiceUnavailable"), "fade1503": .init(503, "Shutdown"),
    ],
    .fcm: [
      "fade0400": .init(400, "INVALID_ARGUMENT"), "fade0401": .init(401, "THIRD_PARTY_AUTH_ERROR"),
      "fade0403": .init(403, "SENDER_ID_MISMATCH"), "fade0404": .init(404, "UNREGISTERED"),
      "fade0429": .init(429, "QUOTA_EXCEEDED"), "fade1429": .init(429, "QUOTA_EXCEEDED", retryAfter: "60"),
      "fade0500": .init(500, "INTERNAL"), "fade0503": .init(503, "UNAVAILABLE"),
      "fade1503": .init(503, "UNAVAILABLE", retryAfter: "1"),
    ],
    .hms: [
      "fade0400": .init(400, "80100001"), "fade0401": .init(401, "80200001"), "fade0403": .init(200, "80300002"),
      "fade0404": .init(200, "80300007"), "fade0500": .init(500, "81000001"), "fade0503": .init(503, nil),
      "fade1503": .init(503, nil, retryAfter: "1"),
    ],
    .wns: [
      "fade0400": .init(400, nil), "fade0401": .init(401, nil),
      "fade0403": .init(403, "The cloud service is not authorized to send a notification to this URI"),
      "fade0404": .init(404, "The channel URI is not valid"), "fade0406": .init(406, nil, retryAfter: "1"),
      "fade0410": .init(410, "The channel expired"), "fade0500": .init(500, nil), "fade0503": .init(503, nil),
      "fade2001": .init(200, "dropped"), "fade2002": .init(200, "channelthrottled", retryAfter: "1"),
    ],
    .webpush: [
      "fade0400": .init(400, "110"), "fade0401": .init(401, "109"), "fade0404": .init(404, "102"),
      "fade0410": .init(410, "106"), "fade0413": .init(413, "104"), "fade0429": .init(429, nil),
      "fade0500": .init(500, "999"), "fade0503": .init(503, "201", retryAfter: "120"),
      "fade1503": .init(503, "201", retryAfter: "1"),
    ],
  ]
}

/// A service's answer to a push.
struct ServiceAnswer: Equatable, Sendable {
  var status: Int
  /// Its word or number; nil if the service gave none, as when it accepts.
  var reason: String?
  var retryAfter: String?

  init(_ status: Int, _ reason: String?, retryAfter: String? = nil) {
    self.status = status
    self.reason = reason
    self.retryAfter = retryAfter
  }

  init(_ answer: HTTPAnswer, _ reason: String?) {
    self.init(answer.status, reason, retryAfter: answer.retryAfter)
  }

  var isAccepted: Bool { status / 100 == 2 && [nil, "80000000", "received"].contains(reason) }
}

/// Runs `body` with a Simulator that one client of each service is signed in to.
func withServices(
  configure: (inout SimulatorSettings) -> Void = { _ in },
  _ body: (PushSimulator, ServiceClients, Phone) async throws -> Void
) async throws {
  try await withFCM(configure: {
    $0.phonePort = 0
    configure(&$0)
  }) { simulator, fcm in
    simulator.hms.register(clientID: "104567891", secret: "secret")
    var hms = HMSRequester(client: fcm.client, simulator: simulator)
    hms.accessToken = try await hms.askForToken(ServiceClients.hmsForm).json.string("access_token")
    simulator.wns.register(packageSID: "ms-app://s-1", secret: "secret")
    var wns = WNSRequester(client: fcm.client, simulator: simulator)
    wns.accessToken = try await wns.askForToken(ServiceClients.wnsForm).json.string("access_token")
    try #require(hms.accessToken != nil && wns.accessToken != nil)
    let clients = ServiceClients(
      simulator: simulator, apns: Requester(client: fcm.client, simulator: simulator), fcm: fcm, hms: hms, wns: wns,
      webPush: WebPushRequester(client: fcm.client, origin: simulator.webPushURL))
    try await body(simulator, clients, Phone(client: fcm.client, url: try #require(simulator.phoneURL)))
  }
}

/// Asks the phone page's server.
struct Phone {
  let client: HTTPClient
  let url: String

  /// - Parameter body: in JSON.
  func ask(_ method: HTTPMethod, _ path: String, _ body: String? = nil) async throws -> HTTPAnswer {
    try await client.ask(
      method, url + path, body == nil ? [] : [("content-type", "application/json")], body.map { Array($0.utf8) })
  }
}

extension HTTPClient {
  /// The phone page, and the part of it that begins with one phone's screen.
  func phone(_ id: String, of simulator: PushSimulator) async throws -> (page: String, screen: String) {
    let page = try await ask(.GET, try #require(simulator.phoneURL) + "/").text
    return (page, try #require(page.components(separatedBy: #"data-phone="\#(id)""#).last))
  }
}
