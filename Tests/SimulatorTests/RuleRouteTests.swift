import AsyncHTTPClient
import FoundationEssentials
import NIOHTTP1
import Support
import Testing
import Wire

@testable import Simulator

/// The routes for rules and orders, for each simulated service.
@Suite struct RuleRouteTests {
  private static let services = ServiceClients.services

  @Test(
    arguments: [
      (.apns, #""status":429,"reason":"TooManyRequests""#, ServiceAnswer(429, "TooManyRequests")),
      (.fcm, #""status":404,"reason":"UNREGISTERED""#, ServiceAnswer(404, "UNREGISTERED")),
      (.fcm, #""reason":"QUOTA_EXCEEDED","retryAfter":"60""#, ServiceAnswer(429, "QUOTA_EXCEEDED", retryAfter: "60")),
      (.fcm, #""reason":"INVALID_ARGUMENT message.data[0].value""#, ServiceAnswer(400, "INVALID_ARGUMENT")),
      (.fcm, #""reason":"NOT_FOUND""#, ServiceAnswer(404, "NOT_FOUND")),
      (.fcm, #""reason":"APNS_AUTH_ERROR""#, ServiceAnswer(401, "APNS_AUTH_ERROR")),
      (.fcm, #""status":502"#, ServiceAnswer(502, nil)),
      (.hms, #""status":200,"reason":"80300007""#, ServiceAnswer(200, "80300007")),
      (.hms, #""status":404"#, ServiceAnswer(404, nil)),
      (.hms, #""status":500,"reason":"""#, ServiceAnswer(500, nil)),
      (.hms, #""status":503,"retryAfter":"7""#, ServiceAnswer(503, nil, retryAfter: "7")),
      (.hms, #""status":503,"retryAfter":7"#, ServiceAnswer(503, nil, retryAfter: "7")),
      (.wns, #""status":406,"retryAfter":"9""#, ServiceAnswer(406, nil, retryAfter: "9")),
      (.wns, #""reason":"dropped""#, ServiceAnswer(200, "dropped")),
      (.webpush, #""status":410,"reason":"106""#, ServiceAnswer(410, "106")),
      (.webpush, #""status":429,"retryAfter":"5""#, ServiceAnswer(429, nil, retryAfter: "5")),
      (.webpush, #""reason":"901""#, ServiceAnswer(502, "901")),
      (.webpush, #""reason":"BadJwtToken""#, ServiceAnswer(403, nil)),
      (.webpush, #""status":308"#, ServiceAnswer(308, nil)),
    ] as [(PushServiceName, String, ServiceAnswer)])
  func `A rule refuses the requests of its service that match, as often as it says`(
    service: PushServiceName, refusal: String, answer: ServiceAnswer
  ) async throws {
    try await withServices { _, clients, phone in
      let rule = #"{"service":"\#(service)","tokenPrefix":"ab","times":1,"reply":"refuse",\#(refusal)}"#
      let added = try await phone.ask(.POST, "/rules", rule)
      #expect(added.status == 201 && added.json["number"] == 1)
      for other in Self.services where other != service { #expect(try await clients.send(other, "ab01").isAccepted) }
      #expect(try await clients.send(service, "cd01").isAccepted)
      // Refused by a check, so the rule does not count it.
      #expect(try await clients.send(service, "ab01", isValid: false).status == 400)
      #expect(try await clients.send(service, "ab01") == answer)
      #expect(try await clients.send(service, "ab01").isAccepted)
    }
  }

  @Test(arguments: services)
  func `Rules are listed and removed for one service, and a listed rule can be added again`(
    service: PushServiceName
  ) async throws {
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
      #expect(rule["service"] == .string(service.rawValue) && rule["nth"] == 2 && rule["status"] == 500)
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
  private static let internalError: [PushServiceName: String] = [
    .apns: "InternalServerError", .fcm: "INTERNAL", .hms: "81000001", .webpush: "999",
  ]

  @Test(arguments: services)
  func `Connections are counted for one service, and take its orders`(service: PushServiceName) async throws {
    try await withServices { simulator, clients, phone in
      func counts() async throws -> JSONValue { try await phone.ask(.GET, "/connections?service=\(service)").json }
      let before = try #require(try await counts().integer("opened"))
      let rule = #"{"service":"\#(service)","reply":"ignore"}"#
      #expect(try await phone.ask(.POST, "/rules", rule).status == 201)
      async let answer = clients.send(service, "ab01")
      await Self.awaitRequest(simulator.simulated(service))
      // The clients of services with access tokens have signed in on it.
      let during = try await counts()
      #expect(during["open"] == 1 && during["opened"] == 1 && during["streamsBeyondLimit"] == 0)
      #expect(before == (service.takesAccessTokens ? 1 : 0))
      let order = #"{"service":"\#(service)","order":"answerIgnored"}"#
      #expect(try await phone.ask(.POST, "/connections", order).status == 204)
      #expect(try await answer.isAccepted)
    }
  }

  private static func awaitRequest(_ service: some SimulatedService) async { _ = await service.received(count: 1) }

  @Test(
    arguments: [
      (.fcm, "push@", #""reason":"invalid_grant""#, ServiceAnswer(400, "invalid_grant")),
      (.fcm, "push@", #""status":503,"retryAfter":"7""#, ServiceAnswer(503, "UNAVAILABLE", retryAfter: "7")),
      (.hms, "1", #""reason":"1101""#, ServiceAnswer(400, "1101")),
      (.hms, "1", #""status":503,"retryAfter":"7""#, ServiceAnswer(503, nil, retryAfter: "7")),
      (.wns, "ms-app://", #""status":401"#, ServiceAnswer(401, "invalid_client")),
      (
        .wns, "ms-app://", #""status":503,"retryAfter":"7""#,
        ServiceAnswer(503, "temporarily_unavailable", retryAfter: "7")
      ),
    ] as [(PushServiceName, String, String, ServiceAnswer)])
  func `A rule for token requests refuses those of its client, as often as it says, and no push`(
    service: PushServiceName, client: String, refusal: String, answer: ServiceAnswer
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

  @Test func `Only a body in JSON is taken, and only an order that there is`() async throws {
    try await withServices { simulator, clients, phone in
      let rule = Array(#"{"reply":"cut"}"#.utf8)
      #expect(
        try await phone.client.ask(.POST, phone.url + "/rules", [("content-type", "text/plain")], rule).status == 415)
      #expect(try await phone.ask(.POST, "/rules", #"{"reply":"accept","delayMilliseconds":1}"#).status == 201)
      #expect(try await clients.send(.apns, "ab01").isAccepted)
      for order in [#"{"order":"limitStreams"}"#, #"{"order":"dance"}"#] {
        #expect(try await phone.ask(.POST, "/connections", order).status == 400)
      }
      #expect(simulator.apns.openConnections == 1)
      #expect(try await phone.ask(.POST, "/connections", #"{"order":"cut"}"#).status == 204)
      try await waitUntil { simulator.apns.openConnections == 0 }
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
      let services = PushServiceName.allCases.map(\.rawValue).joined(separator: ", ")
      for answer in answers {
        #expect(answer.status == 400)
        #expect(answer.text.contains("There is no service email. Give one of: \(services)."))
      }
      let two = try await phone.ask(.POST, "/rules?service=fcm", #"{"service":"hms","reply":"cut"}"#)
      #expect(two.status == 400 && two.text.contains("The query's service is fcm, and the body's is hms."))
      #expect(simulator.apns.traffic.rules.entries.isEmpty && simulator.fcm.traffic.rules.entries.isEmpty)
      #expect(simulator.hms.traffic.rules.entries.isEmpty)
    }
  }

  @Test func `A rule that its service cannot keep gets an error that says what it can`() async throws {
    try await withServices { simulator, _, phone in
      for (rule, problem, remedy) in [
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
          #"{"service":"fcm","requests":"token","reply":"accept","tokenPrefix":"a"}"#, "The member tokenPrefix",
          "for fcm"
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
      ] as [(String, String, String)] {
        let answer = try await phone.ask(.POST, "/rules", rule)
        #expect(answer.status == 400, "\(rule)")
        #expect(answer.text.contains(problem) && (remedy.isEmpty || answer.text.contains(remedy)), "\(answer.text)")
        for name in Self.services { #expect(try await phone.ask(.GET, "/rules?service=\(name)").text == "[]") }
      }
    }
  }

  @Test func `Every rule survives a round trip through JSON`() throws {
    let replies: [SimulatedAPNs.Reply] = [
      .accept, .ignore, .refuseStream, .resetStream, .cut, .goAway(), .goAway(reason: "Shutdown"),
      .refuse(status: 410, reason: "Unregistered", since: Date(timeIntervalSince1970: 1_700_000_000)),
      .after(.milliseconds(250), .refuse(status: 500, reason: "InternalServerError")),
    ]
    for reply in replies {
      let match = RequestMatch(prefix: "ab", environment: .sandbox, nth: 2)
      let entry = ReplyRules<APNsRefusal>.Entry(number: 1, match: match, reply: reply, times: 3)
      let body = try JSONCoding.decode(RuleBody.self, from: JSONCoding.encode(RuleBody(entry, service: "apns")))
      #expect(try body.reply(of: APNsRefusal.self) == reply)
      #expect(RequestMatch(body, members: [.environment]) == match)
      #expect(body.times == 3)
    }
  }

  @Test func `Status and reason name each listed refusal, with nothing lost`() throws {
    var withoutList: [PushServiceName] = []
    for kind in PushSimulator.kinds {
      if let refusal = Self.listedRefusal(of: kind) {
        try expectNamed(refusal)
      } else {
        withoutList.append(kind.service)
      }
    }
    // APNs takes any reason.
    #expect(withoutList == [.apns])
  }

  private static func listedRefusal<Service: SteerableService>(of _: Service.Type) -> (any ListedRefusal.Type)? {
    Service.Refusal.self as? any ListedRefusal.Type
  }

  private func expectNamed<Refusal: ListedRefusal>(_: Refusal.Type) throws {
    for (requests, listed) in [
      (nil as String?, Refusal.listed), (RuleBody.tokenRequests, Refusal.listedForTokens),
    ] {
      for refusal in listed {
        var rule = try JSONCoding.decode(RuleBody.self, from: #"{"reply":"refuse"}"#.utf8)
        rule.requests = requests
        refusal.describe(in: &rule)
        // Without a reason there must be no other of this status.
        #expect(try Refusal(rule) == refusal, "\(Refusal.self) \(refusal.status) \(refusal.reason)")
      }
    }
  }
}
