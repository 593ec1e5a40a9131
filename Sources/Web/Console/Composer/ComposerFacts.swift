import Operations
import Wire

// What a draft says and what its preflight warns of, as the check tells it.
extension ComposerCheck {
  /// When it goes and whom limits leave out, as people say it.
  var facts: [[String: Any]] {
    let (campaign, zone) = (draft.campaign, call.zone)
    var facts: [(String, String)] = []
    if let moment = campaign.startAt {
      facts.append(("When", zone.text(moment.date)))
    } else if let time = campaign.localTime {
      facts.append(("When", "\(time.checkText) by each contact's own clock"))
      facts.append(("Where that is over", (campaign.onMissed ?? .skip).checkText))
    } else {
      facts.append(("When", "As soon as it is sent"))
    }
    if let repetition = campaign.repeat { facts.append(("Repeat", repetition.checkText)) }
    if let end = campaign.endAt { facts.append(("End", zone.text(end.date))) }
    if let minutes = campaign.spreadMinutes { facts.append(("Spread", "Over \(minutes) minutes")) }
    if let rate = campaign.ratePerSecond {
      facts.append(("Pace", "\(ComposerForm.grouped(rate)) pushes a second at most"))
    }
    if draft.purpose == .marketing { facts.append(("Quiet hours", quietHours)) }
    let caps = call.settings.caps.filter { $0.concerns(draft.purpose) }.map(\.words)
    if !caps.isEmpty {
      facts.append(("Caps", caps.joined(separator: ", ") + (campaign.ignoreCaps == true ? ", ignored" : "")))
    }
    if let percent = campaign.holdoutPercent { facts.append(("Held out", "\(percent) %, to compare with")) }
    if let variants = campaign.variants {
      facts.append(("Variants", variants.map { "\($0.name) \($0.share) %" }.joined(separator: ", ")))
    }
    if let winner = campaign.winner {
      facts.append(("Decision", "After \(winner.afterMinutes) minutes; \((winner.undecided ?? .hold).checkText)"))
    }
    if let translations = draft.message?.translations, !translations.isEmpty {
      facts.append(("Languages", translations.keys.sorted().map(\.text).joined(separator: ", ")))
    }
    return facts.map { ["label": $0, "text": $1] }
  }

  private var quietHours: String {
    switch draft.campaign.quietHours {
    case nil: call.settings.quietHours.map { "\($0.checkText), as the customer has them" } ?? "None"
    case .lifted: "Lifted for this sendout"
    case .set(let hours): "\(hours.checkText), for this sendout alone"
    }
  }

  /// Warnings of one kind that follow each other stand together, as the same helps.
  func warnings(_ all: [PreflightReply.Warning]) -> [[String: Any]] {
    let groups = all.reduce(into: [[PreflightReply.Warning]]()) { groups, warning in
      if groups.last?.first?.code == warning.code {
        groups[groups.count - 1].append(warning)
      } else {
        groups.append([warning])
      }
    }
    return groups.map { group in
      warning(of: group[0]).merging(["text": group.map(\.text).joined(separator: " ")]) { $1 }
    }
  }

  /// A warning with what helps, and where that is done.
  private func warning(of warning: PreflightReply.Warning) -> [String: Any] {
    let draft = "/console/sendouts/\(draft.sendoutId)/edit"
    let (tone, fix, href): (String, String, String) =
      switch warning.code {
      case .emptyVariable:
        (
          "warn", "Say something in its place, as in {{^firstName}}you{{/firstName}}, or leave out who has none.",
          "\(draft)#\(FormField.id("message.alert"))"
        )
      case .cut: ("warn", "Shorten the text.", "\(draft)#\(FormField.id("message.alert"))")
      case .longest: ("idle", "", "")
      case .credentialsMissing: ("bad", "Add its credentials.", "/console/apps")
      case .credentialsRefused: ("bad", "Replace its credentials.", "/console/apps")
      case .credentialsExpiring: ("warn", "Add the next certificate before that.", "/console/apps")
      case .wrongEnvironment: ("bad", "Add a certificate that reaches these devices.", "/console/apps")
      case .templateVariable:
        (
          "warn", "Add it to the message's fields, or change the template.",
          "\(draft)#\(FormField.id("message.fields"))"
        )
      case .overlap:
        ("warn", "Send it later, or leave out who gets the other.", "\(draft)#\(FormField.id("audience.exclude"))")
      case .endsTooEarly: ("warn", "Raise the rate, or end it later.", "\(draft)#\(FormField.id("ratePerSecond"))")
      case .smallestDifference:
        (
          "idle", "Larger shares show smaller differences.",
          self.draft.campaign.variants == nil ? "" : "\(draft)#\(FormField.id("variant.0.share"))"
        )
      }
    return [
      "text": warning.text, "tone": tone, "word": warning.code.rawValue.replacing("_", with: " "), "fix": fix,
      "href": href,
    ]
  }
}

extension QuietHours {
  fileprivate var checkText: String { "\(start) to \(end), " + (policy == .skip ? "not sent" : "held until they end") }
}

extension WallTime {
  fileprivate var checkText: String { "\(day), \(time)" }
}

extension MissedPolicy {
  fileprivate var checkText: String {
    switch self {
    case .skip: "They get nothing"
    case .now: "They get it at the start"
    case .nextDay: "They get it a day later"
    }
  }
}

extension UndecidedPolicy {
  fileprivate var checkText: String {
    switch self {
    case .best: "if none is better by the test, the rest gets the one with the highest rate"
    case .hold: "if none is better by the test, the rest waits for a person"
    case .stop: "if none is better by the test, the rest gets nothing"
    }
  }
}

extension Repetition {
  fileprivate var checkText: String {
    let weekdays = (isoDays ?? []).map { Weekday.allCases[$0 - 1].rawValue.inWords }
    let days = (monthDays ?? []).map { "\($0)" }
    let on = weekdays.isEmpty ? days : weekdays
    return "Each \(every.rawValue)" + (on.isEmpty ? "" : ", on \(on.joined(separator: ", "))")
      + (until.map { ", until \($0)" } ?? "")
  }
}
