/// When a sendout goes, how often it may reach somebody, and which of several messages each contact gets.
///
/// In JSON these stand among the fields of the sendout. The sendout's row has them as `campaign`.
public struct CampaignFields: APIRequest, Equatable {
  public var startAt: Timestamp?
  public var localTime: WallTime?
  public var endAt: Timestamp?
  public var onMissed: MissedPolicy?
  public var lateMinutes: Int?
  public var `repeat`: Repetition?
  public var spreadMinutes: Int?
  public var ratePerSecond: Int?
  public var quietHours: QuietHoursOverride?
  public var ignoreCaps: Bool?
  public var variants: [MessageVariant]?
  public var winner: WinnerRule?
  public var holdoutPercent: Int?
  public var pauseAtFailed: Double?

  public static let usualLateMinutes = 60
  public static let usualPauseAtFailed = 0.2

  public init(
    startAt: Timestamp? = nil, localTime: WallTime? = nil, endAt: Timestamp? = nil, onMissed: MissedPolicy? = nil,
    lateMinutes: Int? = nil, repeat repetition: Repetition? = nil, spreadMinutes: Int? = nil, ratePerSecond: Int? = nil,
    quietHours: QuietHoursOverride? = nil, ignoreCaps: Bool? = nil, variants: [MessageVariant]? = nil,
    winner: WinnerRule? = nil, holdoutPercent: Int? = nil, pauseAtFailed: Double? = nil
  ) {
    self.startAt = startAt
    self.localTime = localTime
    self.endAt = endAt
    self.onMissed = onMissed
    self.lateMinutes = lateMinutes
    self.repeat = repetition
    self.spreadMinutes = spreadMinutes
    self.ratePerSecond = ratePerSecond
    self.quietHours = quietHours
    self.ignoreCaps = ignoreCaps
    self.variants = variants
    self.winner = winner
    self.holdoutPercent = holdoutPercent
    self.pauseAtFailed = pauseAtFailed
  }

  public static let schemaName: String? = "CampaignFields"
  public static let schemaDescription =
    "When a sendout goes, how often it may reach somebody, and which of several messages each contact gets."
  public static let example = CampaignFields(
    localTime: WallTime("2026-12-24T18:30"), spreadMinutes: 30, holdoutPercent: 5)

  public static let fieldTable: FieldTable = [
    "startAt": "The moment at which it starts. It is scheduled at once, unless `draft` is true.",
    "localTime":
      """
    The day and the time at which each contact gets it by their own clock: in their zone, else that of their newest valid device, else that of \
    their country where that has one zone alone, else the customer's `timeZone`. It is scheduled at once, unless `draft` is true. A \
    time that clocks skip is later by the gap; of one that comes twice the first counts.
    """,
    "endAt":
      "Nothing leaves after this moment. What has not left by then is skipped as `expired`, and the sendout ends.",
    "onMissed":
      """
    What becomes of contacts in whose zone `localTime` was over when it was scheduled: `skip` leaves them out, `now` sends at the start, \
    `nextDay` at the same time a day later, unless that was over, too. `skip` if absent.
    """,
    "lateMinutes": FieldDescription(
      """
      How late a push may leave after its planned moment because hubs or the database were down; one that would be later is `missed`. \
      Its rate, a pause and retries make none late. A sendout that starts later than that waits for a person. \
      \(usualLateMinutes) if absent.
      """, limits: 1...10_080),
    "repeat": "On which days it repeats. Each time is a sendout of its own, with the same `seriesId`.",
    "spreadMinutes": FieldDescription("Pushes are spread evenly over so many minutes.", limits: 1...1440),
    "ratePerSecond": FieldDescription("The most pushes that leave in a second.", limits: 1...100_000),
    "quietHours": "Quiet hours in place of the customer's; null for none.",
    "ignoreCaps": "Whether it reaches contacts whom caps would leave out. It counts all the same.",
    "variants": FieldDescription(
      "Several ways to say it, of which each contact gets one. Without `winner` their shares add up to 100.",
      limits: MessageVariant.counts),
    "winner": "When the rest of the contacts gets the best variant. The shares add up to less than 100.",
    "holdoutPercent": FieldDescription(
      "Percent of the contacts who could be reached that get nothing, to compare with.", limits: 1...50),
    "pauseAtFailed":
      """
    It pauses when this share of the last 1,000 outcomes are failures, from 500 outcomes on; 1 for never. \(usualPauseAtFailed) if absent.
    """,
  ]
}

