import Delivery
import Embedded
import FoundationEssentials
import Operations
import Wire

/// What a sendout's page shows of its variants, zones and limits.
extension ConsoleCall {
  /// Values for `{{>_campaign}}`.
  func campaign(_ figures: CampaignFigures, of sendout: SendoutReply) -> [String: Any] {
    var values: [String: Any] = [
      "isPart": figures.isEstimate, "counted": ChartText.grouped(CampaignFigures.counted),
      "exactHref": "/console/sendouts/\(sendout.sendoutId)?exact=true",
    ]
    values["comparison"] = comparison(figures, of: sendout)
    values["places"] = places(figures, of: sendout)
    values["gone"] = leftOut(figures, of: sendout)
    values["turns"] = series(figures, of: sendout)
    values["tests"] = figures.tests.isEmpty ? [] : [["days": figures.tests.map(test)]]
    return values
  }

  private func test(_ test: CampaignFigures.TestFigures) -> [String: Any] {
    [
      "at": zone.time(test.startedAt), "pushes": ChartText.grouped(test.pushes),
      "accepted": ChartText.grouped(test.accepted),
      "href": allows(SendoutOperations.recipients)
        ? "/console/sendouts/\(test.sendoutId)/recipients" : "/console/sendouts/\(test.sendoutId)",
    ]
  }

  // MARK: Variants

  /// The variants beside each other; none for a sendout without any.
  private func comparison(_ figures: CampaignFigures, of sendout: SendoutReply) -> [[String: Any]] {
    guard let variants = sendout.campaign.variants, !variants.isEmpty else { return [] }
    let decision = sendout.decision
    let counts = figures.variants.flatMap { [$0.counts, $0.atDecision].compactMap { $0 } }.filter { $0.accepted > 0 }
    // In steps of 5 %, so that the picture of a few percent fills its place.
    let scale = max(0.05, ((counts.map(\.high).max() ?? 1) * 20).rounded(.up) / 20)
    let isOpen =
      sendout.campaign.winner != nil && decision.map { $0.state != .decided } == true
      && (sendout.state == .running || sendout.state == .paused) && allows(CampaignOperations.winner)
    let rows = variants.enumerated().map { index, variant -> [String: Any] in
      let found = figures.variants.indices.contains(index) ? figures.variants[index] : nil
      var row: [String: Any] = [
        "name": variant.name, "share": "\(variant.share)\u{A0}%",
        "contacts": found.map { ChartText.grouped($0.contacts) } ?? "",
        "expected": figures.sizesFit == false ? found.map { ChartText.grouped($0.expected) } ?? "" : "",
        "accepted": found?.counts.map { ChartText.grouped($0.accepted) } ?? "",
        "opened": found?.counts.map { ChartText.grouped($0.opened) } ?? "",
        "rate": found?.counts.map { ChartText.percent($0.opened, of: $0.accepted) } ?? "",
        "interval": found?.counts.flatMap { $0.accepted > 0 ? Self.interval($0) : nil } ?? "",
        "isWinner": decision?.variant.map { $0.hasSameBytes(as: variant.name) } ?? false,
        "message": SendoutPages.message(variant.message), "template": variant.template ?? "", "number": index + 1,
      ]
      if let now = found?.counts ?? found?.atDecision, now.accepted > 0 {
        row["picture"] = Figures.interval(
          low: now.low, rate: now.rate, high: now.high, then: found?.atDecision?.rate, upTo: scale,
          label: "\(variant.name): \(ChartText.percent(now.opened, of: now.accepted)), \(Self.interval(now))")
      }
      if let then = found?.atDecision {
        row["then"] = [
          "rate": ChartText.percent(then.opened, of: then.accepted), "interval": Self.interval(then),
          "opened": ChartText.grouped(then.opened), "accepted": ChartText.grouped(then.accepted),
          "p": then.pAdjusted.map(Self.probability) ?? "",
        ]
      }
      if isOpen {
        row["choose"] = ConsolePath.path("/console/sendouts/\(sendout.sendoutId)/winner", ["variant": variant.name])
      }
      return row
    }
    return [
      [
        "rows": rows, "isCounted": !figures.variants.isEmpty,
        "isDecided": figures.variants.contains { $0.atDecision != nil },
        "scale": ChartText.percent(Int((scale * 100).rounded()), of: 100), "misfit": figures.sizesFit == false,
        "waiting": figures.waiting.map { ChartText.grouped($0) } ?? "",
        "decision": self.decision(sendout),
      ]
    ]
  }

