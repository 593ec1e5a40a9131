import FoundationEssentials

/// What the simulated WNS knows: apps, access tokens, channels and rules. It decides on replies, and touches no socket.
struct WNSServerState {
  /// By Package SID or client id.
  var clients: [String: RegisteredWindowsClient] = [:]
  /// Channels that a test said something about, by their tokens.
  var channels: [String: KnownChannel] = [:]
  private let rules: SimulatedWNS.Rules
  /// By Package SID or client id.
  private var accessTokens: IssuedTokens<String, SimulatedWNS.Refusal>
  private let trustsUnknownKeys: Bool

  init(
    rules: SimulatedWNS.Rules, tokenRules: ReplyRules<PrefixMatch, SimulatedWNS.Refusal>, trustsUnknownKeys: Bool
  ) {
    self.rules = rules
    accessTokens = IssuedTokens(tokenRules)
    self.trustsUnknownKeys = trustsUnknownKeys
  }

  /// The reply to a request to a channel: the method first, then the access token, the channel, and the notification; then test tokens;
  /// then the rules.
  mutating func reply(to request: WNSRequest, now: Date) -> SimulatedWNS.Reply {
    let refusal =
      request.methodRefusal ?? accessRefusal(of: request, now: now) ?? channelRefusal(of: request)
      ?? request.formRefusal
    if let refusal { return .refuse(refusal) }
    let reply =
      SimulatedWNS.testTokens.reply(to: request.token, now: now) ?? rules.reply(to: request.token)
    if let reply { return reply }
    return connection(of: request) == .connected || request.isKept ? .accept : .refuse(.taken("dropped"))
  }

  /// The app whose access token a request carries.
  func account(of request: WNSRequest) -> String? { request.bearer.flatMap { accessTokens[$0]?.account } }

  func connection(of request: WNSRequest) -> SimulatedWNS.DeviceConnection {
    channels[request.token]?.connection ?? .connected
  }

  private func accessRefusal(of request: WNSRequest, now: Date) -> SimulatedWNS.Refusal? {
    guard let access = request.bearer.flatMap({ accessTokens[$0] }), access.end > now else {
      return .status(401, "The access token is missing, unknown or has expired")
    }
    return nil
  }

  private func channelRefusal(of request: WNSRequest) -> SimulatedWNS.Refusal? {
    guard !request.token.isEmpty else { return .notFound }
    guard let known = channels[request.token] else { return nil }
    if let refusal = known.refusal { return refusal }
    return known.account.map { $0 != account(of: request) } == true ? .otherApp : nil
  }
}

// MARK: - Access tokens

extension WNSServerState {
  /// The reply to a token request, and the token that it issues.
  mutating func reply(to request: MicrosoftTokenRequest, now: Date) -> (SimulatedWNS.Reply, issued: String) {
    let client = clients[request.clientID]
    if let refusal = request.refusal(client: client, trustsUnknownKeys: trustsUnknownKeys) {
      return (.refuse(refusal), "")
    }
    return accessTokens.issue(
      "EgAdAQMAAAAE\(UUID().uuidString)", to: request.clientID, client: request.clientID, for: request.lifetime,
      now: now)
  }

  /// Makes every access token issued so far expire.
  mutating func expireAccessTokens() { accessTokens.expireAll() }
}

/// What a test said about a channel.
struct KnownChannel: Sendable {
  /// Nil for any.
  var account: String?
  var refusal: SimulatedWNS.Refusal?
  var connection = SimulatedWNS.DeviceConnection.connected
}
