/// A phone of CM Hybrid Messaging.
public struct RegistrationID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// When the SMS is sent that stands in for a push (CM, "Hybrid Messaging").
public enum HybridMessageType: String, Sendable, Hashable, Codable, CaseIterable, SchemaProviding {
  /// Once every push has failed. The push has no time limit.
  case standard = "default"
  /// Never. The push lives 30 seconds, and a later message by SMS with the same reference, or the same text, withdraws it.
  case otp
  /// After 30 seconds, unless a device has confirmed the push.
  case critical
}

/// Body of `POST /api/v1/hybrid`, and of `PATCH /api/v1/hybrid/{appId}`: there a field that is absent or null stays as it is.
public struct HybridAppRequest: APIRequest, Equatable {
  public var appId: String?
  public var messageType: HybridMessageType?
  public var sender: String?
  public var pinText: String?
  public var voiceText: String?
  public var movedText: String?
  public var pinDigits: Int?
  public var clockZone: String?
  public var pinsPerHour: Int?
  public var registrationsPerHour: Int?
  public var statusUrl: String?

  public init(
    appId: String? = nil, messageType: HybridMessageType? = nil, sender: String? = nil, pinText: String? = nil,
    voiceText: String? = nil, movedText: String? = nil, pinDigits: Int? = nil, clockZone: String? = nil,
    pinsPerHour: Int? = nil, registrationsPerHour: Int? = nil, statusUrl: String? = nil
  ) {
    self.appId = appId
    self.messageType = messageType
    self.sender = sender
    self.pinText = pinText
    self.voiceText = voiceText
    self.movedText = movedText
    self.pinDigits = pinDigits
    self.clockZone = clockZone
    self.pinsPerHour = pinsPerHour
    self.registrationsPerHour = registrationsPerHour
    self.statusUrl = statusUrl
  }

  /// What `pinsPerHour` is if it is absent.
  public static let defaultPINsPerHour = 1000
  /// What `registrationsPerHour` is if it is absent.
  public static let defaultRegistrationsPerHour = 5000
  /// What `pinDigits` is if it is absent.
  public static let defaultPINDigits = 5
  public static let schemaName: String? = "HybridAppRequest"
  public static let schemaDescription = "An app whose phones are to be reached by their numbers."
  public static let example = HybridAppRequest(appId: "com.acme.app", sender: "ACME")

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["appId"], example: example)
  }
  public static let change = BodyForm(
    "HybridAppChangeRequest", "What to change about an app's Hybrid Messaging. Absent fields stay as they are.",
    absent: ["appId"], example: HybridAppRequest(clockZone: "Europe/Amsterdam"))

  public static let fieldTable: FieldTable = [
    "appId": "The app, on all platforms that it has.",
    "messageType":
      """
    When an SMS stands in for a push, of messages that do not say it: `default` once the pushes have failed, `otp` never, \
    `critical` after 30 seconds without a confirmation. `default` if absent.
    """,
    "sender":
      FieldDescription(
        "The sender of PINs by SMS: \(SMSAccount.senderForm). `\"\"` for the provider's own.",
        limits: 0...17),
    "pinText": FieldDescription(
      "The SMS with a PIN. `{{pin}}` stands for the PIN. `\"\"` for the hub's own.", limits: 0...300),
    "voiceText": FieldDescription(
      "What a call says. `{{pin}}` stands for the PIN. `\"\"` for the hub's own.", limits: 0...300),
    "movedText":
      FieldDescription(
        """
        The push to a phone that gets the messages of its number no more, as its registration has another push token or number, or \
        its notifications are off. `\"\"` for the hub's own.
        """, limits: 0...300),
    "pinDigits":
      FieldDescription(
        """
        How many digits new PINs have: \(HybridAppRequest.defaultPINDigits) if absent, as shipped apps expect. An app that takes more \
        is harder to guess at.
        """, limits: 4...8),
    "clockZone":
      FieldDescription(
        """
        The time zone of moments that phones send without one: UTC if absent, Europe/Amsterdam for CM's Android client. Replies \
        are in UTC, whatever this says.
        """, limits: 1...100),
    "pinsPerHour":
      FieldDescription(
        """
        Most PINs an hour for all the app's phones: who has unpacked the app can ask for SMS to any numbers. \
        \(HybridAppRequest.defaultPINsPerHour) if absent. A tenth as many wrong codes are taken, 20 at least.
        """, limits: 1...1_000_000),
    "registrationsPerHour":
      FieldDescription(
        """
        Most phones that register for the app within an hour: who has unpacked the app can make up any number. \
        \(HybridAppRequest.defaultRegistrationsPerHour) if absent. Those of one address are a tenth as many, 50 at least.
        """, limits: 1...1_000_000),
    "statusUrl":
      FieldDescription(
        "An https address that gets status reports of the app's messages. `\"\"` for none; reports that wait are deleted.",
        limits: 0...1000),
  ]
}

