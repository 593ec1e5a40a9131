import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// Pushes to Windows' push service over TLS, with sign-in.
@Suite struct WNSSendingTests {
  private static let sid = "ms-app://s-1-15-2-7"

  @Test func `A toast arrives at its channel with the headers that WNS asks for`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      let id = UUID()
      let push = OutgoingPush(
        token: simulator.channel("a"), id: id, collapseKey: "s17",
        message: RenderedMessage(alert: JSONText.quoted("Hi")),
        lifetime: PushLifetime(until: Date().addingTimeInterval(3600), asked: 3600, at: Date()))
      #expect(await account.verdicts([push]) == [.accepted])
      let request = try #require(simulator.wns.requests.first)
      #expect(request.channel == simulator.channel("a") && request.account == Self.sid)
      #expect(request.texts == ["Hi"] && request.attribute("launch") == #"{"source":"carma","alert":"Hi"}"#)
      #expect(request.header("x-wns-type") == "wns/toast" && request.header("content-type") == "text/xml")
      #expect(request.header("x-wns-requestforstatus") == "true" && request.header("x-wns-tag") == "s17")
      #expect(request.header("x-wns-ttl") == "3600")
      let bytes = withUnsafeBytes(of: id.uuid) { Data($0) }
      #expect(request.header("ms-cv") == "\(bytes.base64EncodedString().dropLast(2)).1")
    }
  }

  @Test func `A package signs in at one address and a client of Entra at its tenant's, each once`() async throws {
    try await withAPNs { simulator, services in
      let (package, entra) = (services.windows(simulator), services.entra(simulator))
      for account in [package, entra] {
        #expect(await account.verdicts(simulator, ["a", "b"]) == [.accepted, .accepted])
      }
      #expect(simulator.wns.tokenRequests.map(\.path) == ["/accesstoken.srf", "/acme.example/oauth2/v2.0/token"])
      #expect(Set(simulator.wns.requests.map(\.account)) == [Self.sid, "client-7"])
    }
  }

  @Test func `Credentials are checked by a token alone, and a refusal says why`() async throws {
    try await withAPNs { simulator, services in
      #expect(await services.windows(simulator).check(.production) == .accepted)
      #expect(await services.entra(simulator).check(.production) == .accepted)
      #expect(await services.windows(simulator, secret: "x").check(.production) == .refused(reason: "invalid_client"))
      #expect(await services.entra(simulator, secret: "x").check(.production) == .refused(reason: "invalid_client"))
      #expect(
        await services.entra(simulator, tenant: "other.example").check(.production)
          == .refused(reason: "invalid_request"))
      #expect(
        await services.windows(simulator, secret: "x").verdicts(simulator, ["a"]) == [
          .credentialsRefused(reason: "invalid_client")
        ])
      simulator.wns.tokenRule(.any, .refuse(.oauth("server_error", "", status: 503)))
      #expect(await services.windows(simulator).check(.production) == .unreachable(reason: "server_error"))
      #expect(simulator.wns.count == 0)
    }
  }

  @Test func `A check asks anew though a token is at hand`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      #expect(await account.verdicts(simulator, ["a"]) == [.accepted])
      simulator.wns.remove(Self.sid)
      #expect(await account.check(.production) == .refused(reason: "invalid_client"))
    }
  }

  /// WNS' table: what the stand-in answers, and the verdict.
  private static let answers: [(SimulatedWNS.Refusal, Verdict)] = [
    (.status(400), .payloadRefused(reason: "HTTP400")), (.status(401), .credentialsRefused(reason: "HTTP401")),
    (.status(403), .tokenInvalid(.wrongApp, since: nil, reason: "HTTP403")),
    (.status(404), .tokenInvalid(.unregistered, since: nil, reason: "HTTP404")),
    (.status(405), .payloadRefused(reason: "HTTP405")),
    (.status(406), .retry(after: nil, reason: "HTTP406")),
    (.status(406, continueAfter: "30"), .retry(after: .seconds(30), reason: "HTTP406", appliesToService: true)),
    (.status(410), .tokenInvalid(.unregistered, since: nil, reason: "HTTP410")),
    (.status(413), .payloadRefused(reason: "HTTP413")), (.status(500), .retry(after: nil, reason: "HTTP500")),
    (.status(503), .retry(after: nil, reason: "HTTP503")),
    (
      .init(status: 503, headers: ["retry-after": "9"]),
      .retry(after: .seconds(9), reason: "HTTP503", appliesToService: true)
    ),
    (.taken("dropped"), .payloadRefused(reason: "dropped")),
    (.taken("dropped", header: "x-wns-status"), .payloadRefused(reason: "dropped")),
    (.taken("channelThrottled", continueAfter: "7"), .retry(after: .seconds(7), reason: "channelthrottled")),
    (.taken("channelthrottled", header: "x-wns-status"), .retry(after: nil, reason: "channelthrottled")),
    (.taken("received", header: "x-wns-status"), .accepted), (.init(status: 200), .accepted),
    // Unknown ones go by their class.
    (.taken("somehow"), .accepted), (.init(status: 202), .accepted),
    (.status(302), .retry(after: nil, reason: "HTTP302")), (.status(418), .payloadRefused(reason: "HTTP418")),
    (.status(408), .retry(after: nil, reason: "HTTP408")), (.status(429), .retry(after: nil, reason: "HTTP429")),
    (.status(502), .retry(after: nil, reason: "HTTP502")), (.status(599), .retry(after: nil, reason: "HTTP599")),
  ]

  @Test(arguments: [["http/1.1"], ["h2"]])
  func `Every answer of WNS leads to its verdict, in both versions of HTTP`(protocols: [String]) async throws {
    try await withAPNs(simulator: { $0.wnsProtocols = protocols }) { simulator, services in
      let account = services.windows(simulator)
      for (answer, verdict) in Self.answers {
        simulator.wns.rule(.any, .refuse(answer))
        #expect(await account.verdicts(simulator, ["a"]) == [verdict], "\(answer)")
        simulator.wns.removeRules()
      }
    }
  }

  @Test func `Channels that are gone, of another app or throttled get their own verdicts beside others`() async throws {
    try await withAPNs { simulator, services in
      simulator.wns.expire(channel: "expired")
      simulator.wns.remove(channel: "unknown")
      simulator.wns.restrict(channel: "foreign", to: "client-7")
      simulator.wns.rule(.prefix("slow"), .refuse(.taken("channelthrottled")))
      #expect(
        await services.windows(simulator).verdicts(simulator, ["expired", "unknown", "foreign", "slow", "good"]) == [
          .tokenInvalid(.unregistered, since: nil, reason: "HTTP410"),
          .tokenInvalid(.unregistered, since: nil, reason: "HTTP404"),
          .tokenInvalid(.wrongApp, since: nil, reason: "HTTP403"), .retry(after: nil, reason: "channelthrottled"),
          .accepted,
        ])
    }
  }

  @Test func `A raw push to a device that is offline is dropped unless it may be kept`() async throws {
    try await withAPNs { simulator, services in
      simulator.wns.set(.disconnected, of: "a")
      func push(_ seconds: Double?) -> OutgoingPush {
        OutgoingPush(
          token: simulator.channel("a"), id: UUID(), message: RenderedMessage(),
          lifetime: seconds.map { PushLifetime(until: Date().addingTimeInterval($0), at: Date()) })
      }
      #expect(
        await services.windows(simulator).verdicts([push(3600), push(-1), push(nil)])
          == [.accepted, .payloadRefused(reason: "dropped"), .payloadRefused(reason: "dropped")])
    }
  }

  @Test func `Nothing is sent to a token that is no channel URI, or at a host that is not allowed`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      func verdict(_ token: String, _ message: RenderedMessage = RenderedMessage()) -> Verdict? {
        let push = OutgoingPush(token: token, id: UUID(), message: message)
        if case .refused(let verdict) = account.prepare(push) { return verdict }
        return nil
      }
      #expect(verdict("abc") == .tokenInvalid(.unregistered, since: nil, reason: "NoChannelURI"))
      for host in ["db5p.notify.windows.com", "localhost", "localhost:1", "127.0.0.1:8447", "localhost.example:8447"] {
        #expect(verdict("https://\(host)/?token=a") == .payloadRefused(reason: "HostNotAllowed"), "\(host)")
      }
      // The link always stays.
      let long = RenderedMessage(
        alert: JSONText.quoted("x"), url: JSONText.quoted("https://h/" + String(repeating: "x", count: 5000)))
      #expect(verdict(simulator.channel("a"), long) == .payloadRefused(reason: "MessageTooBig"))
      #expect(verdict(simulator.channel("a")) == nil)
      #expect(account.outageEvidence == .answers)
    }
  }

  @Test func `A long alert is shortened, and an override changes type and headers`() async throws {
    try await withAPNs { simulator, services in
      let account = services.windows(simulator)
      var push = OutgoingPush(
        token: simulator.channel("a"), id: UUID(), collapseKey: "s17",
        message: RenderedMessage(
          alert: JSONText.quoted(String(repeating: "x", count: 3000)), threadID: JSONText.quoted("offers")))
      let request = try #require(account.prepare(push).request)
      #expect(request.reductions == .alertShortened)
      #expect(request.headers["x-wns-tag"] == "s17" && request.headers["x-wns-group"] == "offers")
      let preview = account.preview(request, to: .production)
      #expect(preview.size <= 5000 && preview.limit == 5000 && preview.body == request.body)
      #expect(preview.headers.first { $0.name == "authorization" }?.value == "Bearer …")

      push.message.overrides = [
        "wns": [
          "type": "wns/tile",
          "headers": ["X-WNS-Tag": .null, "X-WNS-TTL": "60", "X-WNS-Cache-Policy": "no-cache"],
        ]
      ]
      #expect(await account.verdicts([push]) == [.accepted])
      let received = try #require(simulator.wns.requests.first)
      #expect(received.type == "wns/tile" && received.header("x-wns-tag") == nil)
      #expect(received.header("x-wns-ttl") == "60" && received.header("x-wns-cache-policy") == "no-cache")
      for (override, reason) in [
        (["type": "wns/other"], "BadOverride type"),
        (["headers": ["X-WNS-Tag": "a\r\nb: c"]], "BadOverride X-WNS-Tag"),
      ] as [(JSONValue, String)] {
        push.message.overrides = ["wns": override]
        guard case .refused(.payloadRefused(reason)) = account.prepare(push) else {
          Issue.record("sent with \(override)")
          continue
        }
      }
    }
  }

  @Test func `Only hosts that the operator listed may have private addresses`() async throws {
    // `localhost` stands for a name of the internet whose answer is a private address.
    try await withSimulator { simulator in
      var settings = PushServiceSettings(simulator)
      simulator.wns.register(packageSID: Self.sid, secret: "acme-secret")
      let origin = try #require(ServiceAddress(url: simulator.wnsURL))
      for (rule, isCalled) in [(EndpointRule.wns, false), (settings.endpoints.wns, true)] {
        settings.endpoints.wns = rule
        let pools = try ConnectionPools(settings, logger: TestServer.logger, now: { Date() })
        let service = try AccessTokenService.wns(settings, pools)
        var headers = RequestHeaders()
        headers.add(":path", "/?token=a")
        headers.add("x-wns-type", "wns/raw")
        headers.add("content-type", "application/octet-stream")
        headers.add("content-length", "1")
        let verdict = await service.verdict(
          on: PushRequest(headers: headers, body: [1], origin: origin),
          as: .wns(.package(sid: Self.sid, secret: "acme-secret")), of: CustomerID(1))
        #expect(
          verdict
            == (isCalled ? .accepted : .unsent(reason: "AddressNotAllowed")))
        #expect(simulator.wns.count == (isCalled ? 1 : 0))
        await pools.shutDown()
      }
      let known = ServiceAddress(host: "db5p.notify.windows.com", port: 443)
      for rule in [EndpointRule.wns, .webPush] {
        #expect(!rule.isListed(known.host, known.port) && rule.isTrusted(known.host, known.port))
      }
      var own = EndpointRule.wns
      own.listed = HostList("*.notify.windows.com")
      #expect(own.isListed(known.host, known.port))
    }
  }

  @Test func `A host that does not answer keeps no other channel from its pushes`() async throws {
    let deaf = ClosedPort()
    try await withAPNs(provider: { settings in
      settings.connectAttempts = 1
      settings.endpoints.wns.listed = settings.endpoints.wns.listed.flatMap {
        HostList("\($0),localhost:\(deaf.number)")
      }
    }) { simulator, services in
      let pushes = ["https://localhost:\(deaf.number)/?token=a", simulator.channel("b")].map {
        OutgoingPush(token: $0, id: UUID(), message: RenderedMessage())
      }
      #expect(
        await services.windows(simulator).verdicts(pushes) == [.unsent(reason: "ConnectionRefused"), .accepted])
    }
  }
}

