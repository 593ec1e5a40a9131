/// When the SMS is sent that stands in for a push (CM, "Hybrid Messaging").
public enum HybridMessageType: String, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  /// Once every push has failed. The push has no time limit.
  case standard = "default"
  /// Never. The push lives 30 seconds, and a later message by SMS with the same reference, or the same text, withdraws it.
  case otp
  /// After 30 seconds, unless a device has confirmed the push.
  case critical
}

/// Body of `POST /api/v1/hybrid`.
public struct HybridAppRequest: APIRequest, Equatable {
  public var appId: String
  public var messageType: HybridMessageType?
  public var sender: String?
  public var pinText: String?
  public var voiceText: String?
  public var clockZone: String?
  public var pinsPerHour: Int?
  public var statusUrl: String?

  public init(
    appId: String, messageType: HybridMessageType? = nil, sender: String? = nil, pinText: String? = nil,
    voiceText: String? = nil, clockZone: String? = nil, pinsPerHour: Int? = nil, statusUrl: String? = nil
  ) {
    self.appId = appId
    self.messageType = messageType
    self.sender = sender
    self.pinText = pinText
    self.voiceText = voiceText
    self.clockZone = clockZone
    self.pinsPerHour = pinsPerHour
    self.statusUrl = statusUrl
  }

  public enum CodingKeys: String, CodingKey, CaseIterable {
    case appId, messageType, sender, pinText, voiceText, clockZone, pinsPerHour, statusUrl
  }
  /// What `pinsPerHour` is if it is absent.
  public static let defaultPINsPerHour = 1000
  public static let schemaName: String? = "HybridAppRequest"
  public static let schemaDescription = "An app whose phones are to be reached by their numbers."
  public static let example = HybridAppRequest(appId: "com.acme.app", sender: "ACME")

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .appId: "The app, on all platforms that it has."
    default: HybridAppChangeRequest.describe(HybridAppChangeRequest.CodingKeys(rawValue: field.rawValue) ?? .sender)
    }
  }
}

/// Body of `PATCH /api/v1/hybrid/{appId}`. A field that is absent or null stays as it is.
public struct HybridAppChangeRequest: APIRequest, Equatable {
  public var messageType: HybridMessageType?
  public var sender: String?
  public var pinText: String?
  public var voiceText: String?
  public var clockZone: String?
  public var pinsPerHour: Int?
  public var statusUrl: String?

  public init(
    messageType: HybridMessageType? = nil, sender: String? = nil, pinText: String? = nil, voiceText: String? = nil,
    clockZone: String? = nil, pinsPerHour: Int? = nil, statusUrl: String? = nil
  ) {
    self.messageType = messageType
    self.sender = sender
    self.pinText = pinText
    self.voiceText = voiceText
    self.clockZone = clockZone
    self.pinsPerHour = pinsPerHour
    self.statusUrl = statusUrl
  }

  public enum CodingKeys: String, CodingKey, CaseIterable {
    case messageType, sender, pinText, voiceText, clockZone, pinsPerHour, statusUrl
  }
  public static let schemaName: String? = "HybridAppChangeRequest"
  public static let schemaDescription =
    "What to change about an app's Hybrid Messaging. Absent fields stay as they are."
  public static let example = HybridAppChangeRequest(clockZone: "Europe/Amsterdam")

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .messageType:
      """
      When an SMS stands in for a push, of messages that do not say it: `default` once the pushes have failed, `otp` never, \
      `critical` after 30 seconds without a confirmation. `default` if absent.
      """
    case .sender:
      FieldDescription(
        "The sender of PINs by SMS: up to 11 letters, digits and blanks, or up to 16 digits. `\"\"` for the provider's own.",
        limits: 0...16)
    case .pinText:
      FieldDescription("The SMS with a PIN. `{{pin}}` stands for the PIN. `\"\"` for the hub's own.", limits: 0...300)
    case .voiceText:
      FieldDescription("What a call says. `{{pin}}` stands for the PIN. `\"\"` for the hub's own.", limits: 0...300)
    case .clockZone:
      FieldDescription(
        """
        The time zone of moments that phones send without one: UTC if absent, Europe/Amsterdam for CM's Android client. Replies \
        are in UTC, whatever this says.
        """, limits: 1...100)
    case .pinsPerHour:
      FieldDescription(
        """
        Most PINs an hour for all the app's phones: who has unpacked the app can ask for SMS to any numbers. \
        \(HybridAppRequest.defaultPINsPerHour) if absent.
        """, limits: 1...1_000_000)
    case .statusUrl:
      FieldDescription(
        "An https address that gets status reports of the app's messages. `\"\"` for none; reports that wait are deleted.",
        limits: 0...1000)
    }
  }
}

