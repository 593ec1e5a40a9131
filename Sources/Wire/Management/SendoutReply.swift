/// A message to an audience.
public struct SendoutID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A sendout that repeats: each time is a sendout of its own.
public struct SeriesID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What the end of a series has done.
public struct SeriesEnd: APIObject, Hashable {
  public var seriesId: SeriesID
  public var cancelledSendoutIds: [SendoutID]

  public init(seriesId: SeriesID, cancelledSendoutIds: [SendoutID]) {
    self.seriesId = seriesId
    self.cancelledSendoutIds = cancelledSendoutIds
  }

  public static let schemaName: String? = "SeriesEnd"
  public static let schemaDescription = "What the end of a series has done."
  public static let example = SeriesEnd(seriesId: SeriesID(3), cancelledSendoutIds: [SendoutID(9)])

  public static let fieldTable: FieldTable = [
    "seriesId": "The series.",
    "cancelledSendoutIds": "The sendouts of it that were scheduled.",
  ]
}

/// The state of a sendout: draft <-> scheduled; draft, scheduled -> freezing -> running <-> paused; scheduled -> paused, where its time
/// passed unseen; any of them -> cancelled; running -> finished.
public enum SendoutState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Written, not started.
  case draft
  /// It will start by itself at its time.
  case scheduled
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

/// Why the hub paused a sendout, where that is no push service's reason: how `haltReason` begins.
public enum HaltReason: String, Sendable, CaseIterable {
  /// Hubs or the database were away when it was to start.
  case late
  /// More contacts were left than whoever started it allowed.
  case tooManyContacts = "too_many_contacts"
  /// Too many of its last outcomes were failures.
  case tooManyFailures = "too_many_failures"

  /// - Parameter text: of a sendout.
  public init?(_ text: String) {
    guard let word = text.split(separator: " ").first, let reason = Self(rawValue: String(word)) else { return nil }
    self = reason
  }

  /// For people.
  public var sentence: String {
    switch self {
    case .late: "Hubs or the database were away when it was to start."
    case .tooManyContacts: "It would reach more contacts than whoever started it allowed."
    case .tooManyFailures: "Too many of its last pushes failed."
    }
  }

  /// What helps.
  public var advice: String {
    switch self {
    case .late: "Resume the sendout to start it now, or cancel it."
    case .tooManyContacts: "Look at its audience. Resume the sendout to reach them all, or cancel it."
    case .tooManyFailures: "Look at the reasons of its failures and correct them, then resume the sendout."
    }
  }
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
  public var purpose: MessagePurpose
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
  /// Times, limits and variants; in JSON they stand among the other fields.
  public var campaign: CampaignFields
  public var seriesId: SeriesID?
  public var seriesNo: Int?
  public var scheduledAt: Timestamp?
  public var nextAt: Timestamp?
  public var maximumContacts: Int?
  public var everyone: Int?
  public var people: Int?
  public var decision: WinnerDecision?
  public var testOf: SendoutID?
  public var pausedAt: Timestamp?

