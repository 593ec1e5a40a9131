import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// What providers answer, and what comes of it.
@Suite struct SMSSendingTests {
  private static let number = "+31612345678"

  // MARK: CM

  @Test(
    arguments: [
      (301, .payloadRefused(reason: "301 sender invalid")), (302, .payloadRefused(reason: "302 recipient invalid")),
      (303, .tokenInvalid(.unregistered, since: nil, reason: "303 number invalid")),
      (304, .payloadRefused(reason: "304 body invalid")), (305, .payloadRefused(reason: "305 field invalid")),
      (401, .payloadRefused(reason: "401 filtered as spam")), (403, .payloadRefused(reason: "403 rejected")),
      (500, .retry(after: nil, reason: "500 internal error")), (999, .retry(after: nil, reason: "999 unknown error")),
      (777, .payloadRefused(reason: "777")),
    ] as [(Int, Verdict)])
  func `Each code that CM gives one message has its verdict, and the request's others are taken`(
    code: Int, verdict: Verdict
  ) async throws {
    try await withAPNs { simulator, services in
      let account = services.cm(simulator)
      simulator.sms.rule(.prefix("31600"), .refuse(.message(code)))
      #expect(await account.smsVerdicts(of: [("+31600000001", "Hi"), (Self.number, "Ho")]) == [verdict, .accepted])
      #expect(simulator.sms.count == 1)
    }
  }

  @Test(
    arguments: [
      (101, .credentialsRefused(reason: "101 authentication failed")),
      (102, .credentialsRefused(reason: "102 balance insufficient")),
      (103, .credentialsRefused(reason: "103 API key incorrect")),
      (202, .payloadRefused(reason: "202 request malformed")), (203, .payloadRefused(reason: "203 messages incorrect")),
      (201, .uncertain(reason: "201 not all sent", isAnswered: true)),
      (500, .retry(after: nil, reason: "500 internal error")),
      (999, .retry(after: nil, reason: "999 unknown error")), (888, .payloadRefused(reason: "888")),
    ] as [(Int, Verdict)])
  func `Each code that CM gives a whole request has its verdict`(code: Int, verdict: Verdict) async throws {
    try await withAPNs { simulator, services in
      let account = services.cm(simulator)
      simulator.sms.rule(.any, .refuse(.code(code)))
      #expect(await account.smsVerdicts(of: [(Self.number, "Hi"), (Self.number, "Ho")]) == [verdict, verdict])
    }
  }

