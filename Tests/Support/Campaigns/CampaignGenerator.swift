import FoundationEssentials
import Wire

/// Makes cases for `CampaignModel`, the same from the same seed. Most play on days when clocks change, and around their quiet hours.
public struct CampaignGenerator: Sendable {
  private let model: CampaignModel
  private let zones: [String]
  private let changingZones: [String]
  private let countries: [String]
  private let span: Range<Int>
  private var random: SeededGenerator

  /// - Parameter span: within it clocks change.
  public init(_ model: CampaignModel, span: Range<Int>, seed: UInt64) {
    self.model = model
    self.span = span
    zones = model.clocks.keys.sorted()
    changingZones = zones.filter { model.clocks[$0]?.changes.contains(where: span.contains) == true }
    countries = model.zoneOfCountry.filter { model.clocks[$0.value] != nil }.map(\.key).sorted()
    random = SeededGenerator(seed: seed)
  }

  private mutating func chance(_ percent: Int) -> Bool { number(1...100) <= percent }
  private mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
  private mutating func one<Value>(of values: [Value]) -> Value { values[number(0...values.count - 1)] }

  /// What the parts of a case have in common.
  private struct Scene {
    /// Around it things happen: mostly, clocks of a zone change then.
    let moment: Int
    let zones: [String]
    let clock: ZoneClock
  }

  public mutating func campaign() -> CampaignCase {
    let scene = scene()
    var given = CampaignCase(
      timeZone: one(of: scene.zones), quietHours: chance(60) ? quietHours(scene) : nil,
      caps: chance(50) ? caps() : [])
    given.sendouts = (0..<(chance(40) ? 2 : 1)).map { _ in sendout(scene) }
    let start = given.sendouts.map(\.madeAt).min() ?? scene.moment
    given.contacts = (0..<number(4...18)).map { _ in contact(scene, before: start, given) }
    let last = given.sendouts.map(\.madeAt).max() ?? scene.moment
    given.outages = outages(scene, given, after: last)
    for index in given.sendouts.indices { given.sendouts[index] = withPeople(given.sendouts[index], scene, given) }
    return given
  }

  private mutating func scene() -> Scene {
    let zone = one(of: chance(75) ? changingZones : zones)
    guard let clock = model.clocks[zone] else { preconditionFailure("\(zone) is unknown") }
    let changes = clock.changes.filter(span.contains)
    let moment = changes.isEmpty ? number(span.lowerBound / 60...span.upperBound / 60) * 60 : one(of: changes)
    return Scene(moment: moment, zones: [zone] + (0..<number(0...4)).map { _ in one(of: zones) }, clock: clock)
  }

  // MARK: Times

  private mutating func minutes(_ range: ClosedRange<Int>) -> Int {
    chance(40) ? one(of: [-120, -90, -60, -45, -30, -15, 0, 15, 30, 60, 90, 120]) * 60 : number(range) * 60
  }

  private func time(ofMinute minute: Int) -> TimeOfDay {
    let minute = (minute % 1440 + 1440) % 1440
    func digits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    guard let time = TimeOfDay("\(digits(minute / 60)):\(digits(minute % 60))") else {
      preconditionFailure("\(minute) is no minute of a day")
    }
    return time
  }

  private mutating func quietHours(_ scene: Scene) -> QuietHours {
    let near = scene.clock.minute(at: scene.moment + minutes(-200...200))
    let length = chance(70) ? number(60...780) : number(1...1439)
    let (start, end) = chance(50) ? (near, near + length) : (near - length, near)
    return QuietHours(start: time(ofMinute: start), end: time(ofMinute: end), policy: chance(70) ? .hold : .skip)
  }

  private mutating func caps() -> [Cap] {
    (0..<number(1...3)).reduce(into: []) { caps, _ in
      guard let period = CapPeriod(one(of: ["1h", "2h", "24h", "1d", "7d"])) else { preconditionFailure("no period") }
      let cap = Cap(count: number(1...3), per: period, purpose: one(of: [nil, nil, .marketing, .transactional]))
      if !caps.contains(cap) { caps.append(cap) }
    }
  }

  private func timestamp(_ moment: Int) -> Timestamp { Timestamp(.init(timeIntervalSince1970: Double(moment))) }

  // MARK: Sendouts

  private mutating func sendout(_ scene: Scene) -> CampaignCase.Sendout {
    var campaign = CampaignFields()
    let start = scene.moment + minutes(-200...200)
    var madeAt = start - number(1...90_000)
    let kind = number(1...100)
    if kind <= 55 {
      let wall = scene.clock.wall(at: start)
      guard let day = CalendarDay(number: wall / 86_400) else { preconditionFailure("\(wall) is no day") }
      campaign.localTime = WallTime(day: day, time: time(ofMinute: wall % 86_400 / 60))
      campaign.onMissed = one(of: [nil, .skip, .now, .nextDay])
      // Its time is over in all zones twelve hours after it is over in UTC.
      if chance(60) { madeAt = min(start + number(-10_000...10_000), wall / 60 * 60 + 12 * 3600 - 1) }
    } else if kind <= 90 {
      campaign.startAt = timestamp(start)
    } else {
      madeAt = start
    }
    if chance(30) { campaign.spreadMinutes = one(of: [1, 7, 60, 119, 120, 121, 240, 241, 1440]) }
    if chance(70) { campaign.lateMinutes = one(of: [1, 10, 30, 120, 10_080, 10_080]) }
    if chance(25) {
      campaign.endAt = timestamp(max(start, madeAt) + (chance(50) ? number(1...180) : number(1...1500)) * 60)
    }
    if chance(20) { campaign.holdoutPercent = number(1...50) }
    if chance(25) { addVariants(to: &campaign) }
    if chance(15) { campaign.ignoreCaps = true }
    if !campaign.hasTime, campaign.spreadMinutes == nil, campaign.variants == nil { campaign.holdoutPercent = 5 }
    let purpose = chance(80) ? MessagePurpose.marketing : .transactional
    if purpose == .marketing, chance(25) {
      campaign.quietHours = chance(30) ? .lifted : .set(quietHours(scene))
    }
    var sendout = CampaignCase.Sendout(purpose: purpose, campaign: campaign, madeAt: madeAt)
    if !campaign.hasTime { sendout.startedAt = madeAt }
    if chance(25) { sendout.ttl = one(of: [600, 3600, 6 * 3600, 43_200]) }
    return sendout
  }

