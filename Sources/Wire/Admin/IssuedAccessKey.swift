/// A new access key with its token: the one time that the token is shown.
public struct IssuedAccessKey: Codable, Sendable, Equatable {
  public var keyId: AccessKeyID
  public var name: String
  public var scope: AccessScope
  public var createdAt: Timestamp
  /// For `X-Carma-Authentication-Token`, or behind `Authorization: Bearer`.
  public var token: String

  public init(keyId: AccessKeyID, name: String, scope: AccessScope, createdAt: Timestamp, token: String) {
    self.keyId = keyId
    self.name = name
    self.scope = scope
    self.createdAt = createdAt
    self.token = token
  }
}
