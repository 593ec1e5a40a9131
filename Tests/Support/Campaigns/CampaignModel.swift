import FoundationEssentials
public import Wire

/// When campaigns reach each contact, or why they do not, written a second time without SQL: tests compare the ledger with it. What quiet hours do is
/// found by looking at the clock minute by minute.
public struct CampaignModel: Sendable {
  /// Of the zones that this machine and the database know in the same way.
  public let clocks: [String: ZoneClock]
  /// The zones of countries that have one alone.
  public let zoneOfCountry: [String: String]

  /// - Parameter zoneTab: tzdata's `zone.tab`.
  public init(clocks: [String: ZoneClock], zoneTab: String) {
    self.clocks = clocks
    let lines = zoneTab.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { $0.split(separator: "\t") }
    zoneOfCountry = Dictionary(grouping: lines.filter { $0.count > 2 }) { String($0[0]) }
      .compactMapValues { $0.count == 1 ? String($0[0][2]) : nil }
  }

  /// Of each sendout. Where several do something at the same moment, the first of them comes first.
  public func outcomes(of given: CampaignCase) -> [CampaignOutcome] {
    var course = Course(given, clocks: given.contacts.map { clock(of: $0, given) })
    course.run()
    return course.outcomes
  }

  /// The contact's own zone, else that of its newest valid device that tells one, else that of its country, else the customer's, which also
  /// stands for one that nobody knows.
  func clock(of contact: CampaignCase.Contact, _ given: CampaignCase) -> ZoneClock {
    let devices = contact.devices.filter(\.isValid).sorted { ($0.registeredAt, $0.id) > ($1.registeredAt, $1.id) }
    let country = contact.country ?? devices.lazy.compactMap(\.country).first
    let told =
      contact.zone ?? devices.lazy.compactMap(\.zone).first ?? country.flatMap { zoneOfCountry[$0.uppercased()] }
    guard let clock = told.flatMap({ clocks[$0] }) ?? clocks[given.timeZone] else {
      preconditionFailure("the case is of unknown zones")
    }
    return clock
  }
}

extension WallTime {
  /// Seconds since 1970-01-01T00:00 on the same wall.
  var seconds: Int { day.number * 86_400 + time.minutes * 60 }
}

extension QuietHours {
  /// Whether a clock shows a time of them.
  func contain(minute: Int) -> Bool {
    start < end
      ? start.minutes <= minute && minute < end.minutes : minute >= start.minutes || minute < end.minutes
  }

  /// When a clock shows a time of them next: now, or at a later whole minute.
  public func start(from moment: Int, _ clock: ZoneClock) -> Int {
    var minute = moment
    while !contain(minute: clock.minute(at: minute)) { minute = minute / 60 * 60 + 60 }
    return minute
  }

  /// When a clock first shows a time outside of them; nil if it does so now.
  public func end(after moment: Int, _ clock: ZoneClock) -> Int? {
    guard contain(minute: clock.minute(at: moment)) else { return nil }
    var minute = moment / 60 * 60 + 60
    while contain(minute: clock.minute(at: minute)) { minute += 60 }
    return minute
  }

  /// Over how many minutes those are spread who have waited: at most as many as are not quiet.
  var spread: Int { min(15, (start.minutes - end.minutes + 1440) % 1440) }
}

/// What happens in a case, one moment after the other.
private struct Course {
  /// What a hub does at a moment for a sendout.
  private struct Look {
    enum Action {
      case freeze
      case decide
      /// - Parameter planned: of the push, if it has a moment.
      case claim(contact: Int, planned: Int?, isFirst: Bool)
    }

    let at: Int
    let sendout: Int
    let action: Action

    /// Of what falls on one moment.
    private var rank: Int {
      switch action {
      case .freeze: 0
      case .decide: 1
      case .claim: 2
      }
    }

    static func isEarlier(_ one: Look, _ other: Look) -> Bool {
      (one.at, one.sendout, one.rank) < (other.at, other.sendout, other.rank)
    }
  }

  private let given: CampaignCase
  private let clocks: [ZoneClock]
  private var looks: [Look] = []
  /// By contact, what caps count.
  private var reached: [[CampaignCase.Reached]]
  /// By sendout, its moment if it has one.
  private var starts: [Int?]
  /// By sendout, the contacts who wait for its winner and when each would be due.
  private var rest: [[(contact: Int, due: Int)]]
  /// By sendout, when the winner is to be decided.
  private var decisions: [Int?]
  /// By sendout, when its first push left.
  private var firstSent: [Int?]
  private(set) var outcomes: [CampaignOutcome]

