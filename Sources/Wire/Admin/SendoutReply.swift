/// A sendout, and how far it is.
public struct SendoutReply: Codable, Sendable, Equatable {
  public var sendoutId: SendoutID
  public var name: String
  public var pushAppId: PushAppID
  public var appId: String
  public var appType: AppType
  public var state: SendoutState
  /// Why the hub itself paused it, such as refused credentials.
  public var haltReason: String?
  /// Absent in lists.
  public var audience: Audience?
  /// How many of the audience's original ids nobody has; present when the audience is given by them.
  public var unknownOriginalIds: Int?
  /// Absent in lists.
  public var message: MessageBody?
  public var template: String?
  public var templateVersion: Int32?
  public var onUncertain: UncertainPolicy
  public var createdAt: Timestamp
  public var startedAt: Timestamp?
  /// When its audience was written into the ledger.
  public var frozenAt: Timestamp?
  /// When the last push had its outcome, or when it was cancelled.
  public var finishedAt: Timestamp?
  /// Absent in lists.
  public var counts: SendoutCounts?

  public init(
    sendoutId: SendoutID, name: String, pushAppId: PushAppID, appId: String, appType: AppType, state: SendoutState,
    haltReason: String? = nil, audience: Audience? = nil, unknownOriginalIds: Int? = nil, message: MessageBody? = nil,
    template: String? = nil, templateVersion: Int32? = nil, onUncertain: UncertainPolicy, createdAt: Timestamp,
    startedAt: Timestamp? = nil, frozenAt: Timestamp? = nil, finishedAt: Timestamp? = nil,
    counts: SendoutCounts? = nil
  ) {
    self.sendoutId = sendoutId
    self.name = name
    self.pushAppId = pushAppId
    self.appId = appId
    self.appType = appType
    self.state = state
    self.haltReason = haltReason
    self.audience = audience
    self.unknownOriginalIds = unknownOriginalIds
    self.message = message
    self.template = template
    self.templateVersion = templateVersion
    self.onUncertain = onUncertain
    self.createdAt = createdAt
    self.startedAt = startedAt
    self.frozenAt = frozenAt
    self.finishedAt = finishedAt
    self.counts = counts
  }
}
