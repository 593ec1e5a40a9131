import Retrying
import Providers
import Registry
import Locking
import Wire

/// Which lanes this hub may send to: a circuit breaker for each, shared by all sendouts.
///
/// ```
/// open ── unavailable, refused ─▶ closed ── delay over ─▶ probing ── a push is answered ─▶ open
///                                    ◀── still unavailable, refused ──┘
/// ```
///
/// While a lane is closed nothing of it is sent, so its backlog stays as it is in the ledger; `ClosedLane` settles what must not wait.
/// After the delay one run may try it; the others wait for what comes of that. The delay doubles with each failure.
final class LaneStatus: Sendable {
  private enum State {
    case closed(reason: ClosureReason, until: ContinuousClock.Instant, failures: Int)
    case probing(reason: ClosureReason, until: ContinuousClock.Instant, failures: Int)
  }

  private let clock: @Sendable () -> ContinuousClock.Instant
  /// Lanes that are not open.
  private let states = Mutex<[LaneKey: State]>([:])
  /// What was seen of lanes whose push service answered nothing since, and from when on.
  private let evidence = Mutex<[LaneKey: (service: ServiceAvailability, since: ContinuousClock.Instant)]>([:])

  init(clock: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) { self.clock = clock }

  /// How long what was seen of a push service counts: what single messages lose within a minute closes a lane as what one slice loses.
  private static let evidenceLife = Duration.seconds(60)

  enum Admission: Equatable {
    case open
    /// The caller is the one that tries whether the push service is available again. It reports by `open`, `close` or `endProbe`.
    case probe
    case closed(reason: ClosureReason, delay: Duration)
  }

  /// What closing a lane came to.
  struct Closing: Equatable {
    /// When to ask again.
    let delay: Duration
    /// False for other pushes of the same outage: the lane was closed already.
    let isFresh: Bool
    /// Whether it was open, or closed for another reason, so that the closing is logged.
    let shouldLog: Bool
  }

  /// Asks to send to a lane.
  /// - Parameter triesRefused: whether a lane whose credentials are refused counts as open, as for a sendout that somebody has resumed.
  func admit(_ key: LaneKey, triesRefused: Bool = false) -> Admission {
    let now = clock()
    return states.withLock { states in
      switch states[key] {
      case nil: return .open
      case .closed(.refused, _, _) where triesRefused, .probing(.refused, _, _) where triesRefused: return .open
      case .closed(let reason, let until, let failures), .probing(let reason, let until, let failures):
        guard until <= now else { return .closed(reason: reason, delay: until - now) }
        states[key] = .probing(reason: reason, until: now + RetryPolicy.probe, failures: failures)
        return .probe
      }
    }
  }

  /// How many pushes `admit` would let in: all, one that probes, or none.
  func capacity(_ key: LaneKey, upTo limit: Int) -> Int {
    let now = clock()
    return states.withLock { states in
      switch states[key] {
      case nil: limit
      case .closed(_, let until, _), .probing(_, let until, _): until <= now ? min(1, limit) : 0
      }
    }
  }

  /// Whether the lane is being tried.
  func isProbing(_ key: LaneKey) -> Bool {
    states.withLock { if case .probing = $0[key] { true } else { false } }
  }

  /// Opens all lanes of a customer, as after its credentials changed.
  func reopen(_ customer: CustomerID) {
    states.withLock { states in
      for key in states.keys where key.customer == customer { states[key] = nil }
    }
  }

  /// The caller that probed had nothing to send: the next one may probe at once.
  func endProbe(_ key: LaneKey) {
    let now = clock()
    states.withLock { states in
      guard case .probing(let reason, _, let failures) = states[key] else { return }
      states[key] = .closed(reason: reason, until: now, failures: failures)
    }
  }

  /// Closes a lane.
  /// - Parameter retryAfter: how long the push service asks to wait.
  @discardableResult
  func close(_ key: LaneKey, _ reason: ClosureReason, retryAfter: Duration = .zero) -> Closing {
    let now = clock()
    return states.withLock { states in
      let failures: Int
      var (isFresh, shouldLog) = (true, true)
      switch states[key] {
      case nil: failures = 1
      case .closed(let known, let until, let before) where until > now:
        failures = before
        (isFresh, shouldLog) = (known != reason, known != reason)
      case .closed(let known, _, let before), .probing(let known, _, let before):
        failures = before + 1
        shouldLog = known != reason
      }
      let until =
        now + RetryPolicy.unavailable.delay(after: failures, atLeast: min(retryAfter, RetryPolicy.longestRetryAfter))
      states[key] = .closed(reason: reason, until: until, failures: failures)
      return Closing(delay: until - now, isFresh: isFresh, shouldLog: shouldLog)
    }
  }

  /// Opens or closes a lane by what came of some of its pushes, together with what came of others shortly before.
  /// - Parameter isEnough: whether a finding of an outage closes the lane.
  /// - Returns: what closing it came to, and why; `nil` if it was not closed.
  @discardableResult
  func record(
    _ service: ServiceAvailability, _ key: LaneKey, by kind: OutageEvidence, isEnough: Bool = true
  ) -> (reason: String, closing: Closing)? {
    let now = clock()
    let finding = evidence.withLock { evidence in
      var seen = service
      if let before = evidence[key], before.since + Self.evidenceLife > now { seen.add(before.service) }
      let finding = service.finding(by: kind) == .available ? .available : seen.finding(by: kind)
      if finding == .unknown, seen.isEvidence {
        evidence[key] = (seen, evidence[key].map { $0.since + Self.evidenceLife > now ? $0.since : now } ?? now)
      } else {
        evidence[key] = nil
      }
      return finding
    }
    switch finding {
    case .available: open(key)
    case .unavailable(let reason, let retryAfter) where isEnough:
      return (reason, close(key, .unavailable(reason: reason), retryAfter: retryAfter))
    case .unavailable, .unknown: break
    }
    return nil
  }

  /// A push of the lane was answered, so its push service is available.
  func open(_ key: LaneKey) { states.withLock { _ = $0.removeValue(forKey: key) } }
}
