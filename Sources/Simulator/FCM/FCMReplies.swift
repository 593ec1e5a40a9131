extension SimulatedFCM {
  /// How a message or a token request is answered.
  public typealias Reply = SimulatedReply<Refusal>
  typealias Rules = ReplyRules<Match, Refusal>
  typealias TokenRules = ReplyRules<TokenMatch, Refusal>

  /// Which messages a rule is for.
  public struct Match: RulePart, CountedMatch {
    /// How the registration token begins.
    public var tokenPrefix = ""
    /// The project in the address; nil for any.
    public var project: String?
    /// Only the n-th message that matches the rest, counted from 1 since the rule was added.
    public var nth: Int?

    public init(tokenPrefix: String = "", project: String? = nil, nth: Int? = nil) {
      self.tokenPrefix = tokenPrefix
      self.project = project
      self.nth = nth
    }

    public static var any: Match { Match() }
    public static func token(_ prefix: String) -> Match { Match(tokenPrefix: prefix) }
    public static func nth(_ number: Int) -> Match { Match(nth: number) }

    init(_ rule: RuleBody) { self.init(tokenPrefix: rule.tokenPrefix ?? "", project: rule.project, nth: rule.nth) }

    func describe(in rule: inout RuleBody) {
      rule.tokenPrefix = tokenPrefix.isEmpty ? nil : tokenPrefix
      rule.project = project
    }

    func covers(token: String, project: String) -> Bool {
      token.hasPrefix(tokenPrefix) && (self.project.map { $0 == project } ?? true)
    }
  }

  /// Which token requests a rule is for.
  public struct TokenMatch: Sendable, Hashable, CountedMatch {
    /// The account's `client_email`; nil for any.
    public var clientEmail: String?
    /// Only the n-th request that matches the rest, counted from 1 since the rule was added.
    public var nth: Int?

    public init(clientEmail: String? = nil, nth: Int? = nil) {
      self.clientEmail = clientEmail
      self.nth = nth
    }

    public static var any: TokenMatch { TokenMatch() }
    public static func account(_ clientEmail: String) -> TokenMatch { TokenMatch(clientEmail: clientEmail) }
    public static func nth(_ number: Int) -> TokenMatch { TokenMatch(nth: number) }
  }
}

// MARK: - Test tokens

extension SimulatedFCM {
  static let testTokens = TestTokens<Refusal>([
    refusal("fade0400", "400 INVALID_ARGUMENT", .invalidToken),
    refusal("fade0401", "401 THIRD_PARTY_AUTH_ERROR", .thirdPartyAuth),
    refusal("fade0403", "403 SENDER_ID_MISMATCH", .senderIDMismatch),
    refusal("fade0404", "404 UNREGISTERED", .unregistered),
    refusal("fade0429", "429 QUOTA_EXCEEDED", .quotaExceeded()),
    refusal("fade1429", "429 QUOTA_EXCEEDED, retry-after a minute", .quotaExceeded(retryAfter: "60")),
    refusal("fade0500", "500 INTERNAL", .internal),
    refusal("fade0503", "503 UNAVAILABLE", .unavailable()),
    refusal("fade1503", "503 UNAVAILABLE, retry-after a second", .unavailable(retryAfter: "1")),
  ])

  private static func refusal(
    _ prefix: String, _ meaning: String, _ refusal: Refusal
  ) -> TestTokens<Refusal>.Entry {
    TestTokens.Entry(prefix: prefix, meaning: meaning) { _ in .refuse(refusal) }
  }
}
