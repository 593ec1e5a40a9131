import Delivery
import FoundationEssentials
import Postgres
import Registry
public import Wire

extension SendoutStore {
  /// What became of a sendout's variants, time zones and limits.
  /// - Parameter isExact: whether all of a large sendout's pushes are counted, which takes long. Where it takes longer than a statement may, a
  ///   part is counted all the same.
  /// - Throws: `RegistryError.numberUnknown`.
  public func campaignFigures(
    _ customer: CustomerID, _ id: SendoutID, isExact: Bool = false
  ) async throws -> CampaignFigures {
    do {
      return try await figures(customer, id, isExact)
    } catch PostgresError.timedOut(_) where isExact {
      return try await figures(customer, id, false)
    }
  }

  private func figures(_ customer: CustomerID, _ id: SendoutID, _ isExact: Bool) async throws -> CampaignFigures {
    guard let row = try await reading.query(SendoutQueries.find, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let (sendout, ledger) = (try Sendout(row), Ledger(reading))
    let now = try await reading.query(ScheduleQueries.now)[0].decode(Date.self)
    var figures = CampaignFigures(sendoutId: id, asOf: Wire.Timestamp(now))
    figures.tests = try await tests(of: sendout.key, ledger)
    figures.series = try await series(of: sendout, now)
    guard sendout.frozenAt != nil, !sendout.isStream else { return figures }
    let counts = try await ledger.counts(sendout.key)
    let isCounted = (counts.audience <= CampaignFigures.counted || isExact) && sendout.expiredAt == nil
    figures.zones = try await ledger.zones(
      of: sendout.key, limit: CampaignFigures.zoneLimit, isCounted: isCounted || sendout.expiredAt != nil)
    let hasUnsent = counts.skipped + counts.cancelled > 0
    figures.leftOut = try await leftOut(of: sendout, ledger, isCounted: isCounted && hasUnsent)
    figures.isEstimate = !isCounted && sendout.expiredAt == nil
    try await addVariants(of: sendout, ledger, isCounted: isCounted, to: &figures)
    return figures
  }

  private func addVariants(
    of sendout: Sendout, _ ledger: Ledger, isCounted: Bool, to figures: inout CampaignFigures
  ) async throws {
    let rows = try await ledger.variants(of: sendout.key)
    let variants = rows.filter { $0.number > 0 }
    guard !variants.isEmpty else { return }
    var outcomes: [VariantOutcome]?
    if isCounted {
      outcomes = try await ledger.outcomes(sendout.key, ofVariants: variants.count)
    } else if sendout.expiredAt == nil {
      outcomes = try await ledger.sampledOutcomes(
        sendout.key, ofVariants: variants.count, pushes: CampaignFigures.counted)
    }
    let (all, shares) = (rows.reduce(0) { $0 + $1.contacts }, rows.reduce(0) { $0 + $1.share })
    figures.variants = variants.enumerated().map { index, row in
      let decided = row.decided.map { VariantCounts($0, pAdjusted: row.pAdjusted) }
      return VariantFigures(
        name: row.name, share: row.share, contacts: row.contacts, expected: shares == 0 ? 0 : all * row.share / shares,
        counts: (outcomes?[index] ?? row.kept).map { VariantCounts($0) }, atDecision: decided)
    }
    figures.waiting = rows.first { $0.number == 0 }?.contacts
    let decided = variants.compactMap(\.decided)
    let sizes = [
      (rows.map(\.contacts), rows.map(\.share)),
      (decided.count == variants.count ? decided.map(\.accepted) : [], variants.map(\.share)),
    ]
    figures.sizesFit = sizes.allSatisfy { Significance.sizes($0, shares: $1) >= Significance.sizeLevel }
  }

  /// By the names of steps, in their order, and then by other reasons.
  private func leftOut(
    of sendout: Sendout, _ ledger: Ledger, isCounted: Bool
  ) async throws -> [CampaignFigures.LeftOut] {
    let atFreeze = try await ledger.leftOutAtFreeze(of: sendout.key)
    let byNow = isCounted ? try await ledger.leftOutByNow(of: sendout.key) : [:]
    let steps = PreflightReply.StepName.allCases.map(\.rawValue)
    let reasons = steps + Set(atFreeze.keys).union(byNow.keys).subtracting(steps).sorted()
    let apps = try await PushApps(reading).list(sendout.key.customer).filter { sendout.apps.contains($0.id) }
    let audience = try sendout.audience()
    return reasons.compactMap { reason in
      let contacts = byNow[reason] ?? atFreeze[reason] ?? 0
      guard contacts > 0 else { return nil }
      let filter = Filter(
        findingLeftOut: reason, of: sendout.key.sendout, audience, apps: apps, isKept: sendout.expiredAt == nil)
      return CampaignFigures.LeftOut(
        reason: reason, contacts: contacts, atFreeze: sendout.expiredAt == nil ? atFreeze[reason] : nil,
        filter: filter)
    }
  }

  private func tests(of key: SendoutKey, _ ledger: Ledger) async throws -> [CampaignFigures.TestFigures] {
    let streams = try await reading.query(SendoutQueries.tests, key.customer.rawValue, key.sendout.rawValue)
      .map { try Sendout($0) }.suffix(CampaignFigures.listed)
    guard !streams.isEmpty else { return [] }
    let totals = try await ledger.totals(key.customer, of: streams.map(\.key.sendout))
    return streams.reversed().map { stream in
      let counts = totals[stream.key.sendout] ?? SendoutCounts()
      return CampaignFigures.TestFigures(
        sendoutId: stream.key.sendout, startedAt: Wire.Timestamp(stream.startedAt ?? stream.createdAt),
        pushes: counts.audience, accepted: counts.accepted)
    }
  }

  private func series(of sendout: Sendout, _ now: Date) async throws -> SeriesFigures? {
    let customer = sendout.key.customer
    guard let series = sendout.series?.id,
      let row = try await reading.query(CalendarQueries.series, customer.rawValue, series.rawValue).first
    else { return nil }
    let (repetition, endedAt) = try row.decode(JSONDocument.self, Date?.self)
    let times = try await reading.query(
      CalendarQueries.times, customer.rawValue, series.rawValue, Int64(CampaignFigures.listed))
    let expected = try await reading.query(
      CalendarQueries.expected, customer.rawValue, now,
      now.addingTimeInterval(86_400 * Double(CampaignCalendar.longest)), try await timeZone(of: customer),
      Int64(CampaignFigures.expected), series.rawValue)
    return SeriesFigures(
      seriesId: series, repeat: try JSONCoding.decode(Repetition.self, from: repetition.text.utf8),
      endedAt: endedAt.map(Wire.Timestamp.init), times: try times.map { try SeriesFigures.Time($0) },
      expected: try expected.map { try CalendarEntry(expected: $0) })
  }
}

extension SeriesFigures.Time {
  fileprivate init(_ row: Row) throws {
    let (sendout, number, state, start, local) = try row.decode(
      Int64.self, Int32.self, String.self, Date?.self, Date?.self)
    guard let state = SendoutState(rawValue: state) else {
      throw PostgresError.decoding(statement: "series", column: "state", .format("an unknown state"))
    }
    self.init(
      sendoutId: SendoutID(sendout), seriesNo: Int(number), state: state, startAt: start.map(Wire.Timestamp.init),
      localTime: local.flatMap { WallTime(utc: $0) })
  }
}

extension VariantCounts {
  fileprivate init(_ outcome: VariantOutcome, pAdjusted: Double? = nil) {
    let opened = Significance.Opened(outcome)
    let interval = Significance.interval(opened)
    self.init(
      accepted: outcome.accepted, opened: outcome.opened, rate: opened.rate, low: interval.lowerBound,
      high: interval.upperBound, pAdjusted: pAdjusted)
  }
}

extension Filter {
  /// The filter that finds contacts whom a sendout left out for a reason.
  /// - Parameters:
  ///   - reason: the name of a step, or of another reason of the hub.
  ///   - isKept: whether the ledger still has the sendout's pushes.
  /// - Returns: nil where none finds them.
  init?(
    findingLeftOut reason: String, of sendout: SendoutID, _ audience: Audience, apps: [PushApp], isKept: Bool
  ) {
    let found: Filter
    switch PreflightReply.StepName(rawValue: reason) {
    case .excluded:
      guard let excluded = audience.exclude, let included = audience.included.filter else { return nil }
      found = included == .everyone ? excluded : .and([included, excluded])
    case .noDevice:
      guard let included = audience.included.filter, let devices = Filter(devicesOf: apps) else { return nil }
      found = included == .everyone ? .not(devices) : .and([included, .not(devices)])
    default:
      let kind = FilterOutcome.Kind.allCases.first { $0.reason?.rawValue == reason } ?? .skipped
      guard isKept else { return nil }
      found = .outcome(FilterOutcome(kind, of: sendout.rawValue))
    }
    // Together they may have more conditions than a filter can.
    guard (try? Filter(text: found.text)) != nil else { return nil }
    self = found
  }

  /// Whoever has a device of one of these apps.
  private init?(devicesOf apps: [PushApp]) {
    let each = apps.map { app in
      Filter.and([
        .compare(.device(.app), .compare(.equal, .text(UTF8String(app.appID)))),
        .compare(.device(.platform), .compare(.equal, .text(UTF8String(app.type.name)))),
      ])
    }
    guard let first = each.first else { return nil }
    self = .device(each.count == 1 ? first : .or(each))
  }
}

extension Audience {
  /// The filter that means the same contacts, without what is excluded; nil for original ids, which no filter can name.
  fileprivate var filter: Filter? {
    switch self {
    case .all: .everyone
    case .list(let list): .list(.number(list.rawValue))
    case .lists(let lists):
      lists.count == 1
        ? .list(.number(lists[0].rawValue)) : .or(lists.map { .list(.number($0.rawValue)) })
    case .segment(let segment): .segment(.number(segment.rawValue))
    case .filter(let filter): filter
    case .excluding(let audience, _): audience.filter
    case .originalIds: nil
    }
  }
}
