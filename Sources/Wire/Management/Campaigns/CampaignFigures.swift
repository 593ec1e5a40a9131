/// What became of a sendout's variants, zones and limits: contacts, and not pushes.
public struct CampaignFigures: APIObject, Equatable {
  public var sendoutId: SendoutID
  public var asOf: Timestamp
  public var isEstimate: Bool
  public var variants: [VariantFigures]
  public var waiting: Int?
  public var sizesFit: Bool?
  public var zones: [Zone]
  public var leftOut: [LeftOut]
  public var series: SeriesFigures?
  public var tests: [TestFigures]

  public init(
    sendoutId: SendoutID, asOf: Timestamp, isEstimate: Bool = false, variants: [VariantFigures] = [],
    waiting: Int? = nil, sizesFit: Bool? = nil, zones: [Zone] = [], leftOut: [LeftOut] = [],
    series: SeriesFigures? = nil, tests: [TestFigures] = []
  ) {
    self.sendoutId = sendoutId
    self.asOf = asOf
    self.isEstimate = isEstimate
    self.variants = variants
    self.waiting = waiting
    self.sizesFit = sizesFit
    self.zones = zones
    self.leftOut = leftOut
    self.series = series
    self.tests = tests
  }

  /// How many devices a sendout has at most whose pushes are all counted without being asked for.
  public static let counted = 20_000
  /// Below this probability, the sizes of groups do not fit their shares.
  public static let sizeLevel = 0.001
  /// How many zones there are at most.
  public static let zoneLimit = 1000
  /// How many sendouts and tests there are at most.
  public static let listed = 20
  /// How many times of a series are told that are not made yet.
  public static let expected = 5

