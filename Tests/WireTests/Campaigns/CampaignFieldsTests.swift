import Testing
import Wire

@Suite struct CampaignFieldsTests {
  private static func read(_ json: String) throws -> CampaignFields {
    try CampaignFields.schema.decode(from: Array(json.utf8))
  }

  @Test func `Every field is read, and written as it was read`() throws {
    let json = """
      {"endAt":"2026-12-25T00:00:00.000Z","holdoutPercent":5,"ignoreCaps":true,"lateMinutes":30,"localTime":"2026-12-24T18:30",\
      "onMissed":"nextDay","pauseAtFailed":0.5,"quietHours":{"end":"08:00","policy":"skip","start":"21:00"},"ratePerSecond":100,\
      "repeat":{"every":"week","on":["mon","thu"],"until":"2027-06-30"},"spreadMinutes":30,\
      "variants":[{"message":{"alert":"a"},"name":"A","share":10},{"message":{},"name":"B","share":20,"template":"offer"}],\
      "winner":{"afterMinutes":240,"undecided":"stop"}}
      """
    let fields = try Self.read(json)
    #expect(String(decoding: try JSONCoding.encode(fields), as: UTF8.self) == json)
    #expect(fields.localTime == WallTime("2026-12-24T18:30") && fields.startAt == nil)
    #expect(fields.quietHours?.hours == QuietHours("21:00-08:00/skip"))
  }

