/// An access key, without the token that opens with it.
public struct AccessKeyReply: Codable, Sendable, Equatable {
  public var keyId: AccessKeyID
  public var name: String
  public var scope: AccessScope
  public var createdAt: Timestamp
  /// Since when it opens nothing; absent while it is good.
  public var revokedAt: Timestamp?

  public init(
    keyId: AccessKeyID, name: String, scope: AccessScope, createdAt: Timestamp, revokedAt: Timestamp? = nil
  ) {
    self.keyId = keyId
    self.name = name
    self.scope = scope
    self.createdAt = createdAt
    self.revokedAt = revokedAt
  }
}