/// An app of CM Hybrid Messaging.
public struct HybridAppReply: APIObject, Equatable {
  public var appId: String
  public var appKey: String
  public var messageType: HybridMessageType
  public var sender: String?
  public var pinText: String
  public var voiceText: String
  public var movedText: String
  public var pinDigits: Int
  public var clockZone: String
  public var pinsPerHour: Int
  public var registrationsPerHour: Int
  public var statusUrl: ShownURL?
  public var hasPreviousSecret: Bool
  public var alarm: HybridAppAlarm?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public init(
    appId: String, appKey: String, messageType: HybridMessageType, sender: String?, pinText: String, voiceText: String,
    movedText: String, pinDigits: Int, clockZone: String, pinsPerHour: Int, registrationsPerHour: Int,
    statusUrl: ShownURL?, hasPreviousSecret: Bool, alarm: HybridAppAlarm? = nil, createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.appId = appId
    self.appKey = appKey
    self.messageType = messageType
    self.sender = sender
    self.pinText = pinText
    self.voiceText = voiceText
    self.movedText = movedText
    self.pinDigits = pinDigits
    self.clockZone = clockZone
    self.pinsPerHour = pinsPerHour
    self.registrationsPerHour = registrationsPerHour
    self.statusUrl = statusUrl
    self.hasPreviousSecret = hasPreviousSecret
    self.alarm = alarm
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  /// What `movedText` is if it is absent.
  public static let movedTextOfHub =
    "This phone no longer gets the messages to your number. If you have not asked for this, verify your number again."
  public static let schemaName: String? = "HybridApp"
  public static let schemaDescription = "An app whose phones are reached by their numbers."
  public static let example = HybridAppReply(
    appId: "com.acme.app", appKey: IssuedHybridApp.example.appKey, messageType: .standard, sender: "ACME",
    pinText: "Your code is {{pin}}", voiceText: "Your code is {{pin}}", movedText: movedTextOfHub,
    pinDigits: HybridAppRequest.defaultPINDigits, clockZone: "UTC",
    pinsPerHour: HybridAppRequest.defaultPINsPerHour,
    registrationsPerHour: HybridAppRequest.defaultRegistrationsPerHour, statusUrl: nil, hasPreviousSecret: false,
    createdAt: .example,
    updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "appId": "The app, on all platforms that it has.",
    "appKey": "Names the app in requests of its phones and of gateways: a GUID.",
    "messageType": "When an SMS stands in for a push, of messages that do not say it.",
    "sender": "The sender of PINs by SMS. Absent for the provider's own.",
    "pinText": "The SMS with a PIN.",
    "voiceText": "What a call says.",
    "movedText": "The push to a phone that gets the messages of its number no more.",
    "pinDigits": "How many digits new PINs have.",
    "clockZone": "The time zone of moments that phones send without one.",
    "pinsPerHour": "Most PINs an hour for all the app's phones.",
    "registrationsPerHour": "Most phones that register for the app within an hour.",
    "statusUrl": "The address that gets status reports, without its query. Absent for none.",
    "hasPreviousSecret": "Whether the secret before the current one still signs.",
    "alarm": "Why the app needs attention. Absent if all is well, and of replies to changes.",
    "createdAt": "When Hybrid Messaging was enabled for the app.",
    "updatedAt": "When a setting or the secret last changed.",
  ]
}

/// Why an app of CM Hybrid Messaging needs attention: many codes are wrong, as when somebody guesses PINs.
public struct HybridAppAlarm: APIObject, Equatable {
  public var reason: String
  public var since: Timestamp

