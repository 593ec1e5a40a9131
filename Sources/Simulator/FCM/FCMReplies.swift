extension SimulatedFCM {
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

    public init() {}

    public static func token(_ prefix: String) -> Match { Match(tokenPrefix: prefix) }

    init(_ rule: RuleBody) { self.init(tokenPrefix: rule.tokenPrefix ?? "", project: rule.project, nth: rule.nth) }

    func describe(in rule: inout RuleBody) {
      rule.tokenPrefix = tokenPrefix.isEmpty ? nil : tokenPrefix
      rule.project = project
    }

    func covers(token: String, project: String) -> Bool {
      token.hasPrefix(tokenPrefix) && (self.project.map { $0 == project } ?? true)
    }
  }
}

// MARK: - Test tokens

extension SimulatedFCM {
  static let testTokens = TestTokens<Refusal>([
    .init("fade0400", "400 INVALID_ARGUMENT", .invalidToken),
    .init("fade0401", "401 THIRD_PARTY_AUTH_ERROR", .thirdPartyAuth),
    .init("fade0403", "403 SENDER_ID_MISMATCH", .senderIDMismatch),
    .init("fade0404", "404 UNREGISTERED", .unregistered),
    .init("fade0429", "429 QUOTA_EXCEEDED", .quotaExceeded()),
    .init("fade1429", "429 QUOTA_EXCEEDED, retry-after a minute", .quotaExceeded(retryAfter: "60")),
    .init("fade0500", "500 INTERNAL", .internal),
    .init("fade0503", "503 UNAVAILABLE", .unavailable()),
    .init("fade1503", "503 UNAVAILABLE, retry-after a second", .unavailable(retryAfter: "1")),
  ])
}
