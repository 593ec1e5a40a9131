import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The routes for rules and orders, for each simulated service.
@Suite struct RuleRouteTests {
  private static let services = ["apns", "fcm", "hms", "wns", "webpush"]

  /// Runs `body` with a Simulator that one client of each service is signed in to.
  private func withServices(_ body: (PushSimulator, ServiceClients, Phone) async throws -> Void) async throws {
    try await withFCM(configure: { $0.phonePort = 0 }) { simulator, fcm in
      let hms = HMSRequester(client: fcm.client, simulator: simulator)
      simulator.hms.register(clientID: "1", secret: "secret")
      let huawei = try await hms.post(HuaweiTokenRequest.path, ServiceClients.hmsForm, form: true)
      let wns = WNSRequester(client: fcm.client, simulator: simulator)
      simulator.wns.register(packageSID: "ms-app://s-1", secret: "secret")
      let microsoft = try await wns.signIn("/accesstoken.srf", ServiceClients.wnsForm)
      let clients = ServiceClients(
        apns: Requester(client: fcm.client, simulator: simulator), fcm: fcm, hms: hms, wns: wns,
        webPush: WebPushRequester(client: fcm.client, origin: simulator.webPushURL),
        hmsToken: try #require(huawei.json.string("access_token")),
        wnsToken: try #require(microsoft.json.string("access_token")))
      try await body(simulator, clients, Phone(client: fcm.client, url: try #require(simulator.phoneURL)))
    }
  }

  @Test(
    arguments: [
      ("apns", #""status":429,"reason":"TooManyRequests""#, ServiceAnswer(429, "TooManyRequests")),
      ("fcm", #""status":404,"reason":"UNREGISTERED""#, ServiceAnswer(404, "UNREGISTERED")),
      ("fcm", #""reason":"QUOTA_EXCEEDED","retryAfter":"60""#, ServiceAnswer(429, "QUOTA_EXCEEDED", retryAfter: "60")),
      ("fcm", #""reason":"INVALID_ARGUMENT message.data[0].value""#, ServiceAnswer(400, "INVALID_ARGUMENT")),
      ("fcm", #""reason":"NOT_FOUND""#, ServiceAnswer(404, "NOT_FOUND")),
      ("fcm", #""reason":"APNS_AUTH_ERROR""#, ServiceAnswer(401, "APNS_AUTH_ERROR")),
      ("fcm", #""status":502"#, ServiceAnswer(502, nil)),
      ("hms", #""status":200,"reason":"80300007""#, ServiceAnswer(200, "80300007")),
      ("hms", #""status":404"#, ServiceAnswer(404, nil)),
      ("hms", #""status":500,"reason":"""#, ServiceAnswer(500, nil)),
      ("hms", #""status":503,"retryAfter":"7""#, ServiceAnswer(503, nil, retryAfter: "7")),
      ("hms", #""status":503,"retryAfter":7"#, ServiceAnswer(503, nil, retryAfter: "7")),
      ("wns", #""status":406,"retryAfter":"9""#, ServiceAnswer(406, nil, retryAfter: "9")),
      ("wns", #""reason":"dropped""#, ServiceAnswer(200, "dropped")),
      ("webpush", #""status":410,"reason":"106""#, ServiceAnswer(410, "106")),
      ("webpush", #""status":429,"retryAfter":"5""#, ServiceAnswer(429, nil, retryAfter: "5")),
      ("webpush", #""reason":"901""#, ServiceAnswer(502, "901")),
      ("webpush", #""reason":"BadJwtToken""#, ServiceAnswer(403, nil)),
      ("webpush", #""status":308"#, ServiceAnswer(308, nil)),
    ])
  func `A rule refuses the requests of its service that match, as often as it says`(
    service: String, refusal: String, answer: ServiceAnswer
  ) async throws {
    try await withServices { _, clients, phone in
      let rule = #"{"service":"\#(service)","tokenPrefix":"ab","times":1,"reply":"refuse",\#(refusal)}"#
      let added = try await phone.ask(.POST, "/rules", rule)
      #expect(added.status == 201 && added.json["number"] == 1)
      for other in Self.services where other != service { #expect(try await clients.send(other, "ab01").isAccepted) }
      #expect(try await clients.send(service, "cd01").isAccepted)
      let refused = try await clients.send(service, "ab01")
      #expect(refused == answer)
      #expect(try await clients.send(service, "ab01").isAccepted)
    }
  }

  @Test(arguments: services)
  func `Rules are listed and removed for one service, and a listed rule can be added again`(service: String)
    async throws
  {
    try await withServices { _, clients, phone in
      for name in Self.services {
        let reason = Self.internalError[name].map { #","reason":"\#($0)""# } ?? ""
        let rule = #"{"service":"\#(name)","nth":2,"reply":"refuse","status":500\#(reason)}"#
        #expect(try await phone.ask(.POST, "/rules", rule).status == 201, "\(name)")
      }
      let listed = try await phone.ask(.GET, "/rules?service=\(service)")
      guard case .array(let rules) = listed.json, rules.count == 1, let rule = rules.first else {
        Issue.record("\(listed.text)")
        return
      }
      #expect(rule["service"] == .string(service) && rule["nth"] == 2 && rule["status"] == 500)
      #expect(rule.string("reason") == Self.internalError[service])
      #expect(try await phone.ask(.DELETE, "/rules?service=\(service)").status == 204)
      for name in Self.services {
        let text = try await phone.ask(.GET, "/rules?service=\(name)").text
        #expect((text == "[]") == (name == service), "\(name): \(text)")
      }
      let body = String(decoding: try JSONCoding.encode(rule), as: UTF8.self)
      #expect(try await phone.ask(.POST, "/rules?service=\(service)", body).status == 201)
      #expect(try await clients.send(service, "ab01").isAccepted)
      #expect(try await clients.send(service, "ab01").status == 500)
    }
  }

  /// WNS has no word for it.
  private static let internalError = [
    "apns": "InternalServerError", "fcm": "INTERNAL", "hms": "81000001", "webpush": "999",
  ]

  @Test(arguments: services)
  func `Connections are counted for one service, and take its orders`(service: String) async throws {
    try await withServices { simulator, clients, phone in
      func counts() async throws -> JSONValue { try await phone.ask(.GET, "/connections?service=\(service)").json }
      let before = try #require(try await counts().integer("opened"))
      let rule = #"{"service":"\#(service)","reply":"ignore"}"#
      #expect(try await phone.ask(.POST, "/rules", rule).status == 201)
      async let answer = clients.send(service, "ab01")
      switch service {
      case "apns": _ = await simulator.apns.received(count: 1)
      case "fcm": _ = await simulator.fcm.received(count: 1)
      case "hms": _ = await simulator.hms.received(count: 1)
      case "wns": _ = await simulator.wns.received(count: 1)
      default: _ = await simulator.webPush.received(count: 1)
      }
      // The clients of FCM, HMS and WNS have signed in on it.
      let during = try await counts()
      #expect(during["open"] == 1 && during["opened"] == 1 && during["streamsBeyondLimit"] == 0)
      #expect(before == (["fcm", "hms", "wns"].contains(service) ? 1 : 0))
      let order = #"{"service":"\#(service)","order":"answerIgnored"}"#
      #expect(try await phone.ask(.POST, "/connections", order).status == 204)
      #expect(try await answer.isAccepted)
    }
  }

  @Test(
    arguments: [
      ("fcm", "push@", #""reason":"invalid_grant""#, ServiceAnswer(400, "invalid_grant")),
      ("fcm", "push@", #""status":503,"retryAfter":"7""#, ServiceAnswer(503, "UNAVAILABLE", retryAfter: "7")),
      ("hms", "1", #""reason":"1101""#, ServiceAnswer(400, "1101")),
      ("hms", "1", #""status":503,"retryAfter":"7""#, ServiceAnswer(503, nil, retryAfter: "7")),
      ("wns", "ms-app://", #""status":401"#, ServiceAnswer(401, "invalid_client")),
      (
        "wns", "ms-app://", #""status":503,"retryAfter":"7""#,
        ServiceAnswer(503, "temporarily_unavailable", retryAfter: "7")
      ),
    ])
  func `A rule for token requests refuses those of its client, as often as it says, and no push`(
    service: String, client: String, refusal: String, answer: ServiceAnswer
  ) async throws {
    try await withServices { _, clients, phone in
      func rule(_ client: String) -> String {
        #"{"service":"\#(service)","requests":"token","clientPrefix":"\#(client)","times":1,"reply":"refuse",\#(refusal)}"#
      }
      #expect(try await phone.ask(.POST, "/rules", rule("another")).status == 201)
      let added = try await phone.ask(.POST, "/rules", rule(client))
      #expect(added.status == 201 && added.json["number"] == 2)
      #expect(try await clients.send(service, "ab01").isAccepted)
      guard case .array(let listed) = try await phone.ask(.GET, "/rules?service=\(service)").json, listed.count == 2
      else {
        Issue.record("not listed")
        return
      }
      #expect(listed[1].string("requests") == "token" && listed[1].string("clientPrefix") == client)
      #expect(try await clients.signIn(service) == answer)
      #expect(try await clients.signIn(service).isAccepted)
      // A listed rule can be added again.
      let body = String(decoding: try JSONCoding.encode(listed[1]), as: UTF8.self)
      #expect(try await phone.ask(.POST, "/rules", body).status == 201)
      #expect(try await clients.signIn(service) == answer)
      #expect(try await phone.ask(.POST, "/rules", rule(client)).status == 201)
      #expect(try await phone.ask(.DELETE, "/rules?service=\(service)").status == 204)
      #expect(try await clients.signIn(service).isAccepted)
    }
  }

  @Test func `An order with a member that there is not gets an error that names it`() async throws {
    try await withServices { _, _, phone in
      let answer = try await phone.ask(.POST, "/connections", #"{"order":"limitStreams","limit":1,"streams":2}"#)
      #expect(answer.status == 400 && answer.text.contains("There is no member streams. Give some of: service, order"))
    }
  }

  @Test func `A service that does not exist, or two of them, get an error with those that do`() async throws {
    try await withServices { simulator, _, phone in
      let answers = [
        try await phone.ask(.GET, "/rules?service=email"), try await phone.ask(.DELETE, "/rules?service=email"),
        try await phone.ask(.POST, "/rules?service=email", #"{"reply":"cut"}"#),
        try await phone.ask(.POST, "/rules", #"{"service":"email","reply":"cut"}"#),
        try await phone.ask(.GET, "/connections?service=email"),
        try await phone.ask(.POST, "/connections", #"{"service":"email","order":"cut"}"#),
      ]
      for answer in answers {
        #expect(answer.status == 400)
        #expect(answer.text.contains("There is no service email. Give one of: apns, fcm, hms, wns, webpush, sms."))
      }
      let two = try await phone.ask(.POST, "/rules?service=fcm", #"{"service":"hms","reply":"cut"}"#)
      #expect(two.status == 400 && two.text.contains("The query's service is fcm, and the body's is hms."))
      #expect(simulator.apns.traffic.rules.entries.isEmpty && simulator.fcm.traffic.rules.entries.isEmpty)
      #expect(simulator.hms.traffic.rules.entries.isEmpty)
    }
  }

  @Test(
    arguments: [
      (#"{"service":"hms","reply":"refuse","status":400}"#, "name several refusals", #"400 \"\", 401 \"\", 403"#),
      (#"{"service":"fcm","reply":"refuse","status":410}"#, "name no refusal", "404 UNREGISTERED"),
      (
        #"{"service":"fcm","reply":"refuse","status":400,"reason":"UNREGISTERED"}"#, "name no refusal",
        "503 UNAVAILABLE"
      ),
      (#"{"service":"hms","reply":"refuse","reason":"80000000"}"#, "name no refusal", "200 80300007"),
      (#"{"service":"hms","reply":"refuse"}"#, "name several refusals", "503"),
      (#"{"service":"wns","reply":"refuse","status":200}"#, "name several refusals", "200 channelthrottled"),
      (#"{"service":"webpush","reply":"refuse","status":410}"#, "name several refusals", "410 103"),
      (#"{"service":"apns","reply":"refuse","status":200,"reason":"x"}"#, "needs a status", "400 to 599"),
      (#"{"service":"fcm","reply":"accept","environment":"sandbox"}"#, "The member environment", "for fcm"),
      (#"{"service":"wns","reply":"accept","project":"x"}"#, "The member project", "for wns"),
      (#"{"service":"fcm","reply":"refuse","status":503,"since":1}"#, "The member since", "reply refuse"),
      (#"{"reply":"refuse","status":429,"reason":"x","retryAfter":"1"}"#, "The member retryAfter", "for apns"),
      (#"{"service":"hms","reply":"accept","status":503}"#, "The member status", "reply accept"),
      (#"{"service":"hms","reply":"dance"}"#, "There is no reply dance.", "refuseStream"),
      (#"{"reply":"accept","requests":"token"}"#, "apns issues no access tokens.", "Leave the member requests out."),
      (#"{"service":"webpush","reply":"accept","requests":"token"}"#, "webpush issues no access tokens.", ""),
      (#"{"service":"fcm","reply":"accept","requests":"push"}"#, "There are no requests push.", "Give token"),
      (#"{"service":"fcm","reply":"accept","clientPrefix":"a"}"#, "The member clientPrefix", "for fcm"),
      (
        #"{"service":"fcm","requests":"token","reply":"accept","tokenPrefix":"a"}"#, "The member tokenPrefix", "for fcm"
      ),
      (#"{"service":"fcm","requests":"token","reply":"accept","project":"a"}"#, "The member project", "for fcm"),
      (
        #"{"service":"fcm","requests":"token","reply":"refuse","reason":"UNREGISTERED"}"#, "name no refusal",
        "400 invalid_grant"
      ),
      (#"{"service":"wns","reply":"refuse","reason":"invalid_client"}"#, "name no refusal", "200 dropped"),
      (#"{"reply":"accept","tokenprefix":"ab"}"#, "There is no member tokenprefix.", "tokenPrefix, clientPrefix"),
      (#"{"reply":"accept","delay":3}"#, "There is no member delay.", "delayMilliseconds"),
      (#"{"service":"hms"}"#, "The member reply is missing.", ""),
      (#"{"service":"hms","reply":"accept","nth":"2"}"#, "The member nth has a value", ""),
      ("[]", "The body is not a JSON object.", ""),
      ("", "The body is not a JSON object.", ""),
    ])
  func `A rule that its service cannot keep gets an error that says what it can`(
    rule: String, problem: String, remedy: String
  ) async throws {
    try await withServices { simulator, _, phone in
      let answer = try await phone.ask(.POST, "/rules", rule)
      #expect(answer.status == 400)
      #expect(answer.text.contains(problem) && (remedy.isEmpty || answer.text.contains(remedy)), "\(answer.text)")
      for name in Self.services { #expect(try await phone.ask(.GET, "/rules?service=\(name)").text == "[]") }
    }
  }

  @Test func `Status and reason name each listed refusal, with nothing lost`() throws {
    try expectNamed(SimulatedFCM.self)
    try expectNamed(SimulatedHMS.self)
    try expectNamed(SimulatedWNS.self)
    try expectNamed(SimulatedWebPush.self)
    try expectNamed(SimulatedSMS.self)
  }

  private func expectNamed<Service: SteerableService>(_ service: Service.Type) throws
  where Service.Refusal: ListedRefusal {
    for (requests, listed) in [
      (nil as String?, Service.Refusal.listed), (RuleBody.tokenRequests, Service.Refusal.listedForTokens),
    ] {
      for refusal in listed {
        var rule = try JSONCoding.decode(RuleBody.self, from: #"{"reply":"refuse"}"#.utf8)
        rule.requests = requests
        refusal.describe(in: &rule)
        // Without a reason there must be no other of this status.
        #expect(try Service.Refusal(rule) == refusal, "\(Service.serviceName) \(refusal.status) \(refusal.reason)")
      }
    }
  }
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

  var isAccepted: Bool { status / 100 == 2 && [nil, "80000000", "received"].contains(reason) }
}

/// Sends to each simulated service what it accepts unless a rule is against it.
private struct ServiceClients {
  var apns: Requester
  var fcm: FCMRequester
  var hms: HMSRequester
  var wns: WNSRequester
  var webPush: WebPushRequester
  var hmsToken: String
  var wnsToken: String

  static let hmsForm = "grant_type=client_credentials&client_id=1&client_secret=secret"
  static let wnsForm =
    "grant_type=client_credentials&client_id=ms-app%3A%2F%2Fs-1&client_secret=secret&scope=notify.windows.com"

  /// Asks the service's token endpoint for an access token.
  func signIn(_ service: String) async throws -> ServiceAnswer {
    switch service {
    case "fcm":
      let answer = try await fcm.askForToken(try TestAssertion(fcm.account).form)
      let error = answer.json["error"]
      return ServiceAnswer(
        answer.status, error?.text ?? error?["status"]?.text, retryAfter: answer.headers.first(name: "retry-after"))
    case "hms":
      let (status, json, headers) = try await hms.post(HuaweiTokenRequest.path, Self.hmsForm, form: true)
      return ServiceAnswer(
        status, json.integer("error").map(String.init), retryAfter: headers.first(name: "retry-after"))
    default:
      let answer = try await wns.post(
        "/accesstoken.srf", Self.wnsForm, [("content-type", "application/x-www-form-urlencoded")], bearer: nil)
      let json = try JSONValue(json: Array(answer.body.utf8))
      return ServiceAnswer(
        Int(answer.status), json.string("error"), retryAfter: answer.headers.first(name: "retry-after"))
    }
  }

  func send(_ service: String, _ token: String) async throws -> ServiceAnswer {
    switch service {
    case "apns":
      var request = TestRequest()
      request.path = "/3/device/" + token
      let answer = try await apns.answer(request)
      return ServiceAnswer(answer.status, answer.reason)
    case "fcm":
      let answer = try await fcm.send(FCMRequester.body(token: token))
      return ServiceAnswer(
        answer.status, answer.errorCode?.text ?? answer.name?.text,
        retryAfter: answer.headers.first(name: "retry-after"))
    case "hms":
      let (status, json, headers) = try await hms.post(
        "/v1/1/messages:send", #"{"message":{"data":"{}","token":["\#(token)"]}}"#, authorization: "Bearer \(hmsToken)")
      return ServiceAnswer(status, json.string("code"), retryAfter: headers.first(name: "retry-after"))
    case "wns":
      let raw = [("x-wns-type", "wns/raw"), ("content-type", "application/octet-stream")]
      let answer = try await wns.post("/?token=\(token)", "x", raw, bearer: wnsToken)
      let headers = answer.headers
      return ServiceAnswer(
        Int(answer.status),
        headers.first(name: "x-wns-notificationstatus") ?? headers.first(name: "x-wns-error-description"),
        retryAfter: headers.first(name: "x-wns-continue-after"))
    default:
      let browser = apns.simulator.webPush.subscription(named: token, vapidKey: webPush.sender.vapidKey)
      let answer = try await webPush.push(try WebPushSender.sealed("Hello", for: browser), to: browser.endpoint)
      return ServiceAnswer(
        answer.status, answer.errno.map { "\($0)" }, retryAfter: answer.headers.first(name: "retry-after"))
    }
  }
}

/// Asks the phone page's server.
private struct Phone {
  let client: HTTPClient
  let url: String

  func ask(
    _ method: HTTPMethod, _ path: String, _ body: String? = nil
  ) async throws -> (status: UInt, json: JSONValue, text: String) {
    var sent = HTTPClientRequest(url: url + path)
    sent.method = method
    if let body {
      sent.headers.add(name: "content-type", value: "application/json")
      sent.body = .bytes(ByteBuffer(string: body))
    }
    let response = try await client.execute(sent, timeout: .seconds(600))
    let text = String(buffer: try await response.body.collect(upTo: 1 << 16))
    return (response.status.code, (try? JSONValue(json: Array(text.utf8))) ?? .null, text)
  }
}
