import FoundationEssentials
import Operations
import Wire

/// When a sendout does something by itself, and what keeps it from going on.
extension ConsoleCall {
  /// A moment for `{{>_time}}`, with how long until then as `until`.
  func until(_ moment: Timestamp) -> [String: Any] {
    zone.time(moment).merging(["until": Self.distance(moment.date.timeIntervalSince(Date()))]) { $1 }
  }

  /// As in `in 3 h 20 min` or `2 days ago`.
  static func distance(_ seconds: Double) -> String {
    let whole = Int(abs(seconds).rounded(.up))
    let text = whole >= 48 * 3600 ? "\(whole / 86_400) days" : duration(whole)
    return seconds > 0 ? "in \(text)" : "\(text) ago"
  }

  /// For `{{>_due}}`: what is next, what limits it, and whether a start can still be undone.
  func due(_ sendout: SendoutReply) -> [[String: Any]] {
    let (lines, limits) = (dueLines(sendout), Self.limits(sendout))
    guard !lines.isEmpty || !limits.isEmpty else { return [] }
    return [["lines": lines, "limits": limits, "hasLimits": !limits.isEmpty]]
  }

  /// The seconds until it starts, where that is so soon that whoever started it may want it back; nil otherwise.
  func secondsToUndo(_ sendout: SendoutReply) -> Int? {
    guard sendout.state == .scheduled, sendout.campaign.localTime == nil, let start = sendout.nextAt,
      allows(SendoutOperations.unschedule)
    else { return nil }
    let seconds = start.date.timeIntervalSince(Date())
    return seconds < 60 ? max(0, Int(seconds.rounded(.up))) : nil
  }

  /// Whether the page is read again and again until it starts.
  func startsSoon(_ sendout: SendoutReply) -> Bool {
    sendout.state == .scheduled && sendout.nextAt.map { $0.date.timeIntervalSince(Date()) < 600 } == true
  }

  private func dueLines(_ sendout: SendoutReply) -> [[String: Any]] {
    let campaign = sendout.campaign
    var lines: [[String: Any]] = []
    func add(_ label: String, _ at: Timestamp?, text: String = "") {
      var line: [String: Any] = ["label": label, "text": text]
      if let at { line["at"] = until(at) }
      lines.append(line)
    }
    let isWaiting = sendout.state == .draft || sendout.state == .scheduled
    if isWaiting, let start = campaign.startAt {
      add(sendout.state == .draft ? "Starts, once it is scheduled" : "Starts", start)
    }
    if let local = campaign.localTime {
      add(
        isWaiting ? "Each contact gets it" : "Each contact got it, or will", nil,
        text: "\(local.words), by their own clock")
      if sendout.state == .scheduled { add("The first zone of the world has that", local.moment(hoursAheadOfUTC: 14)) }
      if sendout.finishedAt == nil { add("The last one has it", local.moment(hoursAheadOfUTC: -12)) }
    }
    let isRunning = sendout.state == .running || sendout.state == .paused
    if isRunning, sendout.decision?.state == .waiting, let next = sendout.nextAt,
      campaign.endAt.map({ next < $0 }) ?? true
    {
      add("The winner is decided", next)
    }
    if let end = campaign.endAt { add("Nothing leaves after", end) }
    return lines
  }

  /// What a campaign says besides its times, for people.
  private static func limits(_ sendout: SendoutReply) -> [[String: Any]] {
    let campaign = sendout.campaign
    var limits: [(String, String)] = []
    if let rate = campaign.ratePerSecond {
      limits.append(("Rate", "\(ChartText.grouped(rate)) pushes a second at most"))
    }
    if let minutes = campaign.spreadMinutes { limits.append(("Spread", "evenly over \(duration(minutes * 60))")) }
    switch campaign.quietHours {
    case .lifted: limits.append(("Quiet hours", "lifted for this sendout"))
    case .set(let hours):
      let policy = hours.policy == .skip ? "who has them gets nothing" : "who has them gets it when they end"
      limits.append(("Quiet hours", "\(hours.start) to \(hours.end): \(policy)"))
    case nil: break
    }
    if campaign.ignoreCaps == true { limits.append(("Caps", "passed over, and counted all the same")) }
    if let percent = campaign.holdoutPercent {
      limits.append(("Holdout", "\(percent)\u{A0}% get nothing, to compare with"))
    }
    if let most = sendout.maximumContacts {
      limits.append(("Most contacts", "\(ChartText.grouped(most)); with more it waits for a person"))
    }
    if campaign.localTime != nil {
      let words =
        switch campaign.onMissed ?? .skip {
        case .skip: "they get nothing"
        case .now: "they get it at the start"
        case .nextDay: "they get it a day later"
        }
      limits.append(("Where the time was over", words))
    }
    if let minutes = campaign.lateMinutes { limits.append(("Too late after", duration(minutes * 60))) }
    if let share = campaign.pauseAtFailed {
      let text =
        share >= 1 ? "never" : "at \(ChartText.percent(Int((share * 1000).rounded()), of: 1000)) of the last 1,000"
      limits.append(("Pauses for failures", text))
    }
    return limits.map { ["label": $0.0, "text": $0.1] }
  }

  /// Why the hub has paused it, and what to do; none if it has not.
  func halt(_ sendout: SendoutReply) -> [[String: Any]] {
    guard let text = sendout.haltReason else { return [] }
    guard let reason = HaltReason(text) else {
      return [
        [
          "sentence": "The hub stopped it:", "reason": text,
          "advice": "Correct what the reason names, then resume the sendout.",
        ]
      ]
    }
    let path = "/console/sendouts/\(sendout.sendoutId)"
    var links: [[String: Any]] = []
    switch reason {
    case .late: break
    case .tooManyContacts: links.append(["href": "\(path)#gone", "label": "Who is in it, and who is not"])
    case .tooManyFailures:
      links.append(["href": "\(path)#reasons", "label": "Why pushes failed"])
      if allows(SendoutOperations.recipients) {
        links.append(["href": "\(path)/recipients?state=failed", "label": "Whose pushes failed"])
      }
    }
    var values: [String: Any] = [
      "sentence": reason.sentence, "reason": text, "advice": reason.advice, "links": links,
      "isPaused": sendout.state == .paused,
    ]
    if reason == .late, let start = sendout.campaign.startAt { values["was"] = until(start) }
    return [values]
  }
}