  private mutating func addVariants(to campaign: inout CampaignFields) {
    var shares = chance(50) ? [number(1...98)] : [number(1...49), number(1...49)]
    if chance(50) {
      campaign.winner = WinnerRule(afterMinutes: number(1...600), undecided: one(of: [.best, .stop]))
      if shares.count == 1 { shares.append(number(1...99 - shares[0])) }
    } else {
      shares.append(100 - shares.reduce(0, +))
    }
    campaign.variants = shares.enumerated().map { index, share in
      MessageVariant(name: ["A", "B", "C"][index], share: share, message: MessageBody())
    }
  }

  /// What people do to it, while hubs and the database are there.
  private mutating func withPeople(
    _ given: CampaignCase.Sendout, _ scene: Scene, _ whole: CampaignCase
  ) -> CampaignCase.Sendout {
    var sendout = given
    if sendout.campaign.hasTime, chance(10) {
      sendout.startedAt = whole.available(sendout.madeAt + number(1...20_000))
    }
    if let start = sendout.campaign.startAt?.seconds, chance(60) {
      let found = whole.available(start)
      let later = whole.available(found + number(1...20_000))
      if later > found { sendout.resumedAt = later }
    }
    if chance(20) {
      // Not at the moment of a push, which is a whole minute.
      let start = (scene.moment + minutes(-300...600)) / 60 * 60 + 30
      let pause = start..<(start + number(1...600) * 60)
      let isApart = whole.outages.allSatisfy { !($0.lowerBound - 120..<$0.upperBound + 120).overlaps(pause) }
      if isApart, pause.lowerBound > sendout.madeAt { sendout.pause = pause }
    }
    return sendout
  }

  private mutating func outages(_ scene: Scene, _ given: CampaignCase, after start: Int) -> [Range<Int>] {
    let starts = given.sendouts.map {
      $0.campaign.startAt?.seconds ?? $0.campaign.localTime.map { $0.seconds - scene.clock.offset(at: scene.moment) }
        ?? scene.moment
    }
    var outages: [Range<Int>] = []
    for _ in 0..<one(of: [0, 0, 1, 1, 2, 3]) {
      let planned = one(of: starts)
      var (from, length) = (scene.moment + minutes(-500...1000), number(1...20_000))
      switch (number(1...100), given.quietHours) {
      case (...40, _): from = planned - number(0...3600)
      case (...70, let quiet?):
        // It ends after quiet hours have begun, or have ended.
        let edge = chance(50) ? quiet.start : quiet.end
        let until = planned + (edge.minutes - scene.clock.minute(at: planned) + 1440) % 1440 * 60
        from = (chance(60) ? planned : until) - number(0...3600)
        length = max(until - from, 0) + number(1...10_000)
      default: break
      }
      if chance(20) { length = one(of: [60, 600, 1800, 3600, 7200]) + number(-1...1) }
      from = max(from, (outages.last?.upperBound ?? start) + 300)
      outages.append(from..<from + length)
    }
    return outages
  }

  // MARK: Contacts

  private mutating func contact(_ scene: Scene, before start: Int, _ given: CampaignCase) -> CampaignCase.Contact {
    var contact = CampaignCase.Contact()
    contact.zone = zone(scene, percent: 60)
    if chance(30) { contact.country = country() }
    contact.isExcluded = chance(8)
    if chance(10) { contact.suppression = one(of: SuppressionScope.allCases) }
    contact.devices = (0..<one(of: [0, 1, 1, 1, 1, 1, 2, 2, 3])).map { _ in
      var device = CampaignCase.Device(registeredAt: start - number(1...5) * 86_400)
      device.zone = zone(scene, percent: 40)
      if chance(30) { device.country = country() }
      device.isValid = chance(88)
      device.isSandbox = chance(30)
      if chance(8) { device.suppression = one(of: SuppressionScope.allCases) }
      return device
    }
    guard !given.caps.isEmpty else { return contact }
    let moments = (0..<number(0...5)).map { _ in
      // A rule looks back to just before or just after some of them.
      let edge = given.sendouts.compactMap { $0.campaign.startAt?.seconds }.first
      if let edge, chance(40) { return edge - 3600 * one(of: given.caps).per.hours + number(-1...1) }
      return start - number(1...90_000)
    }
    contact.reached = moments.filter { $0 < start }.sorted().map { moment in
      CampaignCase.Reached(at: moment, purpose: chance(60) ? .marketing : .transactional)
    }
    return contact
  }

  /// A zone of the scene, or one that nobody knows.
  private mutating func zone(_ scene: Scene, percent: Int) -> String? {
    guard chance(percent) else { return nil }
    return chance(3) ? "Mars/Olympus" : one(of: scene.zones)
  }

  /// Mostly one with a zone alone.
  private mutating func country() -> String {
    if chance(20) { return one(of: ["US", "XX", "AU"]) }
    let country = one(of: countries)
    return chance(20) ? country.lowercased() : country
  }
}
