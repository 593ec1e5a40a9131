/// When a push that was put off is tried again: after a second, then twice as long each time up to a quarter of an hour, each
/// time a random share of it ("full jitter", so that what failed together does not come back together); for two hours.
public struct BackOff: Sendable, Equatable {
  public var first: Duration = .seconds(1)
  public var longest: Duration = .seconds(15 * 60)
  /// How long after it was first put off a push is given up.
  public var patience: Duration = .seconds(2 * 60 * 60)

  public init() {}

  /// How long to wait.
  /// - Parameters:
  ///   - attempts: how often the push has left, at least 1.
  ///   - luck: 0 to 1, the share of the delay to take.
  ///   - atLeast: what the push service asked for.
  func delay(after attempts: Int, luck: Double, atLeast: Duration? = nil) -> Duration {
    var longest = first
    for _ in 1..<max(attempts, 1) where longest < self.longest { longest *= 2 }
    let delay = min(longest, self.longest) * luck
    return max(delay, atLeast ?? .zero)
  }
}
