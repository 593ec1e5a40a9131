import Wire

/// How far a sendout is: a bar that is drawn over in a terminal, and elsewhere a line whenever something has changed.
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
    stream.write(isTerminal ? "\r\u{1B}[K" + text : text + "\n")
  }

  /// Shows the end and leaves the line.
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
    let room = min(40, width - front.count - back.count - 5)
    guard room >= 5 else { return "\(front) \(back)" }
    let full = Int((share * Double(room)).rounded(.down))
    let bar = String(repeating: "█", count: full) + String(repeating: "░", count: room - full)
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
