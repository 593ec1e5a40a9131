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
    var waits: String?
    while current.needsHub {
      let now = current.waits(of: customer)
      if let now, now != waits { line.note(now) }
      waits = now
      // Nothing of it moves before its time.
      if now == nil || current.state != .scheduled { line.show(current) }
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

  /// Shows a sentence of its own, above the bar.
  mutating func note(_ sentence: String) {
    stream.writeUnescaped((isTerminal ? "\r\u{1B}[K" : "") + sentence + "\n")
    last = ""
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

  /// What it waits for where hubs have little to do before; nil while pushes go.
  func waits(of customer: CustomerID) -> String? {
    let sendout = "Sendout \(sendoutId)"
    switch (state, decision?.state) {
    case (.scheduled, _):
      guard let nextAt else { return nil }
      return campaign.localTime == nil
        ? "\(sendout) is scheduled: it starts at \(nextAt.inUTC). Ctrl-C ends the wait alone."
        : "\(sendout) is scheduled: it comes due in the first zone at \(nextAt.inUTC). Ctrl-C ends the wait alone."
    case (.running, .waiting):
      return nextAt.map { "\(sendout) has contacts who wait for a winner. It is decided at \($0.inUTC)." }
    case (.running, .waitingForPerson):
      return """
        \(sendout) waits for a person, as no variant has won: pushcart sendout winner \(sendoutId) --customer \(customer) --variant NAME
        """
    case (.running, _):
      return campaign.localTime.map { "\(sendout) goes on until \($0) has come in its last zone." }
    default: return nil
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
