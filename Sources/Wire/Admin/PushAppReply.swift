/// An app on one platform. Its signing key is never shown, only what tells it from another.
public struct PushAppReply: Codable, Sendable, Equatable {
  /// What the management API calls it by.
  public var pushAppId: PushAppID
  /// Bundle id or package name, as apps give it in Carma's paths.
  public var appId: String
  public var appType: AppType
  public var name: String
  public var teamId: String?
  public var keyId: String?
  /// First 16 hex digits of the SHA-256 of the signing key's public half; absent without a signing key.
  public var signingKeyFingerprint: String?
  /// Why the app needs somebody's attention, such as refused credentials; absent when all is well.
  public var alarm: Alarm?
  /// What is odd though it may be right, each a sentence.
  public var warnings: [String]
  public var createdAt: Timestamp
  /// When the app or its signing key last changed.
  public var updatedAt: Timestamp

  public struct Alarm: Codable, Sendable, Equatable {
    public var reason: String
    public var since: Timestamp

    public init(reason: String, since: Timestamp) {
      self.reason = reason
      self.since = since
    }
  }

  public init(
    pushAppId: PushAppID, appId: String, appType: AppType, name: String, teamId: String? = nil, keyId: String? = nil,
    signingKeyFingerprint: String? = nil, alarm: Alarm? = nil, warnings: [String] = [], createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.appType = appType
    self.name = name
    self.teamId = teamId
    self.keyId = keyId
    self.signingKeyFingerprint = signingKeyFingerprint
    self.alarm = alarm
    self.warnings = warnings
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
