import Crypto
import FoundationEssentials
import Simulator
import Support
import Locking
import Testing
import Wire

@testable import Providers

/// Pushes to browsers over TLS and HTTP/2.
@Suite struct WebPushSendingTests {
  private static let key = P256.Signing.PrivateKey()

  /// Runs `body` with a hub's account, and the endpoint of each browser's name.
  private static func withBrowsers(
    now: @escaping @Sendable () -> Date = { Date() },
    _ body: (PushSimulator, any PushAccount, (String) -> String) async throws -> Void
  ) async throws {
    try await withSimulator(now: now) { simulator in
      let settings = PushServiceSettings(simulator)
      try await withProvider(settings, now: now) { services in
        let account = services.account(
          appID: "shop", of: CustomerID(1), credentials: .webPush(.sample(key, contact: "mailto:a@acme.com")))
        try await body(simulator, account) { name in
          simulator.webPush.subscription(named: name, vapidKey: VAPIDKey.sample(key).publicKey).json
        }
      }
    }
  }

  private static func push(_ token: String, _ message: RenderedMessage = .init(alert: JSONText.quoted("Hello")))
    -> OutgoingPush
  {
    OutgoingPush(token: token, id: UUID(), collapseKey: "s17", message: message)
  }

  private static func verdicts(_ account: any PushAccount, _ pushes: [OutgoingPush]) async -> [Verdict?] {
    var verdicts = [Verdict?](repeating: nil, count: pushes.count)
    var requests: [(index: Int, request: PushRequest)] = []
    for (index, push) in pushes.enumerated() {
      switch account.prepare(push) {
      case .request(let request): requests.append((index, request))
      case .refused(let verdict): verdicts[index] = verdict
      }
    }
    for await outcomes in account.send(requests.map(\.request), to: .production, while: { true }) {
      for outcome in outcomes { verdicts[requests[outcome.index].index] = outcome.verdict }
    }
    return verdicts
  }

  @Test func `A browser reads what was sent, with its headers`() async throws {
    try await Self.withBrowsers { simulator, account, browser in
      let now = Date()
      var push = Self.push(
        browser("one"),
        RenderedMessage(
          alert: JSONText.quoted("Hello"), info: JSONText.quoted("Lunch"), image: JSONText.quoted("https://a.b/i.png"),
          url: JSONText.quoted("https://a.b/c"),
          fields: [.init(name: JSONText.quoted("table"), value: Array("7".utf8))]))
      push.priority = .normal
      push.lifetime = PushLifetime(until: now.addingTimeInterval(600), asked: 600, at: now)
      #expect(await Self.verdicts(account, [push, Self.push(browser("two"))]) == [.accepted, .accepted])
      let received = simulator.webPush.requests.sorted { $0.token.hasPrefix("one") && !$1.token.hasPrefix("one") }
      try #require(received.count == 2)
      #expect(
        received[0].text.map { String(decoding: $0, as: UTF8.self) }
          == #"{"source":"carma","alert":"Hello","info":"Lunch","url":"https://a.b/c","image":"https://a.b/i.png","#
          + #""tag":"s17","fields":{"table":7}}"#)
      #expect(received[0].header("urgency") == "normal" && received[1].header("urgency") == "high")
      #expect(received[0].header("topic") == "s17")
      #expect(received[0].ttl == 600 && received[1].ttl == 2_419_200)
      #expect(received[0].header("content-encoding") == "aes128gcm")
      // One token for all pushes to an origin.
      #expect(received[0].header("authorization") == received[1].header("authorization"))
    }
  }

