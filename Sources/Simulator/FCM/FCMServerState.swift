import FoundationEssentials

/// What the simulated FCM knows: accounts, access tokens, registration tokens and rules. It decides on replies, and touches
/// no socket.
struct FCMServerState {
  /// By `client_email`.
  var accounts: [String: RegisteredAccount] = [:]
  /// Registration tokens that a test said something about.
  var tokens: [String: KnownRegistration] = [:]
  private let rules: SimulatedFCM.Rules
  private var accessTokens: IssuedTokens<AccessTokenOwner, SimulatedFCM.Refusal>
  private let trustsUnknownKeys: Bool

  init(
    rules: SimulatedFCM.Rules, tokenRules: ReplyRules<PrefixMatch, SimulatedFCM.Refusal>, trustsUnknownKeys: Bool
  ) {
    self.rules = rules
    accessTokens = IssuedTokens(tokenRules)
    self.trustsUnknownKeys = trustsUnknownKeys
  }

  /// The reply to a message. The checks come first; then test tokens; then the rules.
  mutating func reply(to request: FCMRequest, now: Date) -> SimulatedFCM.Reply {
    let token = request.message.token
    let refusal =
      accessRefusal(of: request, now: now) ?? request.formRefusal ?? registrationRefusal(token, of: request)
    if let refusal { return .refuse(refusal) }
    return SimulatedFCM.testTokens.reply(to: token, now: now)
      ?? rules.reply { $0.covers(token: token, project: request.project) }
      ?? .accept
  }

  /// The account whose access token a request carries.
  func account(of request: FCMRequest) -> String? {
    request.bearer.flatMap { accessTokens[$0]?.account.clientEmail }
  }

  private func accessRefusal(of request: FCMRequest, now: Date) -> SimulatedFCM.Refusal? {
    guard request.isSend else { return .noSuchAddress }
    guard request.isSigned else {
      return .google(
        401, "UNAUTHENTICATED",
        "Request is missing required authentication credential. Expected OAuth 2 access token, login cookie or other "
          + "valid authentication credential. See https://developers.google.com/identity/sign-in/web/devconsole-project.",
        reason: "CREDENTIALS_MISSING")
    }
    guard let access = request.bearer.flatMap({ accessTokens[$0] }) else { return .unauthenticated }
    if access.end <= now {
      return .google(
        401, "UNAUTHENTICATED", "Request had invalid authentication credentials. The access token has expired.",
        reason: "ACCESS_TOKEN_EXPIRED")
    }
    if let project = access.account.project, project != request.project {
      return .permissionDenied(project: request.project)
    }
    return nil
  }

  /// Checks the project of a registration token, and whether it is invalid, in this order.
  private func registrationRefusal(_ token: String, of request: FCMRequest) -> SimulatedFCM.Refusal? {
    guard let known = tokens[token] else { return nil }
    if let project = known.project, project != request.project { return .senderIDMismatch }
    return known.isUnregistered ? .unregistered : nil
  }
}

// MARK: - Access tokens

extension FCMServerState {
  /// The reply to a token request, and the token that it issues.
  mutating func reply(
    to request: AccessTokenRequest, now: Date
  ) -> (SimulatedFCM.Reply, issued: String) {
    let account = accounts[request.clientEmail]
    if let refusal = request.refusal(account: account, trustsUnknownKeys: trustsUnknownKeys, now: now) {
      return (.refuse(refusal), "")
    }
    return accessTokens.issue(
      "ya29.c.\(UUID().uuidString)",
      to: AccessTokenOwner(clientEmail: request.clientEmail, project: account?.projectID), client: request.clientEmail,
      for: Self.lifetime, now: now)
  }

  /// Makes every access token issued so far invalid.
  mutating func revokeAccessTokens() { accessTokens.removeAll() }

  /// Seconds.
  static var lifetime: Double { 3599 }
}

/// Who got an access token.
private struct AccessTokenOwner {
  var clientEmail: String
  /// Nil for an account that is not registered; it may send for any project.
  var project: String?
}

/// What a test said about a registration token.
struct KnownRegistration: Hashable, Sendable {
  var project: String?
  var isUnregistered = false
}
