import FoundationEssentials

/// What the simulated Push Kit knows: clients, service accounts, access tokens, push tokens and rules. It decides on replies, and
/// touches no socket.
struct HMSServerState {
  /// Secrets by client id.
  var clients: [String: String] = [:]
  /// Names of apps by client id.
  var names: [String: String] = [:]
  /// By `sub_account`.
  var accounts: [String: RegisteredHuaweiAccount] = [:]
  /// Push tokens that are invalid.
  var unregistered: Set<String> = []
  private let rules: SimulatedHMS.Rules
  /// By client id.
  private var accessTokens: IssuedTokens<String, SimulatedHMS.Refusal>
  private let trustsUnknownKeys: Bool

  /// Of an access token, in seconds.
  static let lifetime: Double = 3600

  init(
    rules: SimulatedHMS.Rules, tokenRules: ReplyRules<PrefixMatch, SimulatedHMS.Refusal>, trustsUnknownKeys: Bool
  ) {
    self.rules = rules
    accessTokens = IssuedTokens(tokenRules)
    self.trustsUnknownKeys = trustsUnknownKeys
  }

  /// The reply to a message, and those of its tokens that are invalid while others are not. The checks come first; then test tokens;
  /// then the rules. A token's reply other than that it is invalid is the whole message's.
  mutating func reply(to request: HMSRequest, now: Date) -> (SimulatedHMS.Reply, illegalTokens: [String]) {
    if let refusal = accessRefusal(of: request, now: now) ?? request.formRefusal { return (.refuse(refusal), []) }
    if request.message.isUrgent {
      return (.refuse(.code("80300011", message: "No permission to send messages of high priority.")), [])
    }
    var illegal: [String] = []
    var whole: SimulatedHMS.Reply?
    for token in request.message.tokens {
      if unregistered.contains(token) {
        illegal.append(token)
        continue
      }
      let reply =
        SimulatedHMS.testTokens.reply(to: token, now: now) ?? rules.reply(to: token) ?? .accept
      if reply == .refuse(.allTokensInvalid) {
        illegal.append(token)
      } else if reply != .accept {
        whole = whole ?? reply
      }
    }
    if let whole { return (whole, []) }
    if !illegal.isEmpty, illegal.count == request.message.tokens.count { return (.refuse(.allTokensInvalid), []) }
    return (.accept, illegal)
  }

  private func accessRefusal(of request: HMSRequest, now: Date) -> SimulatedHMS.Refusal? {
    guard request.isSend else { return .noSuchAddress }
    guard let bearer = request.bearer else { return .code("80200001", message: "The authorization is missing.") }
    if request.isOfProject {
      return HuaweiJWTCheck.refusal(
        bearer, project: request.account, accounts: accounts, trustsUnknownKeys: trustsUnknownKeys, now: now)
    }
    guard let access = accessTokens[bearer] else { return .code("80200001", message: "The access token is unknown.") }
    if access.end <= now { return .code("80200003", message: "The access token has expired.") }
    if access.account != request.account {
      return .code("80200001", message: "The access token belongs to another client.")
    }
    return nil
  }
}

// MARK: - Access tokens

extension HMSServerState {
  /// The reply to a token request, and the token that it issues.
  mutating func reply(to request: HuaweiTokenRequest, now: Date) -> (SimulatedHMS.Reply, issued: String) {
    if let refusal = request.refusal(secret: clients[request.clientID], trustsUnknownKeys: trustsUnknownKeys) {
      return (.refuse(refusal), "")
    }
    // Huawei's tokens hold slashes, which its JSON escapes.
    return accessTokens.issue(
      "DQEBAA/\(UUID().uuidString)/=", to: request.clientID, client: request.clientID, for: Self.lifetime, now: now)
  }

  /// Makes every access token issued so far expire.
  mutating func expireAccessTokens() { accessTokens.expireAll() }
}
