import Registry
import Synchronization
import Wire

/// Which lanes this hub may send to: a circuit breaker for each, shared by all sendouts.
///
/// ```
/// open ── push service unavailable ─▶ closed ── delay over ─▶ probing ── a push is answered ─▶ open
///                                        ◀── still unavailable ──┘
/// ```
///
/// While a lane is closed nothing of it is claimed, so its backlog stays as it is in the ledger. After the delay one run may try it;
/// the others wait for what comes of that. The delay doubles with each failure.
final class LaneStatus: Sendable {
  struct Key: Hashable {
    let customer: CustomerID
    let lane: Lane
  }

  private enum State {
    case closed(reason: String, until: ContinuousClock.Instant, failures: Int)
    case probing(reason: String, until: ContinuousClock.Instant, failures: Int)
  }

  /// Lanes that are not open.
  private let states = Mutex<[Key: State]>([:])

  static let shortestDelay = Duration.seconds(1)
  static let longestDelay = Duration.seconds(30)
  /// The longest delay that a push service's wish is taken for.
  private static let longestWish = Duration.seconds(15 * 60)
  /// After so long without a result, another run may probe.
  private static let probeTimeout = Duration.seconds(60)

  enum Admission: Equatable {
    case open
    /// The caller is the one that tries whether the push service is available again. It tells by `open`, `close` or `endProbe`.
    case probe
    case closed(reason: String, delay: Duration)
  }

  /// Asks to send to a lane.
  func admit(_ key: Key, now: ContinuousClock.Instant = .now) -> Admission {
    states.withLock { states in
      switch states[key] {
      case nil: return .open
      case .closed(let reason, let until, let failures), .probing(let reason, let until, let failures):
        guard until <= now else { return .closed(reason: reason, delay: until - now) }
        states[key] = .probing(reason: reason, until: now + Self.probeTimeout, failures: failures)
        return .probe
      }
    }
  }

  /// Whether `admit` would let a caller in.
  func mayTry(_ key: Key, now: ContinuousClock.Instant = .now) -> Bool {
    states.withLock { states in
      switch states[key] {
      case nil: true
      case .closed(_, let until, _), .probing(_, let until, _): until <= now
      }
    }
  }

  /// How many pushes `admit` would let in: all, one that probes, or none.
  func room(_ key: Key, upTo limit: Int, now: ContinuousClock.Instant = .now) -> Int {
    states.withLock { states in
      switch states[key] {
      case nil: limit
      case .closed(_, let until, _), .probing(_, let until, _): until <= now ? min(1, limit) : 0
      }
    }
  }

  /// Opens all lanes of a customer, as after its credentials changed.
  func reopen(_ customer: CustomerID) {
    states.withLock { states in
      for key in states.keys where key.customer == customer { states[key] = nil }
    }
  }

  /// The caller that probed had nothing to send: the next one may probe at once.
  func endProbe(_ key: Key, now: ContinuousClock.Instant = .now) {
    states.withLock { states in
      guard case .probing(let reason, _, let failures) = states[key] else { return }
      states[key] = .closed(reason: reason, until: now, failures: failures)
    }
  }

  /// Closes a lane, since its push service is unavailable.
  /// - Parameter wish: how long the push service asks to wait.
  /// - Returns: when to ask again.
  @discardableResult
  func close(
    _ key: Key, _ reason: String, wish: Duration = .zero, now: ContinuousClock.Instant = .now
  ) -> Duration {
    states.withLock { states in
      let failures: Int
      switch states[key] {
      case nil: failures = 1
      // Other pushes of the same outage: the lane is closed already.
      case .closed(_, let until, let before) where until > now: failures = before
      case .closed(_, _, let before), .probing(_, _, let before): failures = before + 1
      }
      let delay = min(Self.shortestDelay * (1 << min(failures - 1, 5)), Self.longestDelay)
      let until = now + max(delay, min(wish, Self.longestWish))
      states[key] = .closed(reason: reason, until: until, failures: failures)
      return until - now
    }
  }

  /// A push of the lane was answered, so its push service is available.
  func open(_ key: Key) { states.withLock { _ = $0.removeValue(forKey: key) } }
}
