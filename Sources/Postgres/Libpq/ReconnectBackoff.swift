/// When to try again after a connection could not be opened, or was lost before it was of any use: soon at first, then ever later, and never all hubs at once.
struct ReconnectBackoff {
  private(set) var failures = 0
  private(set) var notBefore = MonotonicInstant(nanoseconds: .min)
  /// In libpq's words.
  private(set) var lastFailure: String?

  static let first: Duration = .milliseconds(50)
  /// Callers wait five seconds by default, so a server that is back must be noticed well within them.
  static let longest: Duration = .seconds(1)

  /// - Parameter jitter: from 0 to 1, the share of the second half of the delay to wait.
  mutating func failed(_ why: String, at now: MonotonicInstant, jitter: Double = .random(in: 0...1)) {
    let full = min(Self.first * (1 << min(failures, 10)), Self.longest)
    failures += 1
    lastFailure = why
    notBefore = now.advanced(by: full / 2 + full * jitter / 2)
  }

  mutating func succeeded() { self = ReconnectBackoff() }
}
