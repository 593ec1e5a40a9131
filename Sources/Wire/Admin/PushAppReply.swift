/// An app on one platform. Its credentials are named, never shown.
public struct PushAppReply: Codable, Sendable, Equatable {
  /// What the management API calls it by.
  public var pushAppId: PushAppID
  /// Bundle id or package name, as apps give it in Carma's paths.
  public var appId: String
  public var appType: AppType
  public var name: String
  public var teamId: String?
  public var keyId: String?
  /// What is stored to open its push service, without the secrets themselves.
  public var credentials: [Credential]
  /// Why the app needs somebody's attention, such as refused credentials; absent when all is well.
  public var alarm: Alarm?
  /// What is odd though it may be right, each a sentence.
  public var warnings: [String]
  public var createdAt: Timestamp
  /// When the app or its or one of its credentials last changed.
  public var updatedAt: Timestamp

  /// A credential that is stored for the app.
  public struct Credential: Codable, Sendable, Equatable {
    /// `apns_signing_key` and so on, as in the table `push_credential`.
    public var kind: String
    /// First 16 hex digits of the SHA-256 of the public key, to tell two files apart.
    public var fingerprint: String
    /// When a certificate expires; absent for keys.
    public var notAfter: Timestamp?
    public var updatedAt: Timestamp

    public init(kind: String, fingerprint: String, notAfter: Timestamp? = nil, updatedAt: Timestamp) {
      self.kind = kind
      self.fingerprint = fingerprint
      self.notAfter = notAfter
      self.updatedAt = updatedAt
    }
  }

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
    credentials: [Credential] = [], alarm: Alarm? = nil, warnings: [String] = [], createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.appType = appType
    self.name = name
    self.teamId = teamId
    self.keyId = keyId
    self.credentials = credentials
    self.alarm = alarm
    self.warnings = warnings
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }
}