  /// Which variant the rest gets, why, and since when.
  private func decision(_ sendout: SendoutReply) -> [[String: Any]] {
    guard let rule = sendout.campaign.winner else { return [] }
    guard let decision = sendout.decision else {
      return [
        [
          "tone": "idle", "word": "Not yet",
          "text": """
          The rest gets the better variant \(Self.duration(rule.afterMinutes * 60)) after the first planned moment. If none is better: \
          \(Self.words(rule.undecided ?? .hold)).
          """,
        ]
      ]
    }
    var values: [String: Any]
    switch (decision.state, decision.by) {
    case (.waiting, _):
      let isTimed = sendout.nextAt.map { next in sendout.campaign.endAt.map { next < $0 } ?? true } ?? false
      values = [
        "tone": "ok", "word": "Waits",
        "text": "The winner is decided by its time. If none is better: \(Self.words(rule.undecided ?? .hold)).",
      ]
      if isTimed, let next = sendout.nextAt { values["decided"] = until(next) }
    case (.waitingForPerson, _):
      values = [
        "tone": "warn", "word": "Waits for you",
        "text": "No variant is better by the test, so a person decides. Choose one: the rest gets it then.",
      ]
    case (.decided, let by):
      values = ["tone": "ok", "word": "Decided", "variant": decision.variant ?? "", "text": Self.words(by)]
    }
    if let at = decision.at { values["at"] = zone.time(at) }
    return [values]
  }

  private static func words(_ policy: UndecidedPolicy) -> String {
    switch policy {
    case .best: "the rest gets the one with the highest rate"
    case .hold: "the rest waits until a person chooses"
    case .stop: "the rest gets nothing"
    }
  }

  private static func words(_ maker: DecisionMaker?) -> String {
    switch maker {
    case .test: "It is better than each other by the test (p ≤ 0.05 after Holm’s correction)."
    case .best: "No variant is better by the test, so the one with the highest rate was taken."
    case .person: "A person has chosen it."
    case .stop: "No variant is better by the test, so the rest got nothing."
    case nil: ""
    }
  }

  private static func interval(_ counts: VariantCounts) -> String {
    "\(percent(counts.low)) to \(percent(counts.high))"
  }

  private static func percent(_ share: Double) -> String {
    ChartText.percent(Int((share * 1000).rounded()), of: 1000)
  }

  /// To three digits; what is less says so.
  private static func probability(_ p: Double) -> String {
    let thousandths = Int((p * 1000).rounded())
    guard thousandths > 0 else { return "p < 0.001" }
    return thousandths >= 1000 ? "p = 1" : "p = 0." + String(String(1000 + thousandths).dropFirst())
  }

  // MARK: Local times

  private static let zonesShown = 60

  private func places(_ figures: CampaignFigures, of sendout: SendoutReply) -> [[String: Any]] {
    guard !figures.zones.isEmpty else { return [] }
    let planned = figures.zones.filter { $0.plannedAt != nil }
    var moments: [(at: Timestamp, contacts: Int)] = []
    for zone in planned {
      guard let at = zone.plannedAt else { continue }
      if moments.last?.at == at {
        moments[moments.count - 1].contacts += zone.contacts
      } else {
        moments.append((at, zone.contacts))
      }
    }
    let points = moments.map { moment in
      let text = zone.text(moment.at.date)
      return Chart.Point(short: String(text.suffix(5)), label: text, value: moment.contacts)
    }
    let chart = Chart(
      id: "moments", title: "Contacts by moment",
      description: "How many contacts of the audience have the local time at each moment, in \(zone.name).",
      form: .bars, unit: "Moment", points: points)
    let rows = figures.zones.prefix(Self.zonesShown).map { place -> [String: Any] in
      var row: [String: Any] = [
        "zone": place.zone, "source": Self.words(place.source), "contacts": ChartText.grouped(place.contacts),
        "isMissed": sendout.campaign.localTime != nil && place.plannedAt == nil,
      ]
      if let at = place.plannedAt { row["at"] = until(at) }
      row["accepted"] = place.accepted.map { ChartText.grouped($0) } ?? ""
      row["opened"] = place.opened.map { ChartText.grouped($0) } ?? ""
      return row
    }
    return [
      [
        "rows": rows, "chart": planned.isEmpty ? Markup("") : chart.markup,
        "more": figures.zones.count > Self.zonesShown
          ? ChartText.grouped(figures.zones.count - Self.zonesShown) : "",
        "isTimed": sendout.campaign.localTime != nil, "isCounted": figures.zones.contains { $0.accepted != nil },
      ]
    ]
  }

  private static func words(_ source: ZoneSource) -> String {
    switch source {
    case .contact: "The contact"
    case .device: "Their newest device"
    case .country: "Their country"
    case .customer: "Nobody: the customer’s"
    }
  }

  // MARK: Who got nothing

