/// Body of `POST /api/v1/datasync`.
public struct DataTreeRequest: APIRequest, Equatable {
  public var app: String

  public init(app: String) { self.app = app }

  public static let schemaName: String? = "DatasyncRequest"
  public static let schemaDescription = "An app that gets a data tree."
  public static let example = DataTreeRequest(app: "com.acme.app")

  public static let fieldTable: FieldTable = [
    "app": FieldDescription("The `appId` of the app.", limits: 1...200)
  ]
}

/// An app's data tree, and the only sight of a new secret.
public struct DataTreeSecret: APIObject, Equatable {
  public var app: String
  public var secret: String
  public var keyId: AccessKeyID

  public init(app: String, secret: String, keyId: AccessKeyID) {
    self.app = app
    self.secret = secret
    self.keyId = keyId
  }

  public static let schemaName: String? = "DatasyncSecret"
  public static let schemaDescription = "A data tree that is enabled, with a new secret."
  public static let example = DataTreeSecret(
    app: "com.acme.app", secret: "pck_1_…", keyId: AccessKeyID(3))

  public static let fieldTable: FieldTable = [
    "app": "The app.",
    "secret": "Opens the app's data tree, as `Authorization: Bearer`. It is shown this once, and stored as a hash.",
    "keyId": "The secret's number as an access key, by which it can be revoked.",
  ]
}

/// An app's data tree.
public struct DataTreeApp: APIObject, Equatable {
  public var app: String
  public var createdAt: Timestamp

  public init(app: String, createdAt: Timestamp) {
    self.app = app
    self.createdAt = createdAt
  }

  public static let schemaName: String? = "DatasyncApp"
  public static let schemaDescription = "An app's data tree."
  public static let example = DataTreeApp(app: "com.acme.app", createdAt: .example)

  public static let fieldTable: FieldTable = [
    "app": "The app.",
    "createdAt": "When the tree was enabled.",
  ]
}

/// What POST of a value answers: the name of the new child.
public struct DataTreeChild: APIObject, Equatable {
  public var name: String

  public init(name: String) { self.name = name }

  public static let schemaName: String? = "DatasyncChild"
  public static let schemaDescription = "A child that was added."
  public static let example = DataTreeChild(name: "0198f2a34b5c7d6e8f90a1b2")

  public static let fieldTable: FieldTable = [
    "name": "Its name, which the hub has made. Later names sort after earlier ones."
  ]
}

/// What a subscription is told.
public enum SubscribedEvent: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// The new value.
  case value
  /// That the value has changed, without it.
  case valueHidingData
  /// Which children were added, changed or removed.
  case child
}

/// The messaging service of a subscription's device.
public struct MessagingService: RawRepresentable, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  public let rawValue: String
  /// The platform of the push app that serves it.
  public let appType: AppType

  init(_ service: PushServiceName, by appType: AppType) {
    rawValue = service.rawValue
    self.appType = appType
  }

  public init?(rawValue: String) {
    guard let known = Self.allCases.first(where: { $0.rawValue == rawValue }) else { return nil }
    self = known
  }

  public static let allCases = PushService.all.compactMap(\.dataTree)
}

/// Body of `POST /datasync/v2/{app}/subscriptions`.
public struct SubscriptionRequest: APIRequest, Equatable {
  public var path: String
  public var event: SubscribedEvent
  public var added: Bool?
  public var changed: Bool?
  public var removed: Bool?
  public var deviceToken: String?
  public var service: MessagingService?
  public var webhook: String?
  public var durationSeconds: Int?
  public var encryptionKey: String?

  public init(
    path: String, event: SubscribedEvent, added: Bool? = nil, changed: Bool? = nil, removed: Bool? = nil,
    deviceToken: String? = nil, service: MessagingService? = nil, webhook: String? = nil, durationSeconds: Int? = nil,
    encryptionKey: String? = nil
  ) {
    self.path = path
    self.event = event
    self.added = added
    self.changed = changed
    self.removed = removed
    self.deviceToken = deviceToken
    self.service = service
    self.webhook = webhook
    self.durationSeconds = durationSeconds
    self.encryptionKey = encryptionKey
  }

  public static let schemaName: String? = "SubscriptionRequest"
  public static let schemaDescription = "A subscription: to one place, by a device or a webhook."
  public static let example = SubscriptionRequest(
    path: "/users", event: .child, added: true, changed: true, removed: true, deviceToken: "fcm-registration-token",
    service: .fcm, durationSeconds: 86_400)
  /// Longest duration in seconds: ten years.
  public static let longestDuration = 315_360_000

  public static let fieldTable: FieldTable = [
    "path": FieldDescription("The place in the data tree, as in `/users`.", limits: 1...25_000),
    "event": "What notifications tell.",
    "added": "Whether added children are told. Of event `child`, which needs one of the three.",
    "changed": "Whether changed children are told.",
    "removed": "Whether removed children are told.",
    "deviceToken": FieldDescription("The device's token at its messaging service.", limits: 1...4096),
    "service": "The device's messaging service. It comes with `deviceToken`.",
    "webhook": FieldDescription("The webhook's name in the settings, in place of a device.", limits: 1...100),
    "durationSeconds":
      FieldDescription(
        "Seconds after which the subscription ends. Of a webhook the settings' own if absent; else it does not end.",
        limits: 1...Int64(longestDuration)),
    "encryptionKey": "32 bytes in base64. Notifications are then encrypted with it (AES-256-GCM).",
  ]
}

/// A subscription.
public struct SubscriptionReply: APIObject, Equatable {
  public var subscriptionId: SubscriptionID
  public var path: String
  public var event: SubscribedEvent
  public var added: Bool
  public var changed: Bool
  public var removed: Bool
  public var deviceToken: String?
  public var service: MessagingService?
  public var webhook: String?
  public var encrypted: Bool
  public var expiresAt: Timestamp?

  public init(
    subscriptionId: SubscriptionID, path: String, event: SubscribedEvent, added: Bool, changed: Bool, removed: Bool,
    deviceToken: String? = nil, service: MessagingService? = nil, webhook: String? = nil, encrypted: Bool,
    expiresAt: Timestamp? = nil
  ) {
    self.subscriptionId = subscriptionId
    self.path = path
    self.event = event
    self.added = added
    self.changed = changed
    self.removed = removed
    self.deviceToken = deviceToken
    self.service = service
    self.webhook = webhook
    self.encrypted = encrypted
    self.expiresAt = expiresAt
  }

  public static let schemaName: String? = "Subscription"
  public static let schemaDescription = "A subscription to a place of a data tree."
  public static let example = SubscriptionReply(
    subscriptionId: SubscriptionID(12), path: "/users", event: .child, added: true, changed: true, removed: true,
    deviceToken: "fcm-registration-token", service: .fcm, encrypted: false, expiresAt: .example)

  public static let fieldTable: FieldTable = [
    "subscriptionId": "The subscription's number.",
    "path": "The place.",
    "event": "What notifications tell.",
    "added": "Whether added children are told.",
    "changed": "Whether changed children are told.",
    "removed": "Whether removed children are told.",
    "deviceToken": "The device's token. Absent for a webhook.",
    "service": "The device's messaging service. Absent for a webhook.",
    "webhook": "The webhook's name. Absent for a device.",
    "encrypted": "Whether notifications are encrypted.",
    "expiresAt": "When the subscription ends. Absent for never.",
  ]
}
