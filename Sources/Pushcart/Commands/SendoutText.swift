import Operations
import Wire

extension SendoutReply {
  /// The sendout for people: what it says, when it goes and to whom, and its pushes by state.
  var text: String {
    var text = "Sendout \(sendoutId), \(name.onOneLine), to \(apps.named): \(state.rawValue)\n"
    if let haltReason {
      text += "The hub paused it: \(haltReason.onOneLine)\n"
      if let advice = HaltReason(haltReason)?.advice { text += "\(advice)\n" }
    }
    if let unknownOriginalIds, unknownOriginalIds > 0 {
      text += "Unknown original ids: \(unknownOriginalIds)\n"
    }
    var facts = TextTable("Field", "Value")
    for (name, value) in self.facts { facts.add(name, value) }
    text += "\n" + facts.text(empty: "")
    // Before its start there are none.
    guard let counts, startedAt != nil || counts.audience > 0 else { return text }
    var table = TextTable("Pushes", "#Count")
    for (name, count) in counts.named where count > 0 || ["audience", "accepted", "failed", "opened"].contains(name) {
      table.add(name, "\(count)")
    }
    return text + "\n" + table.text(empty: "")
  }

  /// When it goes, or went, in UTC unless it says otherwise; nil for a draft without a time.
  var when: String? {
    startedAt?.forPeople ?? campaign.localTime.map { "\($0) by each clock" }
      ?? (campaign.startAt ?? (state == .scheduled ? nextAt : nil))?.forPeople
  }

  /// A broadcast, the single messages of a day, or those of a test.
  var kindInWords: String { testOf.map { "test of \($0)" } ?? kind.rawValue }

  /// What there is to say, by its name.
  private var facts: [(name: String, value: String)] {
    let all: [(String, String?)] =
      [
        ("kind", testOf == nil && kind == .broadcast ? nil : kindInWords), ("audience", audience?.words()),
        ("alert", message?.alert.map { $0.shortened }), ("languages", languages),
        ("rich page", template.map { "\($0)\(templateVersion.map { ", version \($0)" } ?? "")" }),
        ("purpose", purpose.rawValue),
      ] + times + limits + versions + [
        ("contacts", people.map { "\($0)\(everyone.map { " of \($0)" } ?? "")" }),
        ("created", createdAt.inUTC), ("started", startedAt?.inUTC), ("finished", finishedAt?.inUTC),
        ("expired", expiredAt?.inUTC), ("digest", digest),
      ]
    return all.compactMap { name, value in value.map { (name, $0) } }
  }

  private var languages: String? {
    let languages = (message?.translations ?? [:]).keys.map(\.text).sorted()
    return languages.isEmpty ? nil : languages.joined(separator: ", ")
  }

  private var times: [(String, String?)] {
    [
      ("starts", campaign.startAt?.inUTC), ("local time", campaign.localTime.map { "\($0) by each contact's clock" }),
      ("where that is over", campaign.localTime.map { _ in (campaign.onMissed ?? .skip).words }),
      ("next", finishedAt == nil ? nextAt?.inUTC : nil), ("ends", campaign.endAt?.inUTC),
      ("late", campaign.lateMinutes.map { "up to \($0) minutes" }), ("repeats", campaign.repeat?.words),
      ("series", seriesId.map { "\($0)\(seriesNo.map { ", time \($0)" } ?? "")" }),
    ]
  }

  private var limits: [(String, String?)] {
    [
      ("spread", campaign.spreadMinutes.map { "over \($0) minutes" }),
      ("rate", campaign.ratePerSecond.map { "up to \($0) pushes a second" }),
      ("quiet hours", campaign.quietHours.map { $0.hours?.argument ?? "lifted" }),
      ("caps", campaign.ignoreCaps == true ? "ignored" : nil),
      ("held out", campaign.holdoutPercent.map { "\($0) %" }),
      ("most contacts", maximumContacts.map { "\($0)" }),
      ("pauses at failures", campaign.pauseAtFailed.map { $0 < 1 ? "\($0)" : "never" }),
    ]
  }

  private var versions: [(String, String?)] {
    [
      ("variants", campaign.variants?.map { "\($0.name) \($0.share) %" }.joined(separator: ", ")),
      (
        "decision",
        campaign.winner.map { "after \($0.afterMinutes) minutes; if none wins: \(($0.undecided ?? .hold).rawValue)" }
      ),
      ("winner", decision.map { $0.words(at: nextAt) }),
    ]
  }
}

extension WinnerDecision {
  /// - Parameter moment: of the decision, where that is to come.
  fileprivate func words(at moment: Timestamp?) -> String {
    switch (state, variant) {
    case (.waiting, _): "decided at \(moment?.inUTC ?? "a later moment")"
    case (.waitingForPerson, _): "none, so the rest waits for pushcart sendout winner"
    case (.decided, let variant?): "\(variant), by \(by?.rawValue ?? "a hub")"
    case (.decided, nil): "none, so the rest gets nothing"
    }
  }
}

extension MissedPolicy {
  fileprivate var words: String {
    switch self {
    case .skip: "left out"
    case .now: "sent at the start"
    case .nextDay: "sent a day later"
    }
  }
}

extension Repetition {
  /// As in `each week on mon, thu until 2027-06-30`.
  fileprivate var words: String {
    let days = (on ?? []).map { day in
      switch day {
      case .ofWeek(let day): day.rawValue
      case .ofMonth(let day): "\(day)"
      }
    }
    return "each \(every.rawValue)" + (days.isEmpty ? "" : " on \(days.joined(separator: ", "))")
      + (until.map { " until \($0)" } ?? "")
  }
}

extension String {
  /// The text, or the beginning of one that makes a table too wide.
  fileprivate var shortened: String { count > 100 ? prefix(100) + "…" : self }
}

extension Timestamp {
  /// As in `2026-12-24 17:30:00 (UTC)`.
  var inUTC: String { "\(forPeople) (UTC)" }
}