/// What becomes of contacts in whose zone the local time was over when a sendout was scheduled.
public enum MissedPolicy: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case skip, now, nextDay
}

extension Double: SchemaProviding {
  public static var schema: Schema { Schema(.number) }
}

extension CampaignFields {
  private enum CodingKeys: String, CodingKey, CaseIterable {
    case startAt, localTime, endAt, onMissed, lateMinutes, `repeat`, spreadMinutes, ratePerSecond, quietHours,
      ignoreCaps,
      variants, winner, holdoutPercent, pauseAtFailed
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      startAt: try body.decodeIfPresent(Timestamp.self, forKey: .startAt),
      localTime: try body.decodeIfPresent(WallTime.self, forKey: .localTime),
      endAt: try body.decodeIfPresent(Timestamp.self, forKey: .endAt),
      onMissed: try body.decodeIfPresent(MissedPolicy.self, forKey: .onMissed),
      lateMinutes: try body.decodeIfPresent(Int.self, forKey: .lateMinutes),
      repeat: try body.decodeIfPresent(Repetition.self, forKey: .repeat),
      spreadMinutes: try body.decodeIfPresent(Int.self, forKey: .spreadMinutes),
      ratePerSecond: try body.decodeIfPresent(Int.self, forKey: .ratePerSecond),
      // Null is none, and not the customer's.
      quietHours: body.contains(.quietHours) ? try body.decode(QuietHoursOverride.self, forKey: .quietHours) : nil,
      ignoreCaps: try body.decodeIfPresent(Bool.self, forKey: .ignoreCaps),
      variants: try body.decodeIfPresent([MessageVariant].self, forKey: .variants),
      winner: try body.decodeIfPresent(WinnerRule.self, forKey: .winner),
      holdoutPercent: try body.decodeIfPresent(Int.self, forKey: .holdoutPercent),
      pauseAtFailed: try body.decodeIfPresent(Double.self, forKey: .pauseAtFailed))
    if let (field, problem) = problem { throw decoder.problem(problem, at: field) }
  }

  /// What fields say that do not go together: the field, and the end of a sentence that begins with it.
  public var problem: (field: String, problem: String)? {
    if startAt != nil, localTime != nil { return ("localTime", "is there beside startAt: give one of them") }
    if `repeat` != nil, startAt == nil, localTime == nil {
      return ("repeat", "needs startAt or localTime, which says when the first time is")
    }
    if onMissed != nil, localTime == nil { return ("onMissed", "needs localTime") }
    if let startAt, let endAt, endAt <= startAt { return ("endAt", "must be later than startAt") }
    if let localTime, let endAt, endAt <= localTime.moment(hoursAheadOfUTC: 14) {
      return ("endAt", "must be later than localTime in the first zone of the world, which is 14 hours ahead of UTC")
    }
    if let share = pauseAtFailed, !(share > 0 && share <= 1) {
      return ("pauseAtFailed", "must be more than 0 and at most 1")
    }
    return variantProblem
  }

  private var variantProblem: (field: String, problem: String)? {
    guard let variants else {
      return winner == nil ? nil : ("winner", "needs variants, of which one can win")
    }
    for (index, variant) in variants.enumerated()
    where variants[..<index].contains(where: { $0.name.hasSameBytes(as: variant.name) }) {
      return ("variants[\(index)].name", "is that of another variant")
    }
    let sum = variants.reduce(0) { $0 + $1.share }
    if winner == nil, sum != 100 {
      return ("variants", "have shares that add up to \(sum), and without winner they have to add up to 100")
    }
    if winner != nil, sum >= 100 {
      return (
        "variants", "have shares that add up to \(sum), and with winner they have to leave somebody: less than 100"
      )
    }
    return nil
  }
}
