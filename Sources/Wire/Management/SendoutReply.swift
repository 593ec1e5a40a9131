/// A message to an audience.
public struct SendoutID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The state of a sendout: draft -> freezing -> running <-> paused; any of them -> cancelled; running -> finished.
public enum SendoutState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Written, not started.
  case draft
  /// Started: its audience is being written into the ledger.
  case freezing
  /// Its pushes are being sent.
  case running
  /// Stopped by somebody, or by the hub: then the sendout says why.
  case paused
  /// Stopped for good. Pushes that were not sent never will be.
  case cancelled
  /// Every push has an outcome.
  case finished
}

/// What a sendout is.
public enum SendoutKind: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// One message to an audience.
  case broadcast
  /// Single messages of one day.
  case stream
}

/// A sendout and its progress.
public struct SendoutReply: APIObject, Equatable {
  public var sendoutId: SendoutID
  public var name: String
  public var kind: SendoutKind
  public var apps: [App]
  public var state: SendoutState
  public var haltReason: String?
  public var audience: Audience?
  public var unknownOriginalIds: Int?
  public var message: MessageBody?
  public var template: String?
  public var templateVersion: Int32?
  public var onUncertain: UncertainPolicy
  public var digest: String?
  public var writtenBy: UserID?
  public var createdAt: Timestamp
  public var startedAt: Timestamp?
  public var frozenAt: Timestamp?
  public var finishedAt: Timestamp?
  public var expiredAt: Timestamp?
  public var counts: SendoutCounts?
  public var firstOpens: [Int]?

  public init(
    sendoutId: SendoutID, name: String, kind: SendoutKind = .broadcast, apps: [App], state: SendoutState,
    haltReason: String? = nil, audience: Audience? = nil, unknownOriginalIds: Int? = nil, message: MessageBody? = nil,
    template: String? = nil, templateVersion: Int32? = nil, onUncertain: UncertainPolicy, digest: String? = nil,
    writtenBy: UserID? = nil, createdAt: Timestamp,
    startedAt: Timestamp? = nil, frozenAt: Timestamp? = nil, finishedAt: Timestamp? = nil,
    expiredAt: Timestamp? = nil, counts: SendoutCounts? = nil, firstOpens: [Int]? = nil
  ) {
    self.sendoutId = sendoutId
    self.name = name
    self.kind = kind
    self.apps = apps
    self.state = state
    self.haltReason = haltReason
    self.audience = audience
    self.unknownOriginalIds = unknownOriginalIds
    self.message = message
    self.template = template
    self.templateVersion = templateVersion
    self.onUncertain = onUncertain
    self.digest = digest
    self.writtenBy = writtenBy
    self.createdAt = createdAt
    self.startedAt = startedAt
    self.frozenAt = frozenAt
    self.finishedAt = finishedAt
    self.expiredAt = expiredAt
    self.counts = counts
    self.firstOpens = firstOpens
  }