  public init(reason: String, since: Timestamp) {
    self.reason = reason
    self.since = since
  }

  public static let schemaName: String? = "HybridAppAlarm"
  public static let schemaDescription = "Why an app of Hybrid Messaging needs attention."
  public static let example = HybridAppAlarm(
    reason: "34 of the 40 codes of the last hour were wrong. Somebody may be guessing PINs.", since: .example)

  public static let fieldTable: FieldTable = [
    "reason": "What has happened, and what it may mean.",
    "since": "When the first of it happened.",
  ]
}

/// A phone of an app of CM Hybrid Messaging, without what opens its registration.
public struct HybridPhoneReply: APIObject, Equatable {
  public var registrationId: RegistrationID
  public var number: String?
  public var status: String
  public var verifiedAt: Timestamp?
  public var platform: String
  public var userAgent: String
  public var hasPushToken: Bool
  public var getsPushes: Bool
  public var tokenChangedAt: Timestamp?
  public var tokenChangedFrom: String?
  public var createdAt: Timestamp
  public var changedAt: Timestamp

  public init(
    registrationId: RegistrationID, number: String?, status: String, verifiedAt: Timestamp?, platform: String,
    userAgent: String, hasPushToken: Bool, getsPushes: Bool, tokenChangedAt: Timestamp?, tokenChangedFrom: String?,
    createdAt: Timestamp, changedAt: Timestamp
  ) {
    self.registrationId = registrationId
    self.number = number
    self.status = status
    self.verifiedAt = verifiedAt
    self.platform = platform
    self.userAgent = userAgent
    self.hasPushToken = hasPushToken
    self.getsPushes = getsPushes
    self.tokenChangedAt = tokenChangedAt
    self.tokenChangedFrom = tokenChangedFrom
    self.createdAt = createdAt
    self.changedAt = changedAt
  }

  public static let schemaName: String? = "HybridPhone"
  public static let schemaDescription = "A phone of an app of Hybrid Messaging."
  public static let example = HybridPhoneReply(
    registrationId: RegistrationID(12), number: "0031612345678", status: "PinVerified", verifiedAt: .example,
    platform: "Android", userAgent: "MyApp/1.0 (Android 6.0.1; LGE; Nexus 5X; en_US)", hasPushToken: true,
    getsPushes: true, tokenChangedAt: .example, tokenChangedFrom: "203.0.113.7", createdAt: .example,
    changedAt: .example)

  public static let fieldTable: FieldTable = [
    "registrationId": "The registration's number. Its DeviceID is stored nowhere.",
    "number": "The telephone number that it gave last. Absent if it gave none.",
    "status": "How far the number is verified, in the words of the phones' protocol.",
    "verifiedAt": "When the number was verified. Absent if it is not.",
    "platform": "iOS, Android or WindowsPhone.",
    "userAgent": "User-Agent of its last POST or PUT.",
    "hasPushToken": "Whether it gave a push token.",
    "getsPushes": "Whether it is a device of its number.",
    "tokenChangedAt": "When another push token last took the place of one. Absent if that never happened.",
    "tokenChangedFrom": "The address that the newer token came from.",
    "createdAt": "When it registered.",
    "changedAt": "When it last changed its registration, or got a PIN.",
  ]
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

  public static let schemaName: String? = "IssuedHybridApp"
  public static let schemaDescription = "What an app's phones sign their requests with."
  public static let example = IssuedHybridApp(
    appKey: "00000000-0001-8c3a-9d5e-27c1b0a4f388", appSecret: "5f0c6d0e-95d7-4b61-8a0c-3d2f7c5f1b7a",
    appId: "com.acme.app")

  public static let fieldTable: FieldTable = [
    "appKey": "Names the app: a GUID.",
    "appSecret": "Signs requests: a GUID. Store it now, since it is never shown again.",
    "appId": "The app, on all platforms that it has.",
  ]
}
