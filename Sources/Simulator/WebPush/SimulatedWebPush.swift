import Crypto
import FoundationEssentials
import Locking
import Wire

/// A simulation of Mozilla's push service (RFC 8030, 8188, 8291 and 8292).
///
/// It answers as Mozilla's autopush does, over HTTP/2. Its sample browsers decrypt their pushes for the phone page. A real Firefox
/// whose setting `dom.push.serverURL` names it gets its pushes over WebSocket.
public final class SimulatedWebPush: PlainService {
  static let service = PushServiceName.webpush

  /// What the service read of a push.
  public struct Details: Sendable {
    /// The last part of the endpoint.
    public let token: String
    /// The body as a sample browser decrypts it; nil for other browsers, and for what was not meant for this one.
    public let text: [UInt8]?
    /// How long the service keeps it, in seconds.
    public let ttl: Int?
  }

  public let traffic: ServiceTraffic<Details, Refusal>
  private let acknowledgementLog: RequestLog<Acknowledgement>
  private let browsers = Atomic(0)
  private let state = Mutex(WebPushState())

  init(_ context: SimulatorContext) {
    traffic = Self.traffic(context)
    acknowledgementLog = RequestLog(keeping: context.settings.requestsKept)
  }

  /// Origin of the endpoints: `https://localhost:8448`, say; empty before the start.
  private var origin: String { state.withLock { $0.origin } }

  /// The checks come first; then test tokens; then the rules.
  func answer(_ incoming: IncomingRequest) -> SimulatedAnswer<Refusal> {
    let request = WebPushRequest(incoming)
    let now = traffic.now()
    let (refusal, origin) = state.withLock { ($0.refusal(of: request, now: now), $0.origin) }
    let reply = refusal.map(Reply.refuse) ?? selectedReply(to: request.token, now: now) ?? .accept
    let text = reply.isAccepted ? Self.text(of: request) : nil
    let received = traffic.log(incoming, Details(token: request.token, text: text, ttl: request.ttl), reply)
    if received.isAccepted {
      deliver(request, now: now)
      traffic.show(on: Self.phone, request.token) { PhonePush(received, number: $0) }
    }
    return SimulatedAnswer(reply: reply) { refusal in
      guard let refusal else {
        return SimulatedResponse(
          status: 201,
          headers: [("location", "\(origin)/m/\(request.messageID)"), ("ttl", "\(request.ttl ?? 0)")])
      }
      var response = refusal.response
      if refusal.status == 410 { response.headers.append(("cache-control", "max-age=86400")) }
      return response
    }
  }

  private static func text(of request: WebPushRequest) -> [UInt8]? {
    guard let endpoint = EndpointID(request.token), let record = EncryptedRecord(request.body) else { return nil }
    let browser = SampleBrowser(endpoint.browser)
    return record.opened(with: browser.key, auth: browser.auth)
  }
}

// MARK: - Subscriptions

extension SimulatedWebPush {
  /// The subscription of a sample browser, whose pushes the phone page can read. The same name and key give the same
  /// subscription at every start of the Simulator on the same port. Call it after `start`.
  /// - Parameters:
  ///   - name: 1 or more characters of base64url's alphabet. Names that begin with a test token select its reply.
  ///   - vapidKey: the public key of the one sender, 65 bytes in base64url, as a page gives it to `subscribe`.
  public func subscription(named name: String, vapidKey: String) -> BrowserSubscription {
    let key = Base64URL.decode(Array(vapidKey.utf8)) ?? []
    precondition(!name.isEmpty && key.count == 65, "a subscription needs a name and a VAPID key of 65 bytes")
    let browser = SampleBrowser(name)
    return BrowserSubscription(
      endpoint: origin + WebPushRequest.path + EndpointID(browser: name, senderKey: key).text,
      p256dh: Base64URL.text(Array(browser.key.publicKey.x963Representation)), auth: Base64URL.text(browser.auth))
  }

  /// Ends a subscription, as a browser does: its pushes get 410.
  public func unsubscribe(_ subscription: BrowserSubscription) {
    guard let start = subscription.endpoint.firstRange(of: WebPushRequest.path),
      let endpoint = EndpointID(String(subscription.endpoint[start.upperBound...]))
    else { return }
    state.withLock { _ = $0.unsubscribed.insert(endpoint.browser) }
  }
}

// MARK: - Real browsers

extension SimulatedWebPush {
  /// A browser's word on a push that it got.
  public struct Acknowledgement: Sendable {
    /// What the response to the push called it.
    public let version: String
    /// 100 if the service worker got it, 101 if it could not be decrypted, 102 and above for other failures.
    public let code: Int
  }