  init(_ given: CampaignCase, clocks: [ZoneClock]) {
    self.given = given
    self.clocks = clocks
    reached = given.contacts.map(\.reached)
    starts = given.sendouts.map { _ in nil }
    rest = given.sendouts.map { _ in [] }
    decisions = given.sendouts.map { _ in nil }
    firstSent = given.sendouts.map { _ in nil }
    outcomes = given.sendouts.map { _ in CampaignOutcome() }
  }

  mutating func run() {
    for index in given.sendouts.indices {
      guard let start = start(of: given.sendouts[index]) else { continue }
      starts[index] = given.sendouts[index].campaign.startAt == nil ? nil : start.planned
      looks.append(Look(at: start.frozenAt, sendout: index, action: .freeze))
    }
    while let next = looks.indices.min(by: { Look.isEarlier(looks[$0], looks[$1]) }) {
      let look = looks.remove(at: next)
      switch look.action {
      case .freeze: freeze(look.sendout, at: look.at)
      case .decide: decide(look.sendout, at: look.at)
      case .claim(let contact, let planned, let isFirst):
        claim(look.sendout, contact, planned: planned, isFirst: isFirst, at: look.at)
      }
    }
  }

  // MARK: The start

  /// When the audience is frozen, and the moment that is planned then; nil if it waits for a person who never comes.
  private func start(of sendout: CampaignCase.Sendout) -> (frozenAt: Int, planned: Int)? {
    let campaign = sendout.campaign
    let hand = sendout.startedAt.map { (frozenAt: $0, planned: $0) }
    guard let planned = campaign.startAt?.seconds ?? firstMoment(of: sendout) else { return hand }
    let moment = given.available(max(planned, sendout.madeAt))
    if let hand, hand.frozenAt <= moment { return hand }
    guard campaign.startAt != nil, moment > planned + campaign.lateSeconds else { return (moment, planned) }
    return sendout.resumedAt.map { ($0, $0) }
  }

  /// When the local time of a sendout comes first; nil without local time.
  private func firstMoment(of sendout: CampaignCase.Sendout) -> Int? {
    guard let wall = sendout.campaign.localTime?.seconds else { return nil }
    let moments = given.contacts.indices.filter { !given.contacts[$0].isExcluded }.compactMap { contact in
      localMoment(of: sendout, clocks[contact], now: sendout.madeAt)
    }
    // The clocks furthest behind are those of UTC-12.
    return moments.min() ?? wall + 12 * 3600 + (sendout.campaign.onMissed == .nextDay ? 86_400 : 0)
  }

  /// When a local time comes; nil where it was over when the sendout was scheduled, and that leaves contacts out.
  private func localMoment(of sendout: CampaignCase.Sendout, _ clock: ZoneClock, now: Int) -> Int? {
    guard let wall = sendout.campaign.localTime?.seconds else { return nil }
    let moment = clock.moment(showing: wall)
    if moment >= sendout.madeAt { return moment }
    switch sendout.campaign.onMissed ?? .skip {
    case .skip: return nil
    case .now: return now
    case .nextDay:
      let next = clock.moment(showing: wall + 86_400)
      return next >= sendout.madeAt ? next : nil
    }
  }

  // MARK: The freeze

  private mutating func freeze(_ index: Int, at now: Int) {
    let sendout = given.sendouts[index]
    outcomes[index].frozenAt = now
    var first: Int?
    for contact in given.contacts.indices {
      let verdict = verdict(index, contact, at: now)
      outcomes[index].steps[verdict.step, default: 0] += 1
      let devices = given.contacts[contact].devices.filter(\.isValid)
      switch verdict {
      case .out(.excluded, _), .out(.noDevice, _): break
      case .out(_, let reason):
        for device in devices { outcomes[index].pushes[device.id] = .ended(.skipped, reason) }
      case .left(let due, let isPlanned):
        for device in devices where sendout.isStopped(by: device.suppression) {
          outcomes[index].pushes[device.id] = .ended(.skipped, "suppressed")
        }
        first = min(first ?? due, due)
        if sendout.variant(of: given.contacts[contact].id) == 0 {
          rest[index].append((contact, due))
        } else {
          look(at: max(due, now), index, contact, planned: isPlanned ? due : nil)
        }
      }
    }
    guard let winner = sendout.campaign.winner else { return }
    plan(decision: (first ?? now) + winner.afterMinutes * 60, of: index, at: now)
  }