  @Test(arguments: [
    ("fade0400", Verdict.payloadRefused(reason: "errno110")), ("fade0401", .retry(after: nil, reason: "errno109")),
    ("fade0404", .tokenInvalid(.unregistered, since: nil, reason: "errno102")),
    ("fade0410", .tokenInvalid(.unregistered, since: nil, reason: "errno106")),
    ("fade0413", .payloadRefused(reason: "errno104")), ("fade0429", .retry(after: nil, reason: "HTTP429")),
    ("fade0500", .retry(after: nil, reason: "errno999")),
    ("fade0503", .retry(after: .seconds(120), reason: "errno201", appliesToService: true)),
    ("fade1503", .retry(after: .seconds(1), reason: "errno201", appliesToService: true)),
  ])
  func `A refusal by the test token is reported as its verdict`(_ name: String, _ verdict: Verdict) async throws {
    try await Self.withBrowsers { _, account, browser in
      #expect(await Self.verdicts(account, [Self.push(browser(name))]) == [verdict])
    }
  }

  /// The fact sheet's table: status and body of the response, and the verdict.
  private static let table: [(SimulatedWebPush.Refusal, Verdict)] = {
    typealias Refusal = SimulatedWebPush.Refusal
    func errno(_ number: Int, _ status: Int) -> Refusal { .errno(number, status: status, "…", retryAfter: "7") }
    func word(_ word: String, _ status: Int) -> Refusal { Refusal(status: status, body: #"{"reason":"\#(word)"}"#) }
    func gone(_ reason: String) -> Verdict { .tokenInvalid(.unregistered, since: nil, reason: reason) }
    func later(_ reason: String, _ status: Int = 500) -> Verdict {
      .retry(after: .seconds(7), reason: reason, appliesToService: status == 503)
    }
    var table: [(Refusal, Verdict)] = []
    for number in [101, 108, 110, 111, 112, 113] {
      table.append((errno(number, 400), .payloadRefused(reason: "errno\(number)")))
    }
    table += [
      (errno(104, 413), .payloadRefused(reason: "errno104")), (errno(102, 404), gone("errno102")),
      (errno(103, 410), gone("errno103")), (errno(105, 410), gone("errno105")), (errno(106, 410), gone("errno106")),
      (errno(109, 401), later("errno109")), (errno(201, 503), later("errno201", 503)),
      (errno(202, 503), later("errno202", 503)), (errno(999, 500), later("errno999")),
    ]
    for number in 900...903 { table.append((errno(number, 502), later("errno\(number)"))) }
    for status in [400, 403] {
      table.append(
        (word("VapidPkHashMismatch", status), .tokenInvalid(.wrongApp, since: nil, reason: "VapidPkHashMismatch")))
    }
    table += [
      (word("BadJwtToken", 403), .retry(after: nil, reason: "BadJwtToken")),
      (word("ExpiredJwtToken", 403), .retry(after: nil, reason: "ExpiredJwtToken")),
      (
        Refusal(
          status: 403,
          body:
            "the VAPID credentials in the authorization header do not correspond to the credentials used to create the "
            + "subscriptions."), .tokenInvalid(.wrongApp, since: nil, reason: "VapidPkHashMismatch")
      ),
    ]
    // What nobody documents goes by the status.
    for status in [300, 301, 302, 303, 307, 308, 400, 402, 405, 409, 411, 413, 415, 422] {
      table.append((Refusal(status: status, body: "<html>"), .payloadRefused(reason: "HTTP\(status)")))
    }
    for status in [401, 403] {
      table.append((Refusal(status: status, body: "<html>"), .retry(after: nil, reason: "HTTP\(status)")))
    }
    for status in [404, 410] { table.append((Refusal(status: status, body: ""), gone("HTTP\(status)"))) }
    for status in [406, 408, 429, 500, 502, 503, 504, 599] {
      table.append((Refusal(status: status, body: "", retryAfter: "7"), later("HTTP\(status)", status)))
    }
    table += [
      (word("NewWord", 400), .payloadRefused(reason: "NewWord")), (errno(777, 404), gone("HTTP404")),
      (word("NewWord", 503), .retry(after: nil, reason: "NewWord")),
    ]
    return table
  }()

  @Test func `Every row of the push services' tables leads to its verdict`() async throws {
    try await Self.withBrowsers { simulator, account, browser in
      for (refusal, verdict) in Self.table {
        simulator.webPush.rule(.any, .refuse(refusal))
        let verdicts = await Self.verdicts(account, [Self.push(browser("one"))])
        #expect(verdicts == [verdict], "\(refusal.status) \(refusal.body)")
        simulator.webPush.removeRules()
      }
      let words = Set(
        Self.table.map(\.1).map { "\($0)" }.joined().split { !$0.isLetter && !$0.isNumber }.map(String.init))
      #expect(MozillaErrno.allCases.allSatisfy { words.contains($0.reason) })
      #expect(AppleWebPushReason.allCases.allSatisfy { words.contains($0.rawValue) })
    }
  }

  @Test func `No answer refuses an app's key, and a stranger's server cannot blame it for a wrong one`() throws {
    func verdict(at host: String, _ status: Int, _ body: String = "") throws -> Verdict {
      let origin = ServiceAddress(host: host, port: 443)
      let description = WebPushDescription(origin, nil, .webPush, now: { Date() })
      return description.classification(
        of: ServiceResponse(status: status, body: Array(body.utf8)),
        to: PushRequest(headers: RequestHeaders(), body: [])
      ).verdict
    }
    let mismatch = #"{"reason":"VapidPkHashMismatch"}"#
    #expect(try verdict(at: "web.push.apple.com", 401) == .retry(after: nil, reason: "HTTP401"))
    #expect(try verdict(at: "push.example.com", 401) == .retry(after: nil, reason: "HTTP401"))
    #expect(
      try verdict(at: "web.push.apple.com", 403, mismatch)
        == .tokenInvalid(.wrongApp, since: nil, reason: "VapidPkHashMismatch"))
    #expect(
      try verdict(at: "push.example.com", 403, mismatch)
        == .tokenInvalid(.unregistered, since: nil, reason: "VapidPkHashMismatch"))
    // What a server likes to write does not get into the ledger.
    let essay = #"{"reason":"bought from us, see https://evil.example"}"#
    #expect(try verdict(at: "push.example.com", 403, essay) == .retry(after: nil, reason: "HTTP403"))
  }