  public static let schemaName: String? = "CampaignFigures"
  public static let schemaDescription =
    "What became of a sendout's variants, time zones and limits. These numbers are contacts, and not pushes."
  public static let example = CampaignFigures(
    sendoutId: SendoutID(7), asOf: .example, variants: [.example], waiting: 800, sizesFit: true, zones: [.example],
    leftOut: [.example], series: .example, tests: [.example])

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout's number.",
    "asOf": "The moment of the counts.",
    "isEstimate":
      """
    Whether a part of the pushes is counted: of a sendout of more than \(counted) devices, unless `exact` asks for all and they can be counted in time. Then `accepted` and \
    `opened` are those of about \(counted) pushes of variants, zones have neither, and `leftOut` is what the freeze left out.
    """,
    "variants": "In the order of the sendout's list. None without variants, and before the audience is fixed.",
    "waiting": .count(
      "Contacts whom no variant's share names: they wait for the winner, or got it. Absent without `winner`."),
    "sizesFit":
      """
    Whether the groups are as large as their shares say (chi-squared, p ≥ \(sizeLevel)): at the freeze, and among the accepted \
    contacts of the decision. If not, something but chance decides who is in which group. Absent without variants.
    """,
    "zones": "The time zones of contacts, where the sendout asks for them, the earliest first; at most \(zoneLimit).",
    "leftOut": "Who got nothing, by reason. Each contact is in one of them.",
    "series": "The series that it is one time of.",
    "tests": "Days on which it was tested, the newest first; at most \(listed).",
  ]

  /// Contacts in one time zone, and what became of them.
  public struct Zone: APIObject, Hashable {
    public var zone: String
    public var source: ZoneSource
    public var plannedAt: Timestamp?
    public var contacts: Int
    public var accepted: Int?
    public var opened: Int?

    public init(
      zone: String, source: ZoneSource, plannedAt: Timestamp? = nil, contacts: Int, accepted: Int? = nil,
      opened: Int? = nil
    ) {
      self.zone = zone
      self.source = source
      self.plannedAt = plannedAt
      self.contacts = contacts
      self.accepted = accepted
      self.opened = opened
    }

    public static let schemaName: String? = "CampaignZone"
    public static let schemaDescription = "Contacts in one time zone, and what became of them."
    public static let example = Zone(
      zone: "Europe/Stockholm", source: .contact, plannedAt: .example, contacts: 85, accepted: 80, opened: 12)

    public static let fieldTable: FieldTable = [
      "zone": "Its name in the IANA database.",
      "source": "Who told it: `contact`, `device`, `country`, or `customer` where nobody did.",
      "plannedAt":
        "When the local time is there, before spread and quiet hours. Absent without a local time, and where it was over.",
      "contacts": .count("Contacts of the audience there, those left out too."),
      "accepted": .count("Those of them with an accepted push. Absent while a part of the pushes is counted."),
      "opened": .count("Those of the accepted of whom a person has opened one. Absent with `accepted`."),
    ]
  }

  /// Contacts who got nothing.
  public struct LeftOut: APIObject, Hashable {
    public var reason: String
    public var contacts: Int
    public var atFreeze: Int?
    public var filter: Filter?
    public var text: String?

    public init(reason: String, contacts: Int, atFreeze: Int? = nil, filter: Filter? = nil) {
      self.reason = reason
      self.contacts = contacts
      self.atFreeze = atFreeze
      self.filter = filter
      text = filter?.text
    }

    public static let schemaName: String? = "CampaignLeftOut"
    public static let schemaDescription = "Contacts who got nothing, for one reason."
    public static let example = LeftOut(
      reason: "capped", contacts: 12, atFreeze: 9, filter: .outcome(FilterOutcome(.capped, of: 7)))

    public static let fieldTable: FieldTable = [
      "reason": "The name of a preflight's step, or another reason of the hub that the ledger has.",
      "contacts": .count("How many contacts."),
      "atFreeze": .count(
        "How many of them when the audience was fixed. Absent for later reasons, and once pushes are deleted."),
      "filter":
        """
      The filter that finds them. Those who were excluded or had no device are found by what is true now, all others by the ledger. Absent \
      where no filter does.
      """,
      "text": "The filter as a line of text.",
    ]
  }

  /// A day on which a sendout was tested.
  public struct TestFigures: APIObject, Hashable {
    public var sendoutId: SendoutID
    public var startedAt: Timestamp
    public var pushes: Int
    public var accepted: Int

    public init(sendoutId: SendoutID, startedAt: Timestamp, pushes: Int, accepted: Int) {
      self.sendoutId = sendoutId
      self.startedAt = startedAt
      self.pushes = pushes
      self.accepted = accepted
    }

    public static let schemaName: String? = "CampaignTest"
    public static let schemaDescription = "The tests of one day."
    public static let example = TestFigures(sendoutId: SendoutID(9), startedAt: .example, pushes: 3, accepted: 2)

    public static let fieldTable: FieldTable = [
      "sendoutId": "The stream that has the tests' messages.",
      "startedAt": "When the first test of the day was sent.",
      "pushes": .count("Pushes of tests."),
      "accepted": .count("Those of them that push services accepted."),
    ]
  }
}

/// What became of one variant.
public struct VariantFigures: APIObject, Equatable {
  public var name: String
  public var share: Int
  public var contacts: Int
  public var expected: Int
  public var counts: VariantCounts?
  public var atDecision: VariantCounts?

  public init(
    name: String, share: Int, contacts: Int, expected: Int, counts: VariantCounts? = nil,
    atDecision: VariantCounts? = nil
  ) {
    self.name = name
    self.share = share
    self.contacts = contacts
    self.expected = expected
    self.counts = counts
    self.atDecision = atDecision
  }

  public static let schemaName: String? = "VariantFigures"
  public static let schemaDescription = "What became of one variant."
  public static let example = VariantFigures(
    name: "A", share: 10, contacts: 100, expected: 100, counts: .example, atDecision: .example)

  public static let fieldTable: FieldTable = [
    "name": "Its name.",
    "share": FieldDescription("Percent of the contacts left after the holdout.", limits: 1...100),
    "contacts": .count("Contacts whom it fell to when the audience was fixed."),
    "expected": .count("How many its share means."),
    "counts": "By now, or when retention deleted the pushes.",
    "atDecision": "When the winner was decided. Absent before, and without `winner`.",
  ]
}