  private mutating func plan(decision: Int, of index: Int, at now: Int) {
    if let end = given.sendouts[index].campaign.endAt?.seconds, end <= decision {
      // Nothing is decided any more.
      for (contact, _) in rest[index] { settle(index, contact, .ended(.skipped, "expired")) }
    } else {
      decisions[index] = decision
      looks.append(Look(at: given.available(max(decision, now)), sendout: index, action: .decide))
    }
  }

  private enum Verdict {
    case out(PreflightReply.StepName, reason: String)
    /// - Parameter isPlanned: whether it has a moment, after which it can be late.
    case left(due: Int, isPlanned: Bool)

    var step: PreflightReply.StepName { if case .out(let step, _) = self { step } else { .left } }

    static func out(_ step: PreflightReply.StepName) -> Verdict { .out(step, reason: step.rawValue) }
  }

  /// The first step that leaves a contact out, or when its pushes are due.
  private func verdict(_ number: Int, _ index: Int, at now: Int) -> Verdict {
    let (contact, sendout) = (given.contacts[index], given.sendouts[number])
    let campaign = sendout.campaign
    let devices = contact.devices.filter(\.isValid)
    if contact.isExcluded { return .out(.excluded) }
    if sendout.isStopped(by: contact.suppression) { return .out(.suppressed) }
    if devices.isEmpty { return .out(.noDevice) }
    if devices.allSatisfy({ sendout.isStopped(by: $0.suppression) }) { return .out(.suppressed) }
    if let percent = campaign.holdoutPercent, sendout.place(of: contact.id, use: 1) < 100 * percent {
      return .out(.heldOut)
    }
    if let cap = brokenCap(sendout, index, at: now) { return .out(.capped, reason: cap) }
    let start =
      campaign.localTime == nil ? starts[number] ?? now : localMoment(of: sendout, clocks[index], now: now)
    guard let start else { return .out(.missed) }
    let planned = start + 60 * sendout.spreadMinutes(of: contact.id)
    let end = campaign.endAt?.seconds ?? .max
    if planned >= end { return .out(.missed, reason: "expired") }
    let isPlanned = campaign.hasTime || campaign.spreadMinutes != nil
    guard let quiet = given.quietHours(of: sendout), let until = quiet.end(after: planned, clocks[index]) else {
      return .left(due: planned, isPlanned: isPlanned)
    }
    if quiet.policy == .skip || end <= until || planned + (sendout.ttl ?? .max / 2) <= until { return .out(.quiet) }
    let due = until + 60 * sendout.heldMinutes(of: contact.id, quiet)
    return due >= end ? .out(.missed, reason: "expired") : .left(due: due, isPlanned: true)
  }

  /// The reason of the first rule that one more push would break.
  private func brokenCap(_ sendout: CampaignCase.Sendout, _ contact: Int, at now: Int) -> String? {
    guard sendout.campaign.ignoreCaps != true else { return nil }
    let broken = given.caps(of: sendout).first { cap in
      let counted = reached[contact].count { reached in
        (cap.purpose == nil || cap.purpose == reached.purpose) && reached.at > now - 3600 * cap.per.hours
      }
      return counted >= cap.count
    }
    return broken.map { "capped \($0.name)" }
  }

  // MARK: The winner

  private mutating func decide(_ index: Int, at now: Int) {
    guard let decision = decisions[index] else { return }
    if let later = decisionAfterPause(of: index, at: now), later > decision {
      return plan(decision: later, of: index, at: now)
    }
    for (contact, due) in rest[index] {
      if given.sendouts[index].campaign.winner?.undecided == .stop {
        settle(index, contact, .ended(.cancelled, "no_winner"))
      } else {
        let planned = max(due, decision)
        look(at: max(planned, now), index, contact, planned: planned)
      }
    }
  }

  /// When it is decided about a sendout that somebody paused before its first push.
  private func decisionAfterPause(of index: Int, at now: Int) -> Int? {
    guard let winner = given.sendouts[index].campaign.winner, let pause = pause(of: index), pause.lowerBound <= now,
      firstSent[index].map({ $0 >= pause.upperBound }) ?? true
    else { return nil }
    return pause.upperBound + winner.afterMinutes * 60
  }

  // MARK: Claims

  /// A hub claims a contact's pushes at a moment, or at the first after it at which hubs are there and nobody has paused the sendout.
  private mutating func look(at moment: Int, _ index: Int, _ contact: Int, planned: Int?, isFirst: Bool = true) {
    var moment = given.available(moment)
    if let pause = pause(of: index), pause.contains(moment) { moment = pause.upperBound }
    looks.append(
      Look(at: moment, sendout: index, action: .claim(contact: contact, planned: planned, isFirst: isFirst)))
  }