  public static let schemaName: String? = "Sendout"
  public static let schemaDescription = "A sendout and its progress."
  public static let example = SendoutReply(
    sendoutId: SendoutID(7), name: "Friday offer", apps: [.example],
    state: .running, audience: .example, unknownOriginalIds: 0, message: .example, onUncertain: .resend,
    createdAt: .example, startedAt: .example, frozenAt: .example, counts: .example)
  /// The digest of a draft, for examples.
  static let exampleDigest = "o3ZbX1p4m0N6eY8tVq2wLhRkD5sJcUfGyTzAiBnEvM0"
  /// A sendout as lists have it.
  public static let listedExample = SendoutReply(
    sendoutId: SendoutID(7), name: "Friday offer", apps: [.example],
    state: .finished, template: "offer", templateVersion: 3, onUncertain: .resend, createdAt: .example,
    startedAt: .example, frozenAt: .example, finishedAt: .example)

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout's number.",
    "name": "A name for people.",
    "kind": "`broadcast` for a message to an audience, `stream` for the single messages of a day.",
    "apps": "The apps it goes to.",
    "state": "draft → freezing → running ⇄ paused; any of them → cancelled; running → finished.",
    "haltReason": "Why the hub paused or cancelled the sendout, such as refused credentials.",
    "audience": "Who receives the sendout. Absent in lists, and once retention has deleted its original ids.",
    "unknownOriginalIds": .count("How many of the audience's original ids no contact has."),
    "message": "What the push says. Absent in lists.",
    "template": "The name of the rich page's template.",
    "templateVersion": FieldDescription(
      "The template's version, fixed once the sendout is started. Of a draft, and not in lists, the current one.",
      limits: 1...Int64(Int32.max)),
    "onUncertain": "What to do with uncertain pushes: `resend` (nobody is missed) or `skip` (nobody receives two).",
    "digest":
      """
    Stands for all that a draft says: name, apps, audience, message, template in its current version, and `onUncertain`. It \
    changes with them, so that a start can name what somebody looked at. Only drafts have it.
    """,
    "writtenBy": "The user of the console who wrote it last. Absent for API and command line.",
    "createdAt": "When the sendout was made.",
    "startedAt": "When the sendout was started.",
    "frozenAt": "When the audience was written into the ledger.",
    "finishedAt": "When the last push had its outcome, or the sendout was cancelled.",
    "expiredAt": "When retention had deleted its pushes, messages and opens. The counts stay.",
    "counts":
      "How many pushes are in each state. Absent in lists unless asked for, and in replies to start, pause, resume and cancel.",
    "firstOpens":
      "How many pushes were first opened in each of the first \(hoursOfOpens) hours. Only in lists that were asked for figures.",
  ]

  /// How many hours of opens lists have.
  public static let hoursOfOpens = 24

  /// One of the apps that a sendout goes to.
  public struct App: APIObject, Equatable {
    public var pushAppId: PushAppID
    public var appId: String
    public var appType: AppType

    public init(pushAppId: PushAppID, appId: String, appType: AppType) {
      self.pushAppId = pushAppId
      self.appId = appId
      self.appType = appType
    }

    public static let schemaName: String? = "SendoutApp"
    public static let schemaDescription = "One of the apps that a sendout goes to."
    public static let example = App(pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios)

    public static let fieldTable: FieldTable = [
      "pushAppId": "The app's number.",
      "appId": "Bundle id or package name.",
      "appType": "Platform: \(AppType.list).",
    ]
  }
}

/// How many of a sendout's pushes are in each state; the same numbers as in the view `report.sendout_totals`.
///
/// `queued`, `sending`, `waiting`, `accepted`, `failed`, `uncertain`, `skipped` and `cancelled` add up to `audience`.
public struct SendoutCounts: APIObject, Hashable {
  public var audience: Int
  public var queued: Int
  public var sending: Int
  public var waiting: Int
  public var sent: Int
  public var accepted: Int
  public var failed: Int
  public var uncertain: Int
  public var skipped: Int
  public var cancelled: Int
  public var opened: Int

  public init(
    audience: Int = 0, queued: Int = 0, sending: Int = 0, waiting: Int = 0, sent: Int = 0, accepted: Int = 0,
    failed: Int = 0, uncertain: Int = 0, skipped: Int = 0, cancelled: Int = 0, opened: Int = 0
  ) {
    self.audience = audience
    self.queued = queued
    self.sending = sending
    self.waiting = waiting
    self.sent = sent
    self.accepted = accepted
    self.failed = failed
    self.uncertain = uncertain
    self.skipped = skipped
    self.cancelled = cancelled
    self.opened = opened
  }

  public static let schemaName: String? = "SendoutCounts"
  public static let schemaDescription =
    "How many of a sendout's pushes are in each state. The view `report.sendout_totals` has the same numbers."
  public static let example = SendoutCounts(audience: 2, sending: 1, sent: 1, accepted: 1)

  public static let fieldTable: FieldTable = [
    "audience": .count("Devices in the frozen audience. 0 before the freeze."),
    "queued": .count("Not claimed by a hub yet."),
    "sending": .count("Claimed by a hub."),
    "waiting": .count("To be tried again later."),
    "sent": .count("Sent, or possibly sent, at least once."),
    "accepted": .count("Accepted by the push service."),
    "failed": .count("Refused by the push service for good."),
    "uncertain": .count("Possibly sent and never answered. The sendout's policy does not send them again."),
    "skipped": .count("Not sent: the device was invalidated or changed hands after the freeze."),
    "cancelled": .count("Not sent: the sendout was cancelled."),
    "opened": .count("Opened by a person at least once."),
  ]
}
