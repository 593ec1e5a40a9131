/// A key that opens one customer's APIs.
public struct AccessKeyID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What an access key may do. Each scope from `device` to `admin` includes the ones before it; `gateway` and `datasync` stand alone.
public enum AccessScope: String, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  /// Ships inside an app: registers and invalidates devices, never reads.
  case device
  /// Sends messages to single contacts and devices too, and reads what became of them.
  case send
  /// All of Carma REST.
  case backend
  /// Carma REST and the management API.
  case admin
  /// The gateway of CM Hybrid Messaging, and nothing else. Its token is a GUID, which requests carry in their body.
  case gateway
  /// The data tree of the app that the key is bound to, and nothing else: the secret of `pushcart datasync enable`.
  case datasync

  /// Whether it opens nothing but what asks for it, and no other scope opens that.
  public var standsAlone: Bool { self == .gateway || self == .datasync }
}

/// Body of `POST /api/v1/keys`.
public struct AccessKeyRequest: APIRequest, Equatable {
  public var name: String
  public var scope: AccessScope
  public var appId: String?
  public var expiresAt: Timestamp?

  public init(name: String, scope: AccessScope, appId: String? = nil, expiresAt: Timestamp? = nil) {
    self.name = name
    self.scope = scope
    self.appId = appId
    self.expiresAt = expiresAt
  }

  public static let schemaName: String? = "AccessKeyRequest"
  public static let schemaDescription = "An access key to make."
  public static let example = AccessKeyRequest(name: "app push user", scope: .backend)
  public static var fieldTable: FieldTable { AccessKeyReply.fieldTable }
}

/// An access key. The reply that makes it has its token too, and the reply that revokes it what became of the keys that it had made.
public struct AccessKeyReply: APIObject, Equatable {
  public var keyId: AccessKeyID
  public var name: String
  public var scope: AccessScope
  public var appId: String?
  public var createdBy: AccessKeyID?
  public var createdAt: Timestamp
  public var expiresAt: Timestamp?
  public var lastUsedAt: Timestamp?
  public var revokedAt: Timestamp?
  public var token: String?
  public var alsoRevoked: [AccessKeyID]?
  public var validKeysCreated: Int?

  public static let schemaName: String? = "AccessKey"
  public static let schemaDescription = "An access key, without its token."
  public static let example = AccessKeyReply(
    keyId: AccessKeyID(2), name: "app push user", scope: .backend, createdBy: AccessKeyID(1), createdAt: .example,
    lastUsedAt: .example)

  public static var form: BodyForm<Self> {
    BodyForm(
      schemaName, schemaDescription, absent: ["token", "alsoRevoked", "validKeysCreated"], example: example)
  }
  public static let issued = BodyForm(
    "IssuedAccessKey", "A new access key.", required: ["token"],
    absent: ["lastUsedAt", "revokedAt", "alsoRevoked", "validKeysCreated"],
    example: AccessKeyReply(
      keyId: AccessKeyID(2), name: "app push user", scope: .backend, createdBy: AccessKeyID(1), createdAt: .example,
      token: "pck_1_Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiUx4Qw_A"))
  public static let revoked = BodyForm(
    "RevokedAccessKey", "A revoked key, and what became of the keys that it had made.",
    required: ["revokedAt", "alsoRevoked", "validKeysCreated"], absent: ["token"],
    example: AccessKeyReply(
      keyId: AccessKeyID(2), name: "leaked", scope: .admin, createdAt: .example, revokedAt: .example, alsoRevoked: [],
      validKeysCreated: 1))

  public static let fieldTable: FieldTable = [
    "keyId": "The key's number.",
    "name": FieldDescription("What the key is for.", limits: 1...200),
    "scope":
      "What the key may do. Each scope from device to admin includes the ones before it; gateway and datasync stand alone.",
    "appId":
      """
    The only app whose routes the key opens. Not for the scopes `admin` and `gateway`; the scope `datasync` needs it. All apps if \
    absent.
    """,
    "createdBy": "The key that made this one. Absent for console and command line.",
    "createdAt": "When the key was made.",
    "expiresAt": "When the key expires, in the future when it is made. Absent for never.",
    "lastUsedAt": "When the key was last used, to a minute or two. Absent if it never was.",
    "revokedAt": "When the key was revoked. Absent while it is valid.",
    "token":
      """
    The token for `X-Carma-Authentication-Token` or `Authorization: Bearer`; of scope `gateway` the product token, a GUID. It is \
    shown only once.
    """,
    "alsoRevoked": "The keys that it had made, directly or through others, and that were revoked with it.",
    "validKeysCreated": .count("How many keys that it had made are still valid."),
  ]
}
