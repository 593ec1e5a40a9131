public import FoundationEssentials
import Locking

/// A clock that moves when it is told to.
public final class SteerableClock: Sendable {
  private let time = Mutex(ContinuousClock.now)

  public init() {}

  public var now: ContinuousClock.Instant { time.withLock { $0 } }
  public func advance(by duration: Duration) { time.withLock { $0 += duration } }
}

/// A wall clock that stands still until a test moves it.
public final class SteerableDate: Sendable {
  private let date = Mutex(Date())

  public init() {}

  public var now: Date {
    get { date.withLock { $0 } }
    set { date.withLock { $0 = newValue } }
  }
}