/// An app of CM Hybrid Messaging.
public struct HybridAppReply: APIObject, Equatable {
  public var appId: String
  public var appKey: String
  public var messageType: HybridMessageType
  public var sender: String?
  public var pinText: String
  public var voiceText: String
  public var clockZone: String
  public var pinsPerHour: Int
  public var statusUrl: String?
  public var hasPreviousSecret: Bool
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public init(
    appId: String, appKey: String, messageType: HybridMessageType, sender: String?, pinText: String, voiceText: String,
    clockZone: String, pinsPerHour: Int, statusUrl: String?, hasPreviousSecret: Bool, createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.appId = appId
    self.appKey = appKey
    self.messageType = messageType
    self.sender = sender
    self.pinText = pinText
    self.voiceText = voiceText
    self.clockZone = clockZone
    self.pinsPerHour = pinsPerHour
    self.statusUrl = statusUrl
    self.hasPreviousSecret = hasPreviousSecret
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  public enum CodingKeys: String, CodingKey, CaseIterable {
    case appId, appKey, messageType, sender, pinText, voiceText, clockZone, pinsPerHour, statusUrl, hasPreviousSecret,
      createdAt,
      updatedAt
  }
  public static let schemaName: String? = "HybridApp"
  public static let schemaDescription = "An app whose phones are reached by their numbers."
  public static let example = HybridAppReply(
    appId: "com.acme.app", appKey: IssuedHybridApp.example.appKey, messageType: .standard, sender: "ACME",
    pinText: "Your code is {{pin}}", voiceText: "Your code is {{pin}}", clockZone: "UTC",
    pinsPerHour: HybridAppRequest.defaultPINsPerHour, statusUrl: nil, hasPreviousSecret: false, createdAt: .example,
    updatedAt: .example)

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .appId: "The app, on all platforms that it has."
    case .appKey: "Names the app in requests of its phones and of gateways: a GUID."
    case .messageType: "When an SMS stands in for a push, of messages that do not say it."
    case .sender: "The sender of PINs by SMS. Absent for the provider's own."
    case .pinText: "The SMS with a PIN."
    case .voiceText: "What a call says."
    case .clockZone: "The time zone of moments that phones send without one."
    case .pinsPerHour: "Most PINs an hour for all the app's phones."
    case .statusUrl: "The address that gets status reports. Absent for none."
    case .hasPreviousSecret: "Whether the secret before the current one still signs."
    case .createdAt: "When Hybrid Messaging was enabled for the app."
    case .updatedAt: "When a setting or the secret last changed."
    }
  }
}

/// What an app's phones sign their requests with. The secret is never shown again.
public struct IssuedHybridApp: APIObject, Equatable {
  public var appKey: String
  public var appSecret: String
  public var appId: String

  public init(appKey: String, appSecret: String, appId: String) {
    self.appKey = appKey
    self.appSecret = appSecret
    self.appId = appId
  }

  public enum CodingKeys: String, CodingKey, CaseIterable { case appKey, appSecret, appId }
  public static let schemaName: String? = "IssuedHybridApp"
  public static let schemaDescription = "What an app's phones sign their requests with."
  public static let example = IssuedHybridApp(
    appKey: "00000000-0001-8c3a-9d5e-27c1b0a4f388", appSecret: "5f0c6d0e-95d7-4b61-8a0c-3d2f7c5f1b7a",
    appId: "com.acme.app")

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .appKey: "Names the app: a GUID."
    case .appSecret: "Signs requests: a GUID. Store it now, since it is never shown again."
    case .appId: "The app, on all platforms that it has."
    }
  }
}
