import Locking

/// Bounds how many lines are logged of what many customers can cause.
final class LogThrottle: Sendable {
  private let interval: Duration
  private let lines = Mutex((last: ContinuousClock.Instant?.none, leftOut: 0))

  /// - Parameter interval: how much time is between two lines at least.
  init(interval: Duration) { self.interval = interval }

  /// Asked for each line.
  /// - Returns: how many have been left out since the one before; nil where this one is to be left out, too.
  func admit(at now: ContinuousClock.Instant = .now) -> Int? {
    lines.withLock { lines in
      if let last = lines.last, now < last + interval {
        lines.leftOut += 1
        return nil
      }
      defer { lines = (now, 0) }
      return lines.leftOut
    }
  }
}