  /// A pause counts once the audience is frozen.
  private func pause(of index: Int) -> Range<Int>? {
    guard let pause = given.sendouts[index].pause, let frozen = outcomes[index].frozenAt, frozen < pause.lowerBound
    else { return nil }
    return pause
  }

  private mutating func claim(_ index: Int, _ contact: Int, planned: Int?, isFirst: Bool, at now: Int) {
    let sendout = given.sendouts[index]
    let end = sendout.campaign.endAt?.seconds ?? .max
    if end <= now { return settle(index, contact, .ended(.skipped, "expired")) }
    if isFirst, let planned {
      let paused = pause(of: index)
      let latest = (paused?.contains(planned) == true ? paused?.upperBound : nil) ?? planned
      if now > latest + sendout.campaign.lateSeconds {
        return settle(index, contact, .ended(.skipped, "missed"))
      }
    }
    if let quiet = given.quietHours(of: sendout), let until = quiet.end(after: now, clocks[contact]) {
      if quiet.policy == .skip || end <= until || (planned ?? now) + (sendout.ttl ?? .max / 2) <= until {
        return settle(index, contact, .ended(.skipped, "quiet"))
      }
      let held = until + 60 * sendout.heldMinutes(of: given.contacts[contact].id, quiet)
      return look(at: held, index, contact, planned: planned, isFirst: false)
    }
    if !given.caps(of: sendout).isEmpty {
      if let cap = brokenCap(sendout, contact, at: now) {
        return settle(index, contact, .ended(.skipped, cap))
      }
      reached[contact].append(CampaignCase.Reached(at: now, purpose: sendout.purpose))
    }
    firstSent[index] = firstSent[index] ?? now
    settle(
      index, contact,
      .sent(planned: planned, at: now, variant: sendout.variant(of: given.contacts[contact].id)))
  }

  /// What becomes of a contact's pushes, but for devices that are suppressed.
  private mutating func settle(_ index: Int, _ contact: Int, _ push: CampaignOutcome.Push) {
    let sendout = given.sendouts[index]
    for device in given.contacts[contact].devices where device.isValid && !sendout.isStopped(by: device.suppression) {
      outcomes[index].pushes[device.id] = push
    }
  }
}

// MARK: - What a sendout says

extension CampaignCase {
  /// Only marketing has quiet hours.
  fileprivate func quietHours(of sendout: Sendout) -> QuietHours? {
    guard sendout.purpose == .marketing else { return nil }
    guard let own = sendout.campaign.quietHours else { return quietHours }
    return own.hours
  }

  fileprivate func caps(of sendout: Sendout) -> [Cap] {
    caps.filter { $0.purpose == nil || $0.purpose == sendout.purpose }
  }
}

extension CampaignCase.Sendout {
  fileprivate func isStopped(by scope: SuppressionScope?) -> Bool {
    scope == .all || scope == .marketing && purpose == .marketing
  }

  /// A contact's place by the hash that the database has: the same for all its devices.
  fileprivate func place(of contact: Int64, use: UInt64) -> Int {
    let seed = UInt64(bitPattern: HashOfInt8.extended(id, seed: use))
    return Int((HashOfInt8.extended(contact, seed: seed) & 0x7FFF_FFFF) % 10_000)
  }

  /// From 1 on, 0 for one who waits for the winner; nil without variants.
  fileprivate func variant(of contact: Int64) -> Int? {
    guard let variants = campaign.variants else { return nil }
    let place = place(of: contact, use: 2)
    var sum = 0
    for (index, variant) in variants.enumerated() {
      sum += 100 * variant.share
      if place < sum { return index + 1 }
    }
    return 0
  }

  /// By how much later than the first a contact is due: whole minutes in at most 120 steps.
  fileprivate func spreadMinutes(of contact: Int64) -> Int {
    guard let minutes = campaign.spreadMinutes else { return 0 }
    let step = max(1, (minutes + 119) / 120)
    let steps = (minutes + step - 1) / step
    return steps > 1 ? place(of: contact, use: 3) * steps / 10_000 * step : 0
  }

  fileprivate func heldMinutes(of contact: Int64, _ quiet: QuietHours) -> Int {
    place(of: contact, use: 4) % quiet.spread
  }
}

extension CampaignFields {
  fileprivate var lateSeconds: Int { 60 * (lateMinutes ?? 60) }
}

extension Timestamp {
  var seconds: Int { Int(date.timeIntervalSince1970) }
}