  @Test func `An override changes the headers, and a preview shows the text`() async throws {
    try await Self.withBrowsers { simulator, account, browser in
      var push = Self.push(browser("one"), RenderedMessage(alert: JSONText.quoted("Hello")))
      push.message.overrides = ["webpush": ["headers": ["TTL": "60", "Urgency": "low", "Topic": .null]]]
      let request = try #require(account.prepare(push).request)
      let preview = account.preview(request, to: .production)
      #expect(String(decoding: preview.body, as: UTF8.self) == #"{"source":"carma","alert":"Hello","tag":"s17"}"#)
      #expect(preview.size == preview.body.count && preview.limit == 3993)
      #expect(preview.headers.first { $0.name == "authorization" }?.value == "vapid …")
      #expect(await Self.verdicts(account, [push]) == [.accepted])
      let received = try #require(simulator.webPush.requests.first)
      #expect(received.ttl == 60 && received.header("urgency") == "low" && received.header("topic") == nil)
      push.message.overrides = ["webpush": ["headers": ["Topic": "a\r\nb: c"]]]
      #expect(await Self.verdicts(account, [push]) == [.payloadRefused(reason: "BadOverride")])
    }
  }

  @Test func `A push that is too large is sent again with less in it`() async throws {
    try await Self.withBrowsers { simulator, account, browser in
      simulator.webPush.rule(.nth(1), .refuse(.tooLarge))
      let message = RenderedMessage(
        alert: JSONText.quoted("Hello"), info: JSONText.quoted("Lunch"),
        fields: [.init(name: JSONText.quoted("long"), value: JSONText.quoted("text"), isOptional: true)])
      let request = try #require(account.prepare(Self.push(browser("one"), message)).request)
      #expect(request.reductions.isEmpty)
      for await outcomes in account.send([request], to: .production, while: { true }) {
        #expect(outcomes.map(\.verdict) == [.accepted])
        #expect(outcomes.map(\.reductions.description) == ["info dropped, optional fields dropped"])
      }
      let texts = simulator.webPush.requests.map { $0.text.map { String(decoding: $0, as: UTF8.self) } }
      #expect(texts.count == 2)
      #expect(texts.last == #"{"source":"carma","alert":"Hello","tag":"s17"}"#)
      // Nothing is left out of it, so nothing is sent again.
      simulator.webPush.removeRules()
      simulator.webPush.rule(.any, .refuse(.tooLarge))
      #expect(await Self.verdicts(account, [Self.push(browser("one"))]) == [.payloadRefused(reason: "errno104")])
      #expect(simulator.webPush.count == 3)
    }
  }