extension PushServices {
  /// An app's account whose package the Simulator knows.
  func windows(_ simulator: PushSimulator, secret: String = "acme-secret+/=") -> any PushAccount {
    simulator.wns.register(packageSID: "ms-app://s-1-15-2-7", secret: "acme-secret+/=", name: "Acme")
    return account(
      appID: "com.acme.app", of: CustomerID(1),
      credentials: .wns(.package(sid: "ms-app://s-1-15-2-7", secret: secret)))
  }

  /// An app's account whose client at Microsoft Entra the Simulator knows.
  func entra(
    _ simulator: PushSimulator, tenant: String = "acme.example", secret: String = "acme-secret"
  ) -> any PushAccount {
    simulator.wns.register(tenantID: "acme.example", clientID: "client-7", secret: "acme-secret", name: "Acme")
    return account(
      appID: "com.acme.app", of: CustomerID(1),
      credentials: .wns(.entra(tenantID: tenant, clientID: "client-7", secret: secret)))
  }
}

extension PushAccount {
  /// Sends a toast to each of these channels, and returns the verdicts in their order.
  func verdicts(_ simulator: PushSimulator, _ channels: [String]) async -> [Verdict?] {
    await verdicts(
      channels.map {
        OutgoingPush(
          token: simulator.channel($0), id: UUID(), message: RenderedMessage(alert: JSONText.quoted("Hi")))
      })
  }

  /// Sends, and returns the verdicts in the order of the pushes, all of which have to be sendable.
  func verdicts(_ pushes: [OutgoingPush]) async -> [Verdict?] {
    let requests = pushes.compactMap { push -> PushRequest? in
      if case .request(let request) = prepare(push) { return request }
      return nil
    }
    precondition(requests.count == pushes.count, "a push is refused before it is sent")
    return await send(requests, to: .production, while: { true }).verdicts(of: pushes.count)
  }
}
