/// Body of `POST /api/v1/sendouts`.
public struct SendoutRequest: Codable, Sendable, Equatable {
  /// For people; the beginning of the alert when absent.
  public var name: String?
  /// Bundle id of the app it goes to.
  public var appId: String
  /// Needed only when the appId exists on several platforms.
  public var appType: AppType?
  public var audience: Audience
  public var message: MessageBody
  /// Name of the rich page's template, of which the current version is kept; no page and no `url` when absent.
  public var template: String?
  /// `resend` when absent.
  public var onUncertain: UncertainPolicy?
  /// Whether to start it at once; a draft when absent or false.
  public var start: Bool?

  enum CodingKeys: String, CodingKey, CaseIterable {
    case name, appId, appType, audience, message, template, onUncertain, start
  }

  public init(
    name: String? = nil, appId: String, appType: AppType? = nil, audience: Audience, message: MessageBody,
    template: String? = nil, onUncertain: UncertainPolicy? = nil, start: Bool? = nil
  ) {
    self.name = name
    self.appId = appId
    self.appType = appType
    self.audience = audience
    self.message = message
    self.template = template
    self.onUncertain = onUncertain
    self.start = start
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(onlyKnown: CodingKeys.self)
    name = try body.decodeIfPresent(String.self, forKey: .name)
    appId = try body.decode(String.self, forKey: .appId)
    appType = try body.decodeIfPresent(AppType.self, forKey: .appType)
    audience = try body.decode(Audience.self, forKey: .audience)
    message = try body.decode(MessageBody.self, forKey: .message)
    template = try body.decodeIfPresent(String.self, forKey: .template)
    onUncertain = try body.decodeIfPresent(UncertainPolicy.self, forKey: .onUncertain)
    start = try body.decodeIfPresent(Bool.self, forKey: .start)
  }
}

/// What to do with a push that may or may not have left before a crash or a lost answer.
public enum UncertainPolicy: String, Codable, Sendable, Hashable, CaseIterable {
  /// Nobody is missed; somebody may get it twice.
  case resend
  /// Nobody gets it twice; somebody may be missed.
  case skip
}