  /// Waits until browsers have acknowledged so many pushes since the start, and returns the last acknowledgements.
  public func acknowledged(count: Int) async -> [Acknowledgement] { await acknowledgementLog.received(count: count) }

  /// Closes the connections of all browsers, as a network does. They come back.
  public func disconnectBrowsers() {
    for link in state.withLock({ $0.mailboxes.links }) { link.close() }
  }

  func nextBrowserNumber() -> Int { browsers.add(1, ordering: .relaxed).newValue }

  /// A browser has said hello.
  /// - Returns: what it has not acknowledged.
  func connect(_ agent: String, _ link: BrowserLink) -> [StoredPush] {
    let now = traffic.now()
    let (pushes, former) = state.withLock { $0.mailboxes.connect(agent, link, now: now) }
    former?.close()
    return pushes
  }

  func disconnect(_ agent: String, _ number: Int) { state.withLock { $0.mailboxes.disconnect(agent, number) } }

  /// - Returns: the new endpoint.
  func register(_ address: BrowserAddress, senderKey: [UInt8]) -> String {
    origin + WebPushRequest.path + EndpointID(browser: address.name, senderKey: senderKey).text
  }

  func unsubscribe(_ address: BrowserAddress) {
    state.withLock { state in
      state.unsubscribed.insert(address.name)
      state.mailboxes.removeChannel(address)
    }
  }

  func acknowledge(_ agent: String, _ version: String, code: Int) {
    state.withLock { $0.mailboxes.acknowledge(agent, version: version) }
    acknowledgementLog.append { _ in Acknowledgement(version: version, code: code) }
  }

  private func deliver(_ request: WebPushRequest, now: Date) {
    guard let address = EndpointID(request.token).flatMap({ BrowserAddress($0) }) else { return }
    let push = StoredPush(
      address: address, version: request.messageID, topic: request.header("topic"),
      end: now.addingTimeInterval(Double(request.ttl ?? 0)), body: request.body)
    state.withLock { $0.mailboxes.add(push, now: now) }?.send(push.message)
  }
}

// MARK: - Test tokens

extension SimulatedWebPush {
  static let testTokens = TestTokens<Refusal>(
    "The name of a sample browser, after `/wpush/v2/` in its endpoint, selects that of Web Push:",
    [
      .init("fade0400", "400, errno 110", .badEncryption("Refused by the token")),
      .init("fade0401", "401, errno 109", .unauthorized("Refused by the token")),
      .init("fade0404", "404, errno 102, invalid", .noSuchEndpoint),
      .init("fade0410", "410, errno 106, unsubscribed", .unsubscribed),
      .init("fade0413", "413, errno 104", .tooLarge),
      .init("fade0429", "429", .tooMany()),
      .init("fade0500", "500, errno 999", .errno(999, status: 500, "Unknown error")),
      .init("fade0503", "503, errno 201, retry-after two minutes", .unavailable()),
      .init("fade1503", "503, errno 201, retry-after a second", .unavailable(retryAfter: "1")),
    ])
}

// MARK: - Where it is

extension SimulatedWebPush {
  static let ports = [SimulatedPort(option: "webpush-port", usual: 8448, help: "Web Push", name: "Web Push")]
  static let trustOptions: [TrustOption] = []

  func listen(on port: SimulatedPort, _ host: ListeningHost) async throws -> ServiceListener {
    try await host.listen(
      on: port, self, protocols: ["h2", "http/1.1"],
      http1: { channel, _ in try BrowserHandler.configure(channel, for: self) })
  }

  func started(_ simulator: PushSimulator) { state.withLock { $0.origin = simulator.webPushURL } }
  func stopped() { disconnectBrowsers() }

  func settings(_ simulator: PushSimulator) -> [(setting: ServiceSetting, value: String)] {
    [(.webpushAllowedHosts, simulator.webPushHost)]
  }

  func sample(_ simulator: PushSimulator, keep: KeptFile) throws -> SampleApp? {
    SampleApp(suffix: ".web", type: .web, credentials: [:], every: 10, from: 8) { person, vapidKey in
      SampleApp.device(
        .web, token: self.subscription(named: "browser-\(person)", vapidKey: vapidKey).json, manufacturer: "Mozilla",
        models: ["Firefox"], person: person)
    }
  }
}

extension PushSimulator {
  /// Mozilla's push service for browsers.
  public var webPush: SimulatedWebPush { service() }
  /// Origin of the browsers' endpoints: `https://localhost:8448`, say; empty before `start`.
  public var webPushURL: String { url(at: SimulatedWebPush.ports[0]) }
  /// The host that browsers' endpoints are at: `localhost:8448`, say; empty before `start`.
  public var webPushHost: String { String(webPushURL.dropFirst("https://".count)) }
}