  @Test func `Null lifts quiet hours, and an absent field leaves the customer's`() throws {
    let lifted = try Self.read(#"{"quietHours":null}"#)
    #expect(lifted.quietHours == .lifted)
    #expect(String(decoding: try JSONCoding.encode(lifted), as: UTF8.self) == #"{"quietHours":null}"#)
    #expect(try Self.read("{}").quietHours == nil)
    #expect(try Self.read(#"{"startAt":null,"variants":null}"#) == CampaignFields())
  }

  @Test(arguments: [
    (
      #"{"startAt":"2026-12-24T18:30:00Z","localTime":"2026-12-24T18:30"}"#,
      "localTime is there beside startAt: give one of them"
    ),
    (
      #"{"localTime":"2026-12-24T18:30:00Z"}"#,
      "localTime must be a day and a time without a zone such as 2026-12-24T18:30"
    ),
    (
      #"{"localTime":"2026-02-29T18:30"}"#, "localTime must be a day and a time without a zone such as 2026-12-24T18:30"
    ),
    (#"{"localTime":7}"#, "localTime must be a day and a time without a zone such as 2026-12-24T18:30"),
    (#"{"onMissed":"now"}"#, "onMissed needs localTime"),
    (#"{"onMissed":"later","localTime":"2026-12-24T18:30"}"#, "onMissed must be one of skip, now, nextDay"),
    (#"{"repeat":{"every":"day"}}"#, "repeat needs startAt or localTime, which says when the first time is"),
    (
      #"{"startAt":"2026-12-24T18:30:00Z","endAt":"2026-12-24T18:30:00Z"}"#, "endAt must be later than startAt"
    ),
    (
      #"{"localTime":"2026-12-24T18:30","endAt":"2026-12-24T04:30:00Z"}"#,
      "endAt must be later than localTime in the first zone of the world, which is 14 hours ahead of UTC"
    ),
    (#"{"quietHours":{"start":"21:00"}}"#, "quietHours.end is missing"),
    (
      #"{"quietHours":{"start":"21:00","end":"21:00"}}"#,
      "quietHours.end is the same as start: give another time"
    ),
    (#"{"quietHours":{"start":"24:00","end":"21:00"}}"#, "quietHours.start must be a time of day such as 21:00"),
    (#"{"lateMinutes":0}"#, "lateMinutes must be a whole number from 1 to 10080"),
    (#"{"holdoutPercent":51}"#, "holdoutPercent must be a whole number from 1 to 50"),
    (#"{"pauseAtFailed":0}"#, "pauseAtFailed must be more than 0 and at most 1"),
    (#"{"winner":{"afterMinutes":5}}"#, "winner needs variants, of which one can win"),
    (#"{"variants":[{"name":"A","share":100,"message":{}}]}"#, "variants needs at least 2 items"),
    (
      #"{"variants":[{"name":"A","share":50,"message":{}},{"name":"A","share":50,"message":{}}]}"#,
      "variants[1].name is that of another variant"
    ),
    (
      #"{"variants":[{"name":"A","share":50,"message":{}},{"name":"B","share":40,"message":{}}]}"#,
      "variants have shares that add up to 90, and without winner they have to add up to 100"
    ),
    (
      #"{"winner":{"afterMinutes":5},"variants":[{"name":"A","share":50,"message":{}},{"name":"B","share":50,"message":{}}]}"#,
      "variants have shares that add up to 100, and with winner they have to leave somebody: less than 100"
    ),
    (#"{"startsAt":"2026-12-24T18:30:00Z"}"#, "startsAt is not a known field; known are \(names)"),
  ])
  func `What does not go together is refused with its field and what helps`(_ json: String, _ sentence: String) {
    let problem = #expect(throws: JSONProblem.self) { try Self.read(json) }
    #expect(problem?.sentence == sentence)
  }

  private static let names = """
    startAt, localTime, endAt, onMissed, lateMinutes, repeat, spreadMinutes, ratePerSecond, quietHours, ignoreCaps, variants, \
    winner, holdoutPercent, pauseAtFailed
    """

  @Test(arguments: [
    (#"{"every":"day","on":["mon"]}"#, "on is there beside every: day, which means each day: leave it out"),
    (#"{"every":"week","on":[1]}"#, "on must hold days of the week, such as mon"),
    (#"{"every":"month","on":["mon"]}"#, "on must hold days of the month, from 1 to 31"),
    (
      #"{"every":"month","on":[32]}"#,
      "on[0] must be one of mon, tue, wed, thu, fri, sat, sun or a whole number from 1 to 31"
    ),
    (#"{"every":"month","until":"2026-02-29"}"#, "until must be a day such as 2026-12-31"),
    (#"{"every":"year"}"#, "every must be one of day, week, month"),
    (#"{"every":"week","on":[]}"#, "on is empty"),
  ])
  func `A repetition names days of its own unit`(_ json: String, _ sentence: String) {
    let problem = #expect(throws: JSONProblem.self) {
      try Repetition.schema.decode(Repetition.self, from: Array(json.utf8))
    }
    #expect(problem?.sentence == sentence)
  }

  @Test func `Days of the week are numbered as PostgreSQL's isodow has them`() {
    #expect(Repetition(every: .week, on: [.ofWeek(.mon), .ofWeek(.sun)]).isoDays == [1, 7])
    #expect(Repetition(every: .month, on: [.ofMonth(1), .ofMonth(31)]).monthDays == [1, 31])
    #expect(Repetition(every: .week).isoDays == nil)
  }
}

@Suite struct LimitTests {
  @Test(arguments: ["21:00-08:00", "00:00-00:01", "12:30-13:15/skip", "21:00-08:00/hold"])
  func `Quiet hours are read from the command line`(_ text: String) throws {
    let hours = try #require(QuietHours(text))
    #expect("\(hours.start)-\(hours.end)" == text.prefix(11))
    #expect(hours.policy == (text.hasSuffix("skip") ? .skip : .hold))
  }

  @Test(arguments: [
    "", "21:00", "21:00-21:00", "21:00-24:00", "9:00-10:00", "21:00-08:00/", "21:00-08:00/never", "-",
    "21:00-08:00-09:00",
  ])
  func `Other texts are no quiet hours`(_ text: String) { #expect(QuietHours(text) == nil) }

  @Test(arguments: [("3/24h", "3/24h", 24), ("100/30d", "100/30d", 720), ("1/1h/marketing", "1/1h marketing", 1)])
  func `A cap is read from the command line, and has a name for reports`(_ text: String, _ name: String, _ hours: Int)
    throws
  {
    let cap = try #require(Cap(text))
    #expect(cap.name == name && cap.per.hours == hours)
  }

  @Test(arguments: [
    "", "3", "0/24h", "101/24h", "3/721h", "3/31d", "3/0d", "3/24", "3/h", "3/24h/", "3/24h/all", "3/+1h",
    "3/24h/marketing/x",
  ])
  func `Other texts are no caps`(_ text: String) { #expect(Cap(text) == nil) }

  @Test func `A cap without a purpose concerns all messages`() {
    let all = Cap("1/1h"), marketing = Cap("1/1h/marketing")
    #expect(all?.concerns(.transactional) == true && all?.concerns(.marketing) == true)
    #expect(marketing?.concerns(.transactional) == false && marketing?.concerns(.marketing) == true)
  }

  @Test func `A span that is out of bounds is refused with what it must be`() {
    let problem = #expect(throws: JSONProblem.self) {
      try Cap.schema.decode(Cap.self, from: Array(#"{"count":3,"per":"40d"}"#.utf8))
    }
    #expect(problem?.sentence == "per must be 1h to 720h or 1d to 30d")
  }
}