  private func leftOut(_ figures: CampaignFigures, of sendout: SendoutReply) -> [[String: Any]] {
    guard !figures.leftOut.isEmpty || sendout.everyone != nil else { return [] }
    let types = sendout.apps.map(\.appType)
    let rows = figures.leftOut.map { line -> [String: Any] in
      let help = ReasonHelp(line.reason, of: types)
      let own = LeftOutWords(line.reason)
      var row: [String: Any] = [
        "reason": line.reason, "word": own.word, "meaning": own.meaning ?? help.meaning ?? "",
        "contacts": ChartText.grouped(line.contacts),
        "atFreeze": line.atFreeze.map { ChartText.grouped($0) } ?? "–", "filter": line.text ?? "",
      ]
      func link(_ path: String, _ isAllowed: Bool) -> String {
        line.text.map { isAllowed ? ConsolePath.path(path, ["filter": $0]) : "" } ?? ""
      }
      row["segmentHref"] = link("/console/segments/new", allows(SegmentOperations.add))
      row["contactsHref"] = link("/console/contacts", allows(ContactOperations.list))
      return row
    }
    return [
      [
        "rows": rows, "hasRows": !rows.isEmpty, "everyone": sendout.everyone.map { ChartText.grouped($0) } ?? "",
        "people": sendout.people.map { ChartText.grouped($0) } ?? "",
      ]
    ]
  }

  // MARK: The series

  private func series(_ figures: CampaignFigures, of sendout: SendoutReply) -> [[String: Any]] {
    guard let series = figures.series else { return [] }
    var values: [String: Any] = [
      "series": series.seriesId.description, "number": sendout.seriesNo.map { "\($0)" } ?? "",
      "days": series.repeat.words, "hasEnded": series.endedAt != nil,
      "times": series.times.map { time -> [String: Any] in
        var row: [String: Any] = [
          "id": time.sendoutId.description, "number": time.seriesNo, "state": time.state.badge,
          "isThis": time.sendoutId == sendout.sendoutId, "local": time.localTime?.words ?? "",
        ]
        if let at = time.startAt { row["at"] = zone.time(at) }
        return row
      },
      "hasExpected": !series.expected.isEmpty,
      "expected": series.expected.map { entry -> [String: Any] in
        var row: [String: Any] = ["local": entry.localTime?.words ?? ""]
        if entry.localTime == nil { row["at"] = zone.time(entry.at) }
        return row
      },
    ]
    if let ended = series.endedAt {
      values["ended"] = zone.time(ended)
    } else if allows(SendoutOperations.endSeries) {
      values["end"] = "/console/sendouts/\(sendout.sendoutId)/end-series"
    }
    return [values]
  }
}

/// What people call a step of a preflight that leaves contacts out, where the ledger has no word for it.
private struct LeftOutWords {
  let word: String
  let meaning: String?

  init(_ reason: String) {
    switch PreflightReply.StepName(rawValue: reason) {
    case .excluded: (word, meaning) = ("Excluded", "They met the filter of those whom the sendout excludes.")
    case .noDevice: (word, meaning) = ("No device", "They had no valid device of the sendout’s apps.")
    case .quiet: (word, meaning) = ("Quiet hours", nil)
    default:
      let words = reason.replacing("_", with: " ")
      (word, meaning) = (words.prefix(1).uppercased() + words.dropFirst(), nil)
    }
  }
}

extension Repetition {
  /// As in `every week on Mon, Thu until 2027-06-30`.
  var words: String {
    let days = on.map { " on " + $0.map(\.words).joined(separator: ", ") } ?? ""
    return "every \(every.rawValue)\(days)\(until.map { " until \($0)" } ?? "")"
  }
}

extension RepetitionDay {
  fileprivate var words: String {
    switch self {
    case .ofWeek(let day): day.rawValue.prefix(1).uppercased() + day.rawValue.dropFirst()
    case .ofMonth(let day): "the \(day)."
    }
  }
}

extension WallTime {
  /// As in `24 Dec 2026, 18:30`.
  var words: String { "\(ConsoleZone().day(day.date)), \(time)" }
}

extension CalendarDay {
  /// Its midnight in UTC.
  var date: Date { Date(timeIntervalSince1970: Double(number) * 86_400) }
}

extension Figures {
  /// A rate with its interval, on a line from 0 to the end of a scale, and the rate that there was at a decision.
  static func interval(
    low: Double, rate: Double, high: Double, then: Double?, upTo scale: Double, label: String
  ) -> Markup {
    func x(_ share: Double) -> Double { min(100, max(0, share / scale * 100)) }
    func rect(_ tone: String, _ from: Double, _ width: Double, _ y: Int, _ height: Int) -> String {
      """
      <rect class="\(tone)" x="\(ChartText.number(from))" y="\(y)" width="\(ChartText.number(width))" height="\(height)"/>
      """
    }
    func mark(_ tone: String, _ share: Double) -> String { rect(tone, min(99, max(0, x(share) - 0.5)), 1, 0, 12) }
    return Markup(
      """
      <svg class="interval" viewBox="0 0 100 12" preserveAspectRatio="none" role="img" direction="ltr" \
      aria-label="\(Markup.escaped(label))">\(rect("ground", 0, 100, 5, 2))\
      \(rect("span", x(low), max(0.5, x(high) - x(low)), 3, 6))\(then.map { mark("then", $0) } ?? "")\(mark("rate", rate))</svg>
      """)
  }
}