  @Test func `Every code of CM and of Twilio is in these tests`() {
    #expect(
      CMCode.allCases.map(\.rawValue) == [
        0, 101, 102, 103, 201, 202, 203, 301, 302, 303, 304, 305, 401, 402, 403, 500, 999,
      ])
    #expect(
      Set(TwilioCode.allCases.map(\.rawValue)) == [
        20003, 20404, 20429, 21211, 21408, 21602, 21603, 21604, 21606, 21608, 21610, 21612, 21614, 21617,
      ])
  }

  @Test func `A number that has opted out is told so, and dated`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withAPNs(now: { now }) { simulator, services in
      simulator.sms.rule(.any, .refuse(.message(402)))
      #expect(
        await services.cm(simulator).smsVerdicts(of: [(Self.number, "Hi")])
          == [.tokenInvalid(.optedOut, since: now, reason: "402 opted out")])
      simulator.sms.removeRules()
      simulator.sms.rule(.any, .refuse(.message(21610)))
      #expect(
        await services.twilio(simulator).smsVerdicts(of: [(Self.number, "Hi")])
          == [.tokenInvalid(.optedOut, since: now, reason: "21610 opted out")])
    }
  }

  @Test(
    arguments: [
      (200, .uncertain(reason: "HTTP200", isAnswered: true)), (302, .credentialsRefused(reason: "HTTP302")),
      (400, .payloadRefused(reason: "HTTP400")), (401, .credentialsRefused(reason: "HTTP401")),
      (404, .credentialsRefused(reason: "HTTP404")),
      (429, .retry(after: .seconds(7), reason: "HTTP429", appliesToService: true)),
      (500, .retry(after: .seconds(7), reason: "HTTP500")),
      (503, .retry(after: .seconds(7), reason: "HTTP503", appliesToService: true)),
    ] as [(Int, Verdict)])
  func `A reply without a code goes by its status`(status: Int, verdict: Verdict) async throws {
    try await withAPNs { simulator, services in
      simulator.sms.rule(.any, .refuse(.status(status, retryAfter: "7")))
      #expect(await services.cm(simulator).smsVerdicts(of: [(Self.number, "Hi")]) == [verdict])
      if status != 200 {
        #expect(await services.twilio(simulator).smsVerdicts(of: [(Self.number, "Hi")]) == [verdict])
      }
    }
  }

  @Test func `A message without an answer is uncertain`() async throws {
    try await withAPNs(provider: { $0.requestTimeout = .milliseconds(300) }) { simulator, services in
      simulator.sms.rule(.any, .ignore)
      for account in [services.cm(simulator), services.twilio(simulator)] {
        #expect(await account.smsVerdicts(of: [(Self.number, "Hi")]) == [.uncertain(reason: "RequestTimeout")])
      }
    }
  }

  @Test func `A thousand personal texts share a request to CM, and each gets its own`() async throws {
    try await withAPNs { simulator, services in
      let account = services.cm(simulator)
      let pushes = (0..<1500).map { ("+3161\(2_345_678 + $0)", "Hi \($0)") }
      #expect(await account.smsVerdicts(of: pushes) == Array(repeating: .accepted, count: 1500))
      #expect(simulator.sms.requests.map(\.messages.count).sorted() == [500, 1000])
      #expect(Set(simulator.sms.messages.map { "+\($0.to) \($0.text)" }) == Set(pushes.map { "\($0.0) \($0.1)" }))
    }
  }

  @Test func `What CM gets says sender, coding, parts, validity and a reference of letters and digits`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withAPNs(now: { now }) { simulator, services in
      let account = services.cm(simulator)
      var message = RenderedMessage(alert: JSONText.quoted("ignored"))
      message.overrides = [
        "sms": ["from": "Shop", "text": .string(String(repeating: "ж", count: 200)), "maximumParts": 2]
      ]
      var push = OutgoingPush(token: Self.number, id: pushID(sendout: 77, push: 5), message: message)
      push.lifetime = PushLifetime(until: now.addingTimeInterval(90), asked: 90, at: now)
      guard case .request(let request) = account.prepare(push) else { throw CancellationError() }
      #expect(request.reductions == .alertShortened)
      #expect(account.preview(request, to: .production).parts == SMSParts(count: 2, most: 2))
      for await _ in account.send([request], to: .production, while: { true }) {}
      let got = simulator.sms.messages[0]
      #expect(got.from == "Shop" && got.text == String(repeating: "ж", count: 132) && got.parts == 2 && got.isUnicode)
      #expect(
        got.to == "31612345678"
          && SMSReference(got.reference)?.sendout == SendoutID(77) && SMSReference(got.reference)?.push == PushNumber(5)
      )
      let body = try JSONValue(json: simulator.sms.requests[0].payload)
      guard case .array(let list) = body["messages"]?["msg"] else { throw CancellationError() }
      #expect(list[0]["validity"] == "1m" && list[0]["allowedChannels"] == ["SMS"])
    }
  }

  @Test func `A message without a text or with a sender that is none is not sent`() async throws {
    try await withAPNs { simulator, services in
      let account = services.cm(simulator)
      #expect(account.refusal(of: RenderedMessage()) == .payloadRefused(reason: "NoText"))
      var message = RenderedMessage(alert: JSONText.quoted("Hi"))
      message.overrides = ["sms": ["from": "A sender that is too long"]]
      #expect(account.refusal(of: message) == .payloadRefused(reason: "BadOverride from"))
      #expect(simulator.sms.count == 0)
    }
  }

  @Test func `A text is composed on its way, and one that can be no SMS is not sent`() async throws {
    try await withAPNs { simulator, services in
      let large = "👩" + String(repeating: "\u{200D}👩", count: 200)
      let marks = "x" + String(repeating: "\u{301}", count: 31)
      for account in [services.cm(simulator), services.twilio(simulator)] {
        let pushes = [
          (Self.number, "Jose\u{301}"), (Self.number, large), (Self.number, marks), (Self.number, "Hi \(large)"),
        ]
        var verdicts: [Verdict?] = []
        for push in pushes { verdicts += await account.smsVerdicts(of: [push]) }
        #expect(verdicts == [.accepted, nil, nil, .accepted])
        for (text, reason) in [(large, "CharacterTooLarge"), (marks, "TooManyMarks")] {
          let message = RenderedMessage(alert: JSONText.quoted(text))
          #expect(account.refusal(of: message) == .payloadRefused(reason: reason))
        }
      }
      let texts = simulator.sms.messages.map { Array($0.text.unicodeScalars) }
      #expect(texts == [["J", "o", "s", "é"], ["H", "i", " "], ["J", "o", "s", "é"], ["H", "i", " "]])
      #expect(simulator.sms.messages[0].isUnicode == false)
      let override = MessageOverrides(sms: SMSOverride(text: large))
      #expect(PushServices.problem(in: override)?.field == "sms.text")
      #expect(PushServices.problem(in: MessageOverrides(sms: SMSOverride(text: "\(large){{a}}"))) == nil)
    }
  }

  // MARK: Twilio

  @Test(
    arguments: [
      (20003, .credentialsRefused(reason: "20003 authentication failed")),
      (20404, .credentialsRefused(reason: "20404 account not found")),
      (20429, .retry(after: nil, reason: "20429 too many requests")),
      (21211, .tokenInvalid(.unregistered, since: nil, reason: "21211 number invalid")),
      (21408, .payloadRefused(reason: "21408 country not enabled")),
      (21602, .payloadRefused(reason: "21602 body missing")),
      (21603, .credentialsRefused(reason: "21603 sender missing")),
      (21604, .payloadRefused(reason: "21604 number missing")),
      (21606, .credentialsRefused(reason: "21606 sender is not the account's")),
      (21608, .credentialsRefused(reason: "21608 trial account")),
      (21612, .payloadRefused(reason: "21612 not routable from this sender")),
      (21614, .tokenInvalid(.unregistered, since: nil, reason: "21614 no mobile number")),
      (21617, .payloadRefused(reason: "21617 body too long")), (29999, .payloadRefused(reason: "29999")),
    ] as [(Int, Verdict)])
  func `Each code of Twilio has its verdict`(code: Int, verdict: Verdict) async throws {
    try await withAPNs { simulator, services in
      simulator.sms.rule(.any, .refuse(.message(code)))
      #expect(await services.twilio(simulator).smsVerdicts(of: [(Self.number, "Hi")]) == [verdict])
    }
  }

  @Test(arguments: [(21603, "21603 sender missing"), (21606, "21606 sender is not the account's")])
  func `A sender that a message names is the message's fault, and the account's own is the account's`(
    code: Int, reason: String
  ) async throws {
    try await withAPNs { simulator, services in
      simulator.sms.rule(.any, .refuse(.message(code)))
      let twilio = services.twilio(simulator)
      #expect(await twilio.smsVerdicts(of: [(Self.number, "Hi")], from: "Wrong") == [.payloadRefused(reason: reason)])
      #expect(
        await twilio.smsVerdicts(of: [(Self.number, "Hi")], from: "+15005550006")
          == [.credentialsRefused(reason: reason)])
    }
  }

  @Test func `Twilio gets number, sender, text and where to report it`() async throws {
    try await withAPNs { simulator, services in
      let account = services.twilio(simulator)
      #expect(
        await account.smsVerdicts(of: [(Self.number, "Hi & bye + 1 €"), ("+442071838750", "Ho")]) == [
          .accepted, .accepted,
        ])
      let got = simulator.sms.messages.first { $0.to == "31612345678" }
      #expect(got?.text == "Hi & bye + 1 €" && got?.from == "+15005550006" && got?.isTwilio == true)
      #expect(got?.statusURL == "https://hub.example/sms/status/1-token?reference=10000001")
    }
  }

  // MARK: Both

  @Test func `The wrong sign-in is refused, and so it is when the credentials are checked`() async throws {
    try await withAPNs { simulator, services in
      let cm = services.cm(simulator, productToken: "wrong")
      #expect(
        await cm.smsVerdicts(of: [(Self.number, "Hi")]) == [.credentialsRefused(reason: "101 authentication failed")])
      #expect(await cm.check(.production) == .refused(reason: "101 authentication failed"))
      #expect(cm.advice(on: "101 authentication failed")?.contains("product token") == true)
      let twilio = services.twilio(simulator, authToken: "wrong")
      #expect(
        await twilio.smsVerdicts(of: [(Self.number, "Hi")]) == [
          .credentialsRefused(reason: "20003 authentication failed")
        ]
      )
      #expect(await twilio.check(.production) == .refused(reason: "20003 authentication failed"))
    }
  }

  @Test func `A check sends no message`() async throws {
    try await withAPNs { simulator, services in
      #expect(await services.cm(simulator).check(.production) == .accepted)
      #expect(await services.twilio(simulator).check(.production) == .accepted)
      #expect(simulator.sms.messages.isEmpty)
    }
  }

  @Test func `A hundred accounts that are checked, and some that sent, leave no connection open`() async throws {
    try await withAPNs { simulator, services in
      for number in 1...100 {
        let account = services.cm(simulator, productToken: number % 2 == 0 ? "sesame-cm" : "wrong \(number)")
        #expect(
          await account.check(.production)
            == (number % 2 == 0 ? .accepted : .refused(reason: "101 authentication failed")))
      }
      try await waitUntil { simulator.sms.openConnections == 0 }
      #expect(await services.cm(simulator).smsVerdicts(of: [(Self.number, "Hi")]) == [.accepted])
      #expect(simulator.sms.openConnections == 1)
      services.credentialsChanged(of: CustomerID(2))
      #expect(await services.cm(simulator).smsVerdicts(of: [(Self.number, "Hi")]) == [.accepted])
      #expect(simulator.sms.openConnections == 1)
      services.credentialsChanged(of: CustomerID(1))
      try await waitUntil { simulator.sms.openConnections == 0 }
    }
  }

  @Test func `A provider that does not answer has its customer's places, and nobody else's`() async throws {
    try await withAPNs(provider: { $0.placeTimeout = .zero }) { simulator, services in
      let silent = services.twilio(simulator)
      simulator.sms.rule(.prefix("31600"), .ignore)
      var requests: [PushRequest] = []
      for number in 0..<600 {
        let push = OutgoingPush(
          token: "+31600\(100_000 + number)", id: pushID(sendout: 1, push: Int64(number)),
          message: RenderedMessage(alert: JSONText.quoted("Hi")))
        guard case .request(let request) = silent.prepare(push) else { throw CancellationError() }
        requests.append(request)
      }
      let outcomes = silent.send(requests, to: .production, while: { true })
      var without = 0
      for await group in outcomes {
        #expect(group.allSatisfy { $0.verdict == .unsent(reason: .hub(.noPlace)) })
        without += group.count
        if without == 600 - 64 { break }
      }
      let account = SMSAccount(provider: .cm(productToken: "sesame-cm"), url: simulator.cmURL, sender: "Acme")
      simulator.sms.register(productToken: "sesame-cm")
      let other = services.account(appID: "sms", of: CustomerID(2), credentials: .sms(account))
      #expect(await other.smsVerdicts(of: [(Self.number, "Hi")]) == [.accepted])
      simulator.sms.removeRules()
      simulator.sms.answerIgnored()
    }
  }

  @Test func `A provider on this machine can speak http`() async throws {
    try await withAPNs(simulator: { $0.smsIsPlain = true }) { simulator, services in
      #expect(simulator.smsURL.hasPrefix("http://"))
      let pushes = (0..<40).map { ("+3161\(2_345_678 + $0)", "Hi \($0)") }
      #expect(await services.twilio(simulator).smsVerdicts(of: pushes) == Array(repeating: .accepted, count: 40))
      #expect(await services.cm(simulator).smsVerdicts(of: pushes) == Array(repeating: .accepted, count: 40))
    }
  }

  @Test func `A preview shows the request and masks what signs in`() async throws {
    try await withAPNs { simulator, services in
      for account in [services.cm(simulator), services.twilio(simulator)] {
        let push = OutgoingPush(
          token: Self.number, id: UUID(), message: RenderedMessage(alert: JSONText.quoted("Hi there")))
        guard case .request(let request) = account.prepare(push) else { throw CancellationError() }
        let preview = account.preview(request, to: .production)
        let shown = String(decoding: preview.body, as: UTF8.self) + "\(preview.headers)"
        #expect(shown.contains("there") && !shown.contains("sesame"))
      }
    }
  }

  @Test(arguments: [
    "http://sms.example.com/", "https://10.0.0.1/sms", "https://192.168.1.2", "ftp://localhost/", "localhost", "",
    "https://user@sms.example.com/", "https://[fd00::1]/", "http://127.0.0.1.example.com/",
  ])
  func `An address is https and of the internet`(_ url: String) {
    #expect(throws: JSONProblem.self) { try SMSAddress(url: url, .sms) }
  }

  @Test(arguments: [
    "https://localhost/", "https://127.0.0.1/", "http://127.0.0.1:8449/", "http://localhost:80/", "https://[::1]/",
    "https://db.internal/", "https://sms.example.com:8449/",
  ])
  func `Addresses of this machine, and other ports, are allowed by the operator's list alone`(_ url: String) throws {
    #expect(throws: JSONProblem.self) { try SMSAddress(url: url, .sms) }
    var rule = EndpointRule.sms
    rule.listed = HostList(
      "localhost, localhost:80, 127.0.0.1, 127.0.0.1:8449, [::1], db.internal, sms.example.com:8449")
    #expect(try SMSAddress(url: url, rule).mayBePrivate)
    rule.listed = HostList("sms.example.com")
    #expect(throws: JSONProblem.self) { try SMSAddress(url: url, rule) }
  }

  @Test(arguments: [nil, "sms.example.com"])
  func `An account whose address is not allowed any more sends nothing, and says so`(_ list: String?) async throws {
    try await withAPNs(provider: { $0.endpoints.sms.listed = list.flatMap(HostList.init) }) { simulator, services in
      let account = services.cm(simulator)
      let push = OutgoingPush(
        token: Self.number, id: pushID(sendout: 1, push: 1), message: RenderedMessage(alert: JSONText.quoted("Hi")))
      guard case .refused(let verdict) = account.prepare(push) else {
        Issue.record("it is sent")
        return
      }
      #expect(verdict == .credentialsRefused(reason: "HostNotAllowed"))
      // The rest of a slice of which all pushes are refused.
      for await _ in account.send([], to: .production, while: { true }) { Issue.record("it has an outcome") }
      #expect(account.advice(on: "HostNotAllowed")?.contains("PUSHCART_SMS_ALLOWED_HOSTS") == true)
      #expect(await account.check(.production) == .refused(reason: "HostNotAllowed"))
      let call = VoiceCall(
        to: try #require(PhoneNumber("0031612345678")), text: "{{pin}}", code: "1234", language: nil)
      let caller = SMSAccount(
        provider: .cm(productToken: "sesame-cm"), url: simulator.cmURL, voiceURL: simulator.cmVoiceURL, sender: "Acme")
      #expect(await services.call(call, as: caller, of: CustomerID(1)) == nil)
      #expect(simulator.sms.requests.isEmpty && simulator.sms.calls.isEmpty)
    }
  }

  @Test func `The parts of an address are read`() throws {
    var rule = EndpointRule.sms
    rule.listed = HostList("localhost:80, [::1]:8080")
    let plain = try SMSAddress(url: "http://localhost/a?b=c", rule)
    #expect(plain.isPlain && plain.mayBePrivate && plain.port == 80 && plain.path == "/a?b=c")
    let numbered = try SMSAddress(url: "http://[::1]:8080", rule)
    #expect(numbered.mayBePrivate && numbered.port == 8080 && numbered.path == "/")
    let secure = try SMSAddress(url: "https://gw.messaging.cm.com/v1.0/message", .sms)
    #expect(!secure.isPlain && !secure.mayBePrivate && secure.port == 443)
  }

  @Test(arguments: [(1, 0), (1, 1), (4_398_046_511_103, 4_294_967_295), (77, 36)])
  func `A reference names its push and is at most 32 letters and digits`(sendout: Int64, push: Int64) throws {
    let reference = SMSReference(sendout: SendoutID(sendout), push: PushNumber(push))
    #expect(reference.text.utf8.count <= 16 && reference.text.allSatisfy { $0.isLetter || $0.isNumber })
    #expect(SMSReference(reference.text) == reference && SMSReference(reference.text.uppercased()) == reference)
    #expect(SMSReference(pushID: pushID(sendout: sendout, push: push)) == reference)
    let signed = SMSReference(sendout: reference.sendout, push: reference.push, code: "0123456xyz")
    #expect(signed.text.utf8.count <= 32 && signed != reference)
    #expect(SMSReference(signed.text) == signed && SMSReference(signed.text.uppercased()) == signed)
    for junk in [
      "", "1", String(repeating: "1", count: 17), String(repeating: "1", count: 27), "0000000", "-10000001",
      "+10000001", "1+000001", "é0000001",
    ] {
      #expect(SMSReference(junk) == nil, "\(junk)")
    }
  }
}

