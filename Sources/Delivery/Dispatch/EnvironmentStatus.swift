import Providers
import Synchronization

/// Why nothing can be sent to an environment.
enum ClosureReason: Sendable, Equatable {
  /// It cannot be reached, for now.
  case outOfReach(reason: String)
  /// It refuses the app's credentials, until somebody mends them.
  case refused(reason: String)
}

/// To which environments a run may send: what keeps one of them from being sent to must not keep the other.
final class EnvironmentStatus: Sendable {
  /// After so long a run tries again to reach an environment.
  private static let reopening = Duration.seconds(30)

  private struct State {
    /// Environments that pushes were handed over for.
    var met: Set<APNsEnvironment> = []
    var closed: [APNsEnvironment: (closureReason: ClosureReason, until: ContinuousClock.Instant?)] = [:]

    func closureReason(to environment: APNsEnvironment) -> ClosureReason? {
      guard let (closureReason, until) = closed[environment] else { return nil }
      if let until, until <= .now { return nil }
      return closureReason
    }
  }
  private let state = Mutex(State())

  /// Pushes are handed over for this environment.
  func meet(_ environment: APNsEnvironment) { state.withLock { _ = $0.met.insert(environment) } }

  func close(_ environment: APNsEnvironment, _ closureReason: ClosureReason) {
    state.withLock { state in
      switch closureReason {
      case .refused: state.closed[environment] = (closureReason, nil)
      case .outOfReach: state.closed[environment] = (closureReason, .now + Self.reopening)
      }
    }
  }

  /// What keeps this environment from being sent to; `nil` if nothing does.
  func closureReason(to environment: APNsEnvironment) -> ClosureReason? {
    state.withLock { $0.closureReason(to: environment) }
  }

  /// Whether credentials were refused anywhere.
  var hasRefused: Bool {
    state.withLock { $0.closed.values.contains { if case .refused = $0.closureReason { true } else { false } } }
  }

  /// How the run ends if it has nothing more to send but to these environments; `nil` if they, or any other that it sends to,
  /// are open. What may pass ends it milder than what will not.
  func end(with environments: some Sequence<APNsEnvironment> = []) -> DispatchEnd? {
    state.withLock { state in
      let all = state.met.union(environments)
      let obstacles = APNsEnvironment.allCases.filter(all.contains).map(state.closureReason(to:))
      guard !obstacles.isEmpty, !obstacles.contains(nil) else { return nil }
      var end: DispatchEnd?
      for case .some(let closureReason) in obstacles {
        switch closureReason {
        case .outOfReach(let reason): return .putOff(reason: reason)
        case .refused(let reason): end = end ?? .halted(reason: reason)
        }
      }
      return end
    }
  }
}
