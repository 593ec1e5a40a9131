/// What an access key may do. Each scope includes the ones before it.
public enum AccessScope: String, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  /// Ships inside an app: registers and invalidates devices, never reads.
  case device
  /// All of Carma REST.
  case backend
  /// Carma REST and the management API.
  case admin
}

/// Body of `POST /api/v1/keys`.
public struct AccessKeyRequest: APIRequest, Equatable {
  public var name: String
  public var scope: AccessScope

  public init(name: String, scope: AccessScope) {
    self.name = name
    self.scope = scope
  }

  public enum CodingKeys: String, CodingKey, CaseIterable { case name, scope }
  public static let schemaName: String? = "AccessKeyRequest"
  public static let schemaDescription = "An access key to make."
  public static let example = AccessKeyRequest(name: "app push user", scope: .backend)

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .name: FieldDescription("What the key is for, for people.", limits: 1...200)
    case .scope: "What the key may do. Each scope includes the ones before it."
    }
  }
}

/// An access key, without its token.
public struct AccessKeyReply: APIObject, Equatable {
  public var keyId: AccessKeyID
  public var name: String
  public var scope: AccessScope
  public var createdAt: Timestamp
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

  public enum CodingKeys: String, CodingKey, CaseIterable { case keyId, name, scope, createdAt, revokedAt }
  public static let schemaName: String? = "AccessKey"
  public static let schemaDescription = "An access key, without its token."
  public static let example = AccessKeyReply(
    keyId: AccessKeyID(2), name: "app push user", scope: .backend, createdAt: .example)
  public static let revokedExample = AccessKeyReply(
    keyId: AccessKeyID(2), name: "app push user", scope: .backend, createdAt: .example, revokedAt: .example)

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .keyId: "The key's number."
    case .name: "What the key is for."
    case .scope: "What the key may do. Each scope includes the ones before it."
    case .createdAt: "When the key was made."
    case .revokedAt: "When the key was revoked. Absent while it is valid."
    }
  }
}

/// A new access key with its token. The token is shown only here.
public struct IssuedAccessKey: APIObject, Equatable {
  public var keyId: AccessKeyID
  public var name: String
  public var scope: AccessScope
  public var createdAt: Timestamp
  public var token: String

  public init(keyId: AccessKeyID, name: String, scope: AccessScope, createdAt: Timestamp, token: String) {
    self.keyId = keyId
    self.name = name
    self.scope = scope
    self.createdAt = createdAt
    self.token = token
  }

  public enum CodingKeys: String, CodingKey, CaseIterable { case keyId, name, scope, createdAt, token }
  public static let schemaName: String? = "IssuedAccessKey"
  public static let schemaDescription = "A new access key."
  public static let example = IssuedAccessKey(
    keyId: AccessKeyID(2), name: "app push user", scope: .backend, createdAt: .example,
    token: "pck_1_Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU")

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .keyId: "The key's number."
    case .name: "What the key is for."
    case .scope: "What the key may do. Each scope includes the ones before it."
    case .createdAt: "When the key was made."
    case .token: "The token for `X-Carma-Authentication-Token` or `Authorization: Bearer`. It is shown only once."
    }
  }
}