/// As Delivery names a push.
func pushID(sendout: Int64, push: Int64) -> UUID {
  let (sendout, push) = (UInt64(sendout), UInt64(push))
  let high = 7 << 16 | 0x8000 | sendout >> 30 & 0xFFF
  let low = 0x8000_0000_0000_0000 | (sendout & 0x3FFF_FFFF) << 32 | push & 0xFFFF_FFFF
  return withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) }
}

extension PushServices {
  /// An account at CM that the Simulator knows.
  func cm(_ simulator: PushSimulator, productToken: String = "sesame-cm") -> any PushAccount {
    simulator.sms.register(productToken: "sesame-cm")
    return account(
      appID: "sms", of: CustomerID(1),
      credentials: .sms(SMSAccount(provider: .cm(productToken: productToken), url: simulator.cmURL, sender: "Acme")))
  }

  /// An account at Twilio that the Simulator knows.
  func twilio(_ simulator: PushSimulator, authToken: String = "sesame-twilio") -> any PushAccount {
    simulator.sms.register(accountSID: "AC123", authToken: "sesame-twilio")
    let account = SMSAccount(
      provider: .twilio(accountSID: "AC123", authToken: authToken), url: simulator.twilioURL("AC123"),
      sender: "+15005550006")
    return SMSPushAccount(
      customer: CustomerID(1), account: account, statusURL: "https://hub.example/sms/status/1-token", endpoint: sms)
  }
}

extension PushAccount {
  /// Sends each text to its number, and returns the verdicts in their order.
  /// - Parameter sender: as the messages name it.
  func smsVerdicts(of pushes: [(number: String, text: String)], from sender: String? = nil) async -> [Verdict?] {
    let requests = pushes.enumerated().compactMap { index, push -> PushRequest? in
      var message = RenderedMessage(alert: JSONText.quoted(push.text))
      if let sender { message.overrides = ["sms": ["from": .string(sender)]] }
      let outgoing = OutgoingPush(token: push.number, id: pushID(sendout: 1, push: Int64(index + 1)), message: message)
      if case .request(let request) = prepare(outgoing) { return request }
      return nil
    }
    return await send(requests, to: .production, while: { true }).verdicts(of: pushes.count)
  }

  func refusal(of message: RenderedMessage) -> Verdict? {
    if case .refused(let verdict) = prepare(OutgoingPush(token: "+31612345678", id: UUID(), message: message)) {
      return verdict
    }
    return nil
  }
}
