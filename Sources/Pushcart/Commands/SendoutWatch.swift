import Operations
import Postgres
import Wire

/// Follows a sendout until it finishes or needs a person.
struct SendoutWatch {
  private let stores: ManagementStores
  private let customer: CustomerID
  private var line = ProgressLine(.error)

  init(stores: ManagementStores, customer: CustomerID) {
    self.stores = stores
    self.customer = customer
  }

  /// Polls twice a second and writes the progress to standard error.
  /// - Returns: the sendout in its last state: finished, cancelled, paused, or a draft. One that is scheduled is waited for.
  func follow(_ sendout: SendoutReply) async throws -> SendoutReply {
    var watch = self
    return try await watch.follow(from: sendout)
  }

  private mutating func follow(from sendout: SendoutReply) async throws -> SendoutReply {
    var current = try await stores.call(SendoutOperations.show, of: customer, sendout.sendoutId, ())
    try await warnIfNobodyServes(current)
    while current.needsHub {
      line.show(current)
      try await Task.sleep(for: .milliseconds(500))
      current = try await stores.call(SendoutOperations.show, of: customer, sendout.sendoutId, ())
    }
    line.finish(current)
    return current
  }

  /// Without this line, a sendout that waits for a hub would look stuck.
  private func warnIfNobodyServes(_ sendout: SendoutReply) async throws {
    guard sendout.needsHub else { return }
    if try await stores.pool.query(HubQueries.serving, HubQueries.applicationName).isEmpty {
      StandardStream.error.line("No hub seems to serve this database, and the sendout waits for one: pushcart serve")
    }
  }
}

/// Progress of a sendout: a bar that is redrawn in a terminal, elsewhere a line for each change. Holds no text of tenants.
struct ProgressLine {
  private let stream: StandardStream
  private let isTerminal: Bool
  private var last = ""

  init(_ stream: StandardStream) {
    self.stream = stream
    isTerminal = stream.isTerminal
  }

  mutating func show(_ sendout: SendoutReply) {
    let text = isTerminal ? Self.bar(sendout, width: stream.width) : Self.line(sendout)
    guard text != last else { return }
    last = text
    stream.writeUnescaped(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
  }

  /// Shows the final state and ends the line.
  mutating func finish(_ sendout: SendoutReply) {
    show(sendout)
    if isTerminal { stream.write("\n") }
  }

  /// `Sendout 7 running 62 % [██████████░░░░░░] 620 of 1000, failed 12`
  static func bar(_ sendout: SendoutReply, width: Int) -> String {
    let counts = sendout.counts ?? SendoutCounts()
    let share = counts.audience == 0 ? 0 : Double(counts.settled) / Double(counts.audience)
    let front = "Sendout \(sendout.sendoutId) \(sendout.state.rawValue) \(percent(share))"
    let back = "\(counts.settled) of \(counts.audience)" + (counts.failed > 0 ? ", failed \(counts.failed)" : "")
    let barWidth = min(40, width - front.count - back.count - 5)
    guard barWidth >= 5 else { return "\(front) \(back)" }
    let full = Int((share * Double(barWidth)).rounded(.down))
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: barWidth - full)
    return "\(front) [\(bar)] \(back)"
  }

  /// `sendout 7 running: 62 %, audience 1000, queued 300, accepted 608, failed 12`
  static func line(_ sendout: SendoutReply) -> String {
    let counts = sendout.counts ?? SendoutCounts()
    let share = counts.audience == 0 ? 0 : Double(counts.settled) / Double(counts.audience)
    let parts = counts.named.filter { $0.1 > 0 }.map { "\($0.0) \($0.1)" }
    return (["sendout \(sendout.sendoutId) \(sendout.state.rawValue): \(percent(share))"] + parts)
      .joined(separator: ", ")
  }

  /// Rounded down, so that 100 % means all.
  private static func percent(_ share: Double) -> String { "\(Int((share * 100).rounded(.down))) %" }
}

extension SendoutReply {
  /// Whether a hub goes on with it by itself, now or at its time.
  fileprivate var needsHub: Bool { state == .scheduled || state == .freezing || state == .running }

  /// The sendout for people, with its pushes by state.
  var text: String {
    var text = "Sendout \(sendoutId), \(name.onOneLine), to \(apps.named): \(state.rawValue)\n"
    if let haltReason {
      text += "The hub paused it: \(haltReason.onOneLine)\n"
      if let advice = HaltReason(haltReason)?.advice { text += "\(advice)\n" }
    }
    if case .filter(let filter)? = audience?.included { text += "To those who meet: \(filter.text.onOneLine)\n" }
    if let exclude = audience?.exclude { text += "Without those who meet: \(exclude.text.onOneLine)\n" }
    if let unknownOriginalIds, unknownOriginalIds > 0 {
      text += "Unknown original ids: \(unknownOriginalIds)\n"
    }
    text += campaignText
    if let digest { text += "Digest: \(digest)\n" }
    guard let counts else { return text }
    var table = TextTable("Pushes", "#Count")
    for (name, count) in counts.named where count > 0 || ["audience", "accepted", "failed", "opened"].contains(name) {
      table.add(name, "\(count)")
    }
    return text + table.text(empty: "")
  }
}

extension SendoutReply {
  /// Its times, its contacts and the decision about its variants, each on a line of its own.
  private var campaignText: String {
    var lines: [String] = []
    if let startAt = campaign.startAt, startedAt == nil { lines.append("Starts at \(startAt.forPeople) (UTC)") }
    if let localTime = campaign.localTime { lines.append("Each contact gets it at \(localTime) by their own clock") }
    if let endAt = campaign.endAt, finishedAt == nil { lines.append("Ends at \(endAt.forPeople) (UTC)") }
    if let seriesId, let seriesNo { lines.append("Time \(seriesNo) of series \(seriesId)") }
    if let people, let everyone { lines.append("Contacts: \(people) of \(everyone)") }
    if let decision { lines.append(decision.text(until: nextAt)) }
    return lines.map { "\($0)\n" }.joined()
  }
}

extension WinnerDecision {
  /// - Parameter moment: of the decision, where that is to come.
  fileprivate func text(until moment: Timestamp?) -> String {
    switch (state, variant) {
    case (.waiting, _): "Winner: decided at \(moment.map { "\($0.forPeople) (UTC)" } ?? "a later moment")"
    case (.waitingForPerson, _): "Winner: none, so the rest waits for pushcart sendout winner"
    case (.decided, let variant?): "Winner: \(variant.onOneLine), by \(by?.rawValue ?? "a hub")"
    case (.decided, nil): "Winner: none, so the rest gets nothing"
    }
  }
}

extension [SendoutReply.App] {
  /// `com.acme.app (ios, firebase)`
  var named: String {
    let ids = map(\.appId).enumerated().filter { index, id in !self[..<index].contains { $0.appId == id } }.map(
      \.element)
    return ids.map { id in
      "\(id.onOneLine) (\(filter { $0.appId == id }.map(\.appType.name).joined(separator: ", ")))"
    }.joined(separator: ", ")
  }
}

extension SendoutCounts {
  /// Every count with its name in JSON.
  var named: [(String, Int)] {
    [
      ("audience", audience), ("queued", queued), ("sending", sending), ("waiting", waiting), ("sent", sent),
      ("accepted", accepted), ("failed", failed), ("uncertain", uncertain), ("skipped", skipped),
      ("cancelled", cancelled), ("opened", opened),
    ]
  }

  /// Pushes with a final outcome.
  var settled: Int { accepted + failed + uncertain + skipped + cancelled }
}
