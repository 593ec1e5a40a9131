/// What is due within some time, in the order of moments, and what waits for a person.
public struct CampaignCalendar: APIObject, Equatable {
  public var from: Timestamp
  public var to: Timestamp
  public var entries: [CalendarEntry]
  public var isMore: Bool
  public var waiting: [WaitingSendout]

  public init(
    from: Timestamp, to: Timestamp, entries: [CalendarEntry], isMore: Bool = false, waiting: [WaitingSendout] = []
  ) {
    self.from = from
    self.to = to
    self.entries = entries
    self.isMore = isMore
    self.waiting = waiting
  }

  /// How many entries there are at most.
  public static let limit = 500
  /// How many sendouts that wait there are at most.
  public static let mostWaiting = 100
  /// The longest time that can be asked for, in days.
  public static let longest = 400
  /// What a request is about that names no end, in days.
  public static let usual = 31

  public static let schemaName: String? = "CampaignCalendar"
  public static let schemaDescription =
    "What sendouts do by themselves within some time, and which of them wait for a person."
  public static let example = CampaignCalendar(
    from: .example, to: .example, entries: [.example], waiting: [.example])

  public static let fieldTable: FieldTable = [
    "from": "The first moment.",
    "to": "The moment before which it ends.",
    "entries": "What is due, in the order of moments; at most \(limit).",
    "isMore": "Whether there are more than that. Ask for a shorter time then.",
    "waiting":
      """
    Sendouts that go on only once a person has decided, whatever the time that is asked for: those that the hub has paused, and those whose \
    winner is to be chosen. The one that has waited longest comes first; at most \(mostWaiting).
    """,
  ]
}

/// Something that a sendout does by itself.
public struct CalendarEntry: APIObject, Hashable {
  public var at: Timestamp
  public var event: CalendarEvent
  public var sendoutId: SendoutID
  public var name: String
  public var state: SendoutState
  public var localTime: WallTime?
  public var seriesId: SeriesID?
  public var isExpected: Bool

  public init(
    at: Timestamp, event: CalendarEvent, sendoutId: SendoutID, name: String, state: SendoutState,
    localTime: WallTime? = nil, seriesId: SeriesID? = nil, isExpected: Bool = false
  ) {
    self.at = at
    self.event = event
    self.sendoutId = sendoutId
    self.name = name
    self.state = state
    self.localTime = localTime
    self.seriesId = seriesId
    self.isExpected = isExpected
  }

  public static let schemaName: String? = "CalendarEntry"
  public static let schemaDescription = "Something that a sendout does by itself."
  public static let example = CalendarEntry(
    at: .example, event: .start, sendoutId: SendoutID(7), name: "Friday offer", state: .scheduled,
    seriesId: SeriesID(3))

  public static let fieldTable: FieldTable = [
    "at": "When it is due. Of a local time, when clocks of the customer's zone show it.",
    "event":
      "`start`, `decision` about the variants, or `end`, after which nothing of the sendout leaves.",
    "sendoutId": "The sendout. Of a time that is not made yet, the newest one of its series.",
    "name": "The sendout's name.",
    "state": "The sendout's state.",
    "localTime": "The wall time at which each contact gets it.",
    "seriesId": "The series of which it is one time.",
    "isExpected": "Whether it is a time of a series whose sendout is not made yet.",
  ]
}

/// A sendout that goes on only once a person has decided.
public struct WaitingSendout: APIObject, Hashable {
  public var sendoutId: SendoutID
  public var name: String
  public var state: SendoutState
  public var since: Timestamp
  public var haltReason: String?

  public init(sendoutId: SendoutID, name: String, state: SendoutState, since: Timestamp, haltReason: String? = nil) {
    self.sendoutId = sendoutId
    self.name = name
    self.state = state
    self.since = since
    self.haltReason = haltReason
  }

  public static let schemaName: String? = "WaitingSendout"
  public static let schemaDescription = "A sendout that goes on only once a person has decided."
  public static let example = WaitingSendout(
    sendoutId: SendoutID(7), name: "Friday offer", state: .paused, since: .example,
    haltReason: HaltReason.late.rawValue)

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout.",
    "name": "The sendout's name.",
    "state": "The sendout's state.",
    "since": "When the hub paused it, or found no winner.",
    "haltReason":
      """
    Why the hub paused it, which begins with \(HaltReason.allCases.map { "`\($0.rawValue)`" }.joined(separator: ", ")) or names what was \
    refused. Absent where no variant has won, and a winner is to be chosen.
    """,
  ]
}

/// What a sendout does by itself.
public enum CalendarEvent: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case start, decision, end
}
