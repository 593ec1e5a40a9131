import Locking

/// A clock that moves when it is told to.
public final class SteerableClock: Sendable {
  private let time = Mutex(ContinuousClock.now)

  public init() {}

  public var now: ContinuousClock.Instant { time.withLock { $0 } }
  public func advance(by duration: Duration) { time.withLock { $0 += duration } }
}