  @Test func `A token is used for eleven hours, and made anew when it is refused`() async throws {
    let time = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    try await Self.withBrowsers(now: { time.withLock { $0 } }) { simulator, account, browser in
      func send() async -> [Verdict?] { await Self.verdicts(account, [Self.push(browser("one"))]) }
      func tokens() -> Int { Set(simulator.webPush.requests.map { $0.header("authorization") }).count }
      #expect(await send() == [.accepted])
      time.withLock { $0 += 11 * 3600 - 1 }
      #expect(await send() == [.accepted])
      #expect(tokens() == 1)
      time.withLock { $0 += 2 }
      #expect(await send() == [.accepted])
      #expect(tokens() == 2)
      simulator.webPush.rule(.nth(1), .refuse(.errno(109, status: 401, "expired")))
      #expect(await send() == [.accepted])
      #expect(tokens() == 3)
    }
  }

  @Test func `A name that leads to a private address is not called, and its token is at fault`() async throws {
    // `localhost` stands for any name of the internet whose answer is a private address.
    try await withSimulator { simulator in
      let settings = PushServiceSettings(simulator)
      let pools = try ConnectionPools(settings, logger: TestServer.logger, now: { Date() })
      let origin = try #require(ServiceAddress(url: simulator.webPushURL))
      let signer = try VAPIDSigner(.sample(Self.key), contact: "mailto:a@acme.com")
      var headers = RequestHeaders()
      headers.add(":path", "/wpush/v2/one")
      let account = PoolKey(
        service: "webpush", environment: .production, credentials: .webPush(.sample(Self.key)))
      let outcomes = pools.send(
        [PushRequest(headers: headers, body: [], origin: origin)], toOriginsOf: account,
        { WebPushDescription($0, signer, .webPush, now: { Date() }) }, while: { true })
      for await outcomes in outcomes {
        #expect(
          outcomes.map(\.verdict) == [.unsent(reason: "AddressNotAllowed")])
      }
      #expect(simulator.webPush.connectionsOpened == 0)
      await pools.shutDown()
    }
  }

  @Test func `What waits for a stranger's slow server comes back at the deadline, though the server answers`()
    async throws
  {
    try await withSimulator(configure: { $0.streamLimits[.webpush] = 1 }) { simulator in
      var settings = PushServiceSettings(simulator)
      settings.connectionsPerPool = 1
      settings.untrustedTimeout = .milliseconds(400)
      // One after the other, all would take ten deadlines.
      simulator.webPush.rule(.any, .after(.milliseconds(80), .accept))
      let pools = try ConnectionPools(settings, logger: TestServer.logger, now: { Date() })
      let rule = settings.endpoints.webPush
      let account = WebPushAccount(
        customer: CustomerID(1), credentials: .sample(Self.key, contact: "mailto:a@acme.com"),
        endpoint: WebPushSender(contact: settings.webPushContact, rule: rule, pools: pools))
      let signer = try account.endpoint.signer(account.credentials)
      let token = simulator.webPush.subscription(
        named: "one", vapidKey: VAPIDKey.sample(Self.key).publicKey
      ).json
      var request = try #require(account.prepare(Self.push(token)).request)
      request.body = try #require(request.source).encrypt()
      let key = PoolKey(service: "webpush", environment: .production, credentials: .webPush(account.credentials))
      var verdicts: [Verdict] = []
      let outcomes = pools.send(
        Array(repeating: request, count: 50), toOriginsOf: key, places: .origins { _ in true },
        { WebPushDescription($0, signer, rule, now: { Date() }) }, while: { true })
      for await outcomes in outcomes { verdicts += outcomes.map(\.verdict) }
      #expect(verdicts.count == 50)
      #expect(verdicts.contains(.unsent(reason: "QueueTimeout")), "\(verdicts)")
      await pools.shutDown()
    }
  }

  @Test
  func `A token that a known service refuses for all browsers is told as the app's fault, and one browser's is not`()
    async throws
  {
    try await Self.withBrowsers { simulator, account, browser in
      func send(_ names: ClosedRange<Int>) async -> [Verdict?] {
        await Self.verdicts(account, names.map { Self.push(browser("b\($0)-")) })
      }
      let refused = SimulatedWebPush.Refusal(status: 401, body: "<html>")
      let (late, told) = (
        Verdict.retry(after: nil, reason: "HTTP401"), Verdict.retry(after: nil, reason: "TokenRefused HTTP401")
      )
      simulator.webPush.rule(.prefix("b1-"), .refuse(refused))
      for _ in 1...6 { #expect(await send(1...1) == [late]) }
      simulator.webPush.removeRules()
      simulator.webPush.rule(.any, .refuse(refused))
      let verdicts = await send(1...30)
      #expect(verdicts.allSatisfy { $0 == late || $0 == told } && verdicts.count { $0 == told } >= 26)
      let outcomes = verdicts.enumerated().map {
        PushOutcome(index: $0.offset, verdict: $0.element ?? late, sentAt: nil)
      }
      #expect(account.warning(on: outcomes)?.hasPrefix("TokenRefused HTTP401: Push services of browsers") == true)
      #expect(account.warning(on: [PushOutcome(index: 0, verdict: late, sentAt: nil)]) == nil)
      simulator.webPush.removeRules()
      #expect(await send(1...30).allSatisfy { $0 == .accepted })
    }
  }

  @Test func `A subscription at a host that a list no longer names gets nothing, and its device stays`() async throws {
    try await Self.withBrowsers { _, account, _ in
      let browser = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
      let token = WebPushSubscription.sample(endpoint: "https://push.example.com/1", publicKey: browser)
      #expect(await Self.verdicts(account, [Self.push(token)]) == [.payloadRefused(reason: "HostNotAllowed")])
    }
  }

  @Test func `Addresses that their text forbids are refused before anything is sent`() async throws {
    try await withProvider(PushServiceSettings()) { services in
      let account = services.account(appID: "shop", of: CustomerID(1), credentials: .webPush(.sample(Self.key)))
      let browser = Array(P256.KeyAgreement.PrivateKey().publicKey.x963Representation)
      for endpoint in ["https://10.0.0.1/1", "https://localhost/1", "https://push.example.com:22/1"] {
        let token = WebPushSubscription.sample(endpoint: endpoint, publicKey: browser)
        guard case .refused(let verdict) = account.prepare(Self.push(token)) else {
          Issue.record("\(endpoint) was not refused")
          continue
        }
        #expect(verdict == .payloadRefused(reason: "HostNotAllowed"))
      }
      for token in ["c0ffee", WebPushSubscription.sample(publicKey: [4] + [UInt8](repeating: 1, count: 64))] {
        guard case .refused(let verdict) = account.prepare(Self.push(token)) else {
          Issue.record("\(token) was not refused")
          continue
        }
        #expect(verdict == .tokenInvalid(.unregistered, since: nil, reason: "BadToken"))
      }
      #expect(
        await account.check(.production)
          == .unasked(reason: "the key can sign, but push services of browsers check it only with a push"))
    }
  }
}
