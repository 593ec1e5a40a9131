/// When a push that was put off is tried again: after a second, or as long as the push service asks for, then twice as long each
/// time up to a quarter of an hour, each time a random share of what is more than asked for ("full jitter", so that what failed
/// together does not come back together); for two hours.
public struct RetrySchedule: Sendable, Equatable {
  public var first: Duration = .seconds(1)
  public var longest: Duration = .seconds(15 * 60)
  /// Longest time between two attempts to reach a push service for a push.
  public var longestUnsent: Duration = .seconds(5 * 60)
  /// How long after it was first put off a push is given up.
  public var timeout: Duration = .seconds(2 * 60 * 60)

  public init() {}

  /// How long to wait.
  /// - Parameters:
  ///   - attempts: how often the push has left, at least 1.
  ///   - jitter: 0 to 1, the share of the delay to take.
  ///   - atLeast: what the push service asked for.
  func delay(after attempts: Int, jitter: Double, atLeast: Duration = .zero) -> Duration {
    let longest = max(longest, atLeast)
    var delay = max(first, atLeast)
    for _ in 1..<max(attempts, 1) where delay < longest { delay *= 2 }
    return atLeast + (min(delay, longest) - atLeast) * jitter
  }

  /// How long to wait with a push that could not leave: as long again as it has waited, whichever hub counts.
  func delay(unsentFor waited: Duration) -> Duration { min(max(first, waited), longestUnsent) }
}