/// How many got a variant, and how many of them opened.
public struct VariantCounts: APIObject, Equatable {
  public var accepted: Int
  public var opened: Int
  public var rate: Double
  public var low: Double
  public var high: Double
  public var pAdjusted: Double?

  public init(accepted: Int, opened: Int, rate: Double, low: Double, high: Double, pAdjusted: Double? = nil) {
    self.accepted = accepted
    self.opened = opened
    self.rate = rate
    self.low = low
    self.high = high
    self.pAdjusted = pAdjusted
  }

  public static let schemaName: String? = "VariantCounts"
  public static let schemaDescription = "How many contacts got a variant, and how many of them opened."
  public static let example = VariantCounts(
    accepted: 98, opened: 12, rate: 0.122, low: 0.071, high: 0.202, pAdjusted: 0.03)

  public static let fieldTable: FieldTable = [
    "accepted": .count("Contacts with an accepted push."),
    "opened": .count("Those of them of whom a person has opened one."),
    "rate": "The share of the accepted who opened, from 0 to 1; 0 where there are none.",
    "low": "The lower end of the rate's interval at 95 %, by Wilson.",
    "high": "Its upper end.",
    "pAdjusted":
      """
    How likely so large a difference to the best variant is by chance, by a pooled two-sided test of two proportions with Holm's correction. \
    Absent for the best itself.
    """,
  ]
}

/// The times of a series.
public struct SeriesFigures: APIObject, Equatable {
  public var seriesId: SeriesID
  public var `repeat`: Repetition
  public var endedAt: Timestamp?
  public var times: [Time]
  public var expected: [CalendarEntry]

  public init(
    seriesId: SeriesID, repeat repetition: Repetition, endedAt: Timestamp? = nil, times: [Time],
    expected: [CalendarEntry] = []
  ) {
    self.seriesId = seriesId
    self.repeat = repetition
    self.endedAt = endedAt
    self.times = times
    self.expected = expected
  }

  public static let schemaName: String? = "SeriesFigures"
  public static let schemaDescription = "The times of a series."
  public static let example = SeriesFigures(
    seriesId: SeriesID(3), repeat: .example, times: [.example], expected: [.example])

  public static let fieldTable: FieldTable = [
    "seriesId": "The series' number.",
    "repeat": "On which days it repeats.",
    "endedAt": "When somebody ended it, or its last day had passed. Absent while further times come.",
    "times": "Its sendouts, the newest first; at most \(CampaignFigures.listed).",
    "expected": "The next times that are not made yet; at most \(CampaignFigures.expected).",
  ]

  /// One time of a series, which is a sendout of its own.
  public struct Time: APIObject, Hashable {
    public var sendoutId: SendoutID
    public var seriesNo: Int
    public var state: SendoutState
    public var startAt: Timestamp?
    public var localTime: WallTime?

    public init(
      sendoutId: SendoutID, seriesNo: Int, state: SendoutState, startAt: Timestamp? = nil, localTime: WallTime? = nil
    ) {
      self.sendoutId = sendoutId
      self.seriesNo = seriesNo
      self.state = state
      self.startAt = startAt
      self.localTime = localTime
    }

    public static let schemaName: String? = "SeriesTime"
    public static let schemaDescription = "One time of a series, which is a sendout of its own."
    public static let example = Time(sendoutId: SendoutID(7), seriesNo: 1, state: .scheduled, startAt: .example)

    public static let fieldTable: FieldTable = [
      "sendoutId": "The sendout.",
      "seriesNo": FieldDescription("Which of the series' times it is.", limits: 1...Int64(Int32.max)),
      "state": "The sendout's state.",
      "startAt": "The moment at which it starts.",
      "localTime": "The wall time at which each contact gets it.",
    ]
  }
}