  public init(
    sendoutId: SendoutID, name: String, kind: SendoutKind = .broadcast, apps: [App], state: SendoutState,
    haltReason: String? = nil, audience: Audience? = nil, unknownOriginalIds: Int? = nil, message: MessageBody? = nil,
    purpose: MessagePurpose = .marketing, template: String? = nil, templateVersion: Int32? = nil,
    onUncertain: UncertainPolicy, digest: String? = nil, writtenBy: UserID? = nil, createdAt: Timestamp,
    startedAt: Timestamp? = nil, frozenAt: Timestamp? = nil, finishedAt: Timestamp? = nil,
    expiredAt: Timestamp? = nil, counts: SendoutCounts? = nil, firstOpens: [Int]? = nil,
    campaign: CampaignFields = CampaignFields(), seriesId: SeriesID? = nil, seriesNo: Int? = nil,
    scheduledAt: Timestamp? = nil, nextAt: Timestamp? = nil, maximumContacts: Int? = nil, everyone: Int? = nil,
    people: Int? = nil, decision: WinnerDecision? = nil, testOf: SendoutID? = nil, pausedAt: Timestamp? = nil
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
    self.purpose = purpose
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
    self.campaign = campaign
    self.seriesId = seriesId
    self.seriesNo = seriesNo
    self.scheduledAt = scheduledAt
    self.nextAt = nextAt
    self.maximumContacts = maximumContacts
    self.everyone = everyone
    self.people = people
    self.decision = decision
    self.testOf = testOf
    self.pausedAt = pausedAt
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
    "state":
      """
    draft ⇄ scheduled; either → freezing → running ⇄ paused; scheduled → paused, where its time passed unseen; any of them → cancelled; \
    running → finished.
    """,
    "haltReason":
      """
    Why the hub paused or cancelled the sendout: what a push service said of its credentials, or a text that begins with \
    \(HaltReason.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")).
    """,
    "audience": .fields([
      Schema.Field(
        "audience", ShownAudience.schema, isRequired: false,
        "Who receives the sendout. Absent in lists, and once retention has deleted its original ids.")
    ]),
    "unknownOriginalIds": .count("How many of the audience's original ids no contact has."),
    "message": "What the push says. Absent in lists.",
    "purpose": "What its messages are for: `marketing` or `transactional`.",
    "template": "The name of the rich page's template.",
    "templateVersion": FieldDescription(
      "The template's version, fixed once the sendout is started. Of a draft, and not in lists, the current one.",
      limits: 1...Int64(Int32.max)),
    "onUncertain": "What to do with uncertain pushes: `resend` (nobody is missed) or `skip` (nobody receives two).",
    "digest":
      """
    Stands for all that a draft says: name, apps, audience, message, purpose, `onUncertain`, times, limits and variants. It changes with \
    them, with what the audience's segments mean, with the current versions of the templates, and with the customer's quiet hours, caps and \
    time zone, so that a start can name what somebody looked at. Only those that have not started have it.
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
    "campaign": CampaignFields.shown,
    "seriesId": "The series of which it is one time.",
    "seriesNo": FieldDescription("Which of the series' times it is.", limits: 1...Int64(Int32.max)),
    "scheduledAt": "When it was scheduled.",
    "nextAt": "When the hub looks at it next: at its start, the decision about its variants, or its end.",
    "maximumContacts": FieldDescription(
      "With more contacts left when its audience is fixed, it pauses.", limits: 1...Int64(Int32.max)),
    "everyone": .count(
      """
      Contacts of its audience when it was fixed, those left out too. Absent where a segment, a filter or `exclude` chose them and nothing else \
      had them counted.
      """),
    "people": .count(
      "Contacts who were left then. Without times, limits and variants, those suppressed are among them."),
    "decision":
      "Which variant the rest of the contacts gets, once the audience is fixed. Only where there is `winner`.",
    "testOf": "The sendout that its messages tested. Only of the messages of tests.",
    "pausedAt": "When it was paused. Only while it is.",
  ]

  private enum CodingKeys: String, CodingKey {
    case sendoutId, name, kind, apps, state, haltReason, audience, unknownOriginalIds, message, purpose, template,
      templateVersion, onUncertain, digest, writtenBy, createdAt, startedAt, frozenAt, finishedAt, expiredAt, counts,
      firstOpens, seriesId, seriesNo, scheduledAt, nextAt, maximumContacts, everyone, people, decision,
      testOf, pausedAt
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      sendoutId: try body.decode(SendoutID.self, forKey: .sendoutId),
      name: try body.decode(String.self, forKey: .name), kind: try body.decode(SendoutKind.self, forKey: .kind),
      apps: try body.decode([App].self, forKey: .apps), state: try body.decode(SendoutState.self, forKey: .state),
      haltReason: try body.decodeIfPresent(String.self, forKey: .haltReason),
      audience: try body.decodeIfPresent(Audience.self, forKey: .audience),
      unknownOriginalIds: try body.decodeIfPresent(Int.self, forKey: .unknownOriginalIds),
      message: try body.decodeIfPresent(MessageBody.self, forKey: .message),
      purpose: try body.decode(MessagePurpose.self, forKey: .purpose),
      template: try body.decodeIfPresent(String.self, forKey: .template),
      templateVersion: try body.decodeIfPresent(Int32.self, forKey: .templateVersion),
      onUncertain: try body.decode(UncertainPolicy.self, forKey: .onUncertain),
      digest: try body.decodeIfPresent(String.self, forKey: .digest),
      writtenBy: try body.decodeIfPresent(UserID.self, forKey: .writtenBy),
      createdAt: try body.decode(Timestamp.self, forKey: .createdAt),
      startedAt: try body.decodeIfPresent(Timestamp.self, forKey: .startedAt),
      frozenAt: try body.decodeIfPresent(Timestamp.self, forKey: .frozenAt),
      finishedAt: try body.decodeIfPresent(Timestamp.self, forKey: .finishedAt),
      expiredAt: try body.decodeIfPresent(Timestamp.self, forKey: .expiredAt),
      counts: try body.decodeIfPresent(SendoutCounts.self, forKey: .counts),
      firstOpens: try body.decodeIfPresent([Int].self, forKey: .firstOpens))
    campaign = try CampaignFields(from: decoder)
    seriesId = try body.decodeIfPresent(SeriesID.self, forKey: .seriesId)
    seriesNo = try body.decodeIfPresent(Int.self, forKey: .seriesNo)
    scheduledAt = try body.decodeIfPresent(Timestamp.self, forKey: .scheduledAt)
    nextAt = try body.decodeIfPresent(Timestamp.self, forKey: .nextAt)
    maximumContacts = try body.decodeIfPresent(Int.self, forKey: .maximumContacts)
    everyone = try body.decodeIfPresent(Int.self, forKey: .everyone)
    people = try body.decodeIfPresent(Int.self, forKey: .people)
    decision = try body.decodeIfPresent(WinnerDecision.self, forKey: .decision)
    testOf = try body.decodeIfPresent(SendoutID.self, forKey: .testOf)
    pausedAt = try body.decodeIfPresent(Timestamp.self, forKey: .pausedAt)
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encode(sendoutId, forKey: .sendoutId)
    try body.encode(name, forKey: .name)
    try body.encode(kind, forKey: .kind)
    try body.encode(apps, forKey: .apps)
    try body.encode(state, forKey: .state)
    try body.encodeIfPresent(haltReason, forKey: .haltReason)
    try body.encodeIfPresent(audience.map { ShownAudience(audience: $0) }, forKey: .audience)
    try body.encodeIfPresent(unknownOriginalIds, forKey: .unknownOriginalIds)
    try body.encodeIfPresent(message, forKey: .message)
    try body.encode(purpose, forKey: .purpose)
    try body.encodeIfPresent(template, forKey: .template)
    try body.encodeIfPresent(templateVersion, forKey: .templateVersion)
    try body.encode(onUncertain, forKey: .onUncertain)
    try body.encodeIfPresent(digest, forKey: .digest)
    try body.encodeIfPresent(writtenBy, forKey: .writtenBy)
    try body.encode(createdAt, forKey: .createdAt)
    try body.encodeIfPresent(startedAt, forKey: .startedAt)
    try body.encodeIfPresent(frozenAt, forKey: .frozenAt)
    try body.encodeIfPresent(finishedAt, forKey: .finishedAt)
    try body.encodeIfPresent(expiredAt, forKey: .expiredAt)
    try body.encodeIfPresent(counts, forKey: .counts)
    try body.encodeIfPresent(firstOpens, forKey: .firstOpens)
    try body.encodeIfPresent(seriesId, forKey: .seriesId)
    try body.encodeIfPresent(seriesNo, forKey: .seriesNo)
    try body.encodeIfPresent(scheduledAt, forKey: .scheduledAt)
    try body.encodeIfPresent(nextAt, forKey: .nextAt)
    try body.encodeIfPresent(maximumContacts, forKey: .maximumContacts)
    try body.encodeIfPresent(everyone, forKey: .everyone)
    try body.encodeIfPresent(people, forKey: .people)
    try body.encodeIfPresent(decision, forKey: .decision)
    try body.encodeIfPresent(testOf, forKey: .testOf)
    try body.encodeIfPresent(pausedAt, forKey: .pausedAt)
    try campaign.encode(to: encoder)
  }

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

extension CampaignFields {
  /// Among the fields of a reply, where nothing is null but quiet hours that are lifted.
  fileprivate static var shown: FieldDescription {
    guard case .object(let fields, _, _) = schema.shape else { preconditionFailure("campaigns are objects") }
    return .fields(
      fields.map { field in
        var field = field
        field.schema.allowsNull = field.name == "quietHours"
        return field
      })
  }
}

/// Which variant those contacts get who wait for a winner.
public struct WinnerDecision: APIObject, Hashable {
  public var state: DecisionState
  public var variant: String?
  public var by: DecisionMaker?
  public var at: Timestamp?

  public init(state: DecisionState, variant: String? = nil, by: DecisionMaker? = nil, at: Timestamp? = nil) {
    self.state = state
    self.variant = variant
    self.by = by
    self.at = at
  }

  public static let schemaName: String? = "WinnerDecision"
  public static let schemaDescription = "Which variant those contacts get who wait for a winner."
  public static let example = WinnerDecision(state: .decided, variant: "B", by: .test, at: .example)

  public static let fieldTable: FieldTable = [
    "state":
      """
    `waiting` until it is decided; `waiting_for_person` where no variant won and `undecided` is `hold`; then `decided`.
    """,
    "variant": "The name of the variant that they get. Absent where they get nothing.",
    "by":
      """
    `test` if it is better by the test; `best` if it has the highest rate, but not by the test; `person`; `stop` if nobody else gets any.
    """,
    "at": "When it was decided, or when the hub left it to a person.",
  ]
}

/// How far the decision about a winner is.
public enum DecisionState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case waiting
  case waitingForPerson = "waiting_for_person"
  case decided
}

/// How a winner was decided.
public enum DecisionMaker: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case test, best, person, stop
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
    "skipped": .count(
      "Not sent: the device was invalidated or changed hands after the freeze, or its recipient is suppressed."),
    "cancelled": .count("Not sent: the sendout was cancelled."),
    "opened": .count("Opened by a person at least once."),
  ]
}
