/// What the push service said of an app's credentials, asked without sending anything to a phone.
public struct PushAppCheckReply: Codable, Sendable, Equatable {
  public var pushAppId: PushAppID
  public var appId: String
  public var checks: [Check]

  /// One environment's answer.
  public struct Check: Codable, Sendable, Equatable {
    /// `production` or `sandbox`.
    public var environment: String
    public var verdict: Verdict
    /// The push service's own word, or why it could not be reached; absent when accepted.
    public var reason: String?

    public init(environment: String, verdict: Verdict, reason: String? = nil) {
      self.environment = environment
      self.verdict = verdict
      self.reason = reason
    }
  }

  public enum Verdict: String, Codable, Sendable, CaseIterable {
    case accepted, refused, unreachable
  }

  public init(pushAppId: PushAppID, appId: String, checks: [Check]) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.checks = checks
  }
}
