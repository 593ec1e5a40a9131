/// Reply of `GET /api/v1/activity`.
public struct ActivityReply: APIObject, Equatable {
  public var days: [DayActivity]

  public init(days: [DayActivity]) { self.days = days }

  public static let schemaName: String? = "Activity"
  public static let schemaDescription = "What happened in the last days."
  public static let example = ActivityReply(days: [.example])

  public static let fieldTable: FieldTable = [
    "days": "The days up to today, the oldest first. Those on which nothing happened are there too."
  ]
}

/// What happened on a day.
public struct DayActivity: APIObject, Equatable {
  public var day: String
  public var sent: Int
  public var opened: Int
  public var registered: Int

  public init(day: String, sent: Int, opened: Int, registered: Int) {
    self.day = day
    self.sent = sent
    self.opened = opened
    self.registered = registered
  }

  public static let schemaName: String? = "DayActivity"
  public static let schemaDescription = "What happened on a day."
  public static let example = DayActivity(day: "2026-11-20", sent: 1200, opened: 240, registered: 12)

  public static let fieldTable: FieldTable = [
    "day": "The day in UTC, as in `2026-11-20`.",
    "sent": .count("Pushes sent for the first time, those of single messages included."),
    "opened": .count("Pushes opened by a person for the first time."),
    "registered": .count("Devices registered for the first time."),
  ]
}

/// Reply of `GET /api/v1/alarms`.
public struct AlarmsReply: APIObject, Equatable {
  public var alarms: [AlarmReply]

  public init(alarms: [AlarmReply]) { self.alarms = alarms }

  public static let schemaName: String? = "Alarms"
  public static let schemaDescription = "What needs somebody's attention."
  public static let example = AlarmsReply(alarms: [.example])

  public static let fieldTable: FieldTable = ["alarms": "The alarms, the newest first. Empty when all is well."]
}

/// Something that needs attention, and what helps.
public struct AlarmReply: APIObject, Equatable {
  /// What has the alarm.
  public enum Kind: String, Codable, Sendable, CaseIterable, SchemaProviding {
    /// An app: its credentials are refused, its certificate is near its end, or too many of its tokens are invalid.
    case app
    /// An app in Hybrid Messaging: somebody may be guessing PINs.
    case hybrid
    /// An address of the customer does not take what it is told.
    case webhook
    /// The hub has paused a sendout.
    case sendout
    /// Not all that is stored of a person can be erased.
    case erasure
    /// No hub counts what contacts received and opened.
    case activity
  }

  public var kind: Kind
  public var title: String
  public var reason: String
  public var fix: String
  public var command: String?
  public var since: Timestamp
  public var pushAppId: PushAppID?
  public var appId: String?
  public var sendoutId: SendoutID?
  public var webhookId: EventWebhookID?

  public init(
    kind: Kind, title: String, reason: String, fix: String, command: String? = nil, since: Timestamp,
    pushAppId: PushAppID? = nil, appId: String? = nil, sendoutId: SendoutID? = nil, webhookId: EventWebhookID? = nil
  ) {
    self.webhookId = webhookId
    self.kind = kind
    self.title = title
    self.reason = reason
    self.fix = fix
    self.command = command
    self.since = since
    self.pushAppId = pushAppId
    self.appId = appId
    self.sendoutId = sendoutId
  }

  public static let schemaName: String? = "Alarm"
  public static let schemaDescription = "Something that needs attention, and what helps."
  public static let example = AlarmReply(
    kind: .app, title: "Acme for iOS (com.acme.app)", reason: "InvalidProviderToken",
    fix: "The key belongs to another team or has another Key Id: compare both with Keys in Apple's developer account.",
    command: "pushcart app check com.acme.app --customer 1", since: .example, pushAppId: PushAppID(1),
    appId: "com.acme.app")

  public static let fieldTable: FieldTable = [
    "kind": "What has the alarm: `app`, `hybrid`, `webhook`, `sendout`, `erasure` or `activity`.",
    "title": "What it is about, for people.",
    "reason": "What is wrong, as the push service or the hub has it.",
    "fix": "What to do, as sentences.",
    "command": "A command that shows or does it, where there is one.",
    "since": "Since when.",
    "pushAppId": "The app's number, of kind `app`.",
    "appId": "The app's id, of kinds `app`, `hybrid` and `webhook`.",
    "sendoutId": "The sendout's number, of kind `sendout`.",
    "webhookId": "The webhook's number, of kind `webhook` where it is one of events.",
  ]
}
