import Providers
import Synchronization

/// Why nothing can be sent to an environment.
enum ClosureReason: Sendable, Equatable {
  /// It cannot be reached for now.
  case unavailable(reason: String)
  /// It refuses the app's credentials, until somebody corrects them.
  case refused(reason: String)
}

/// Which environments a run may send to; a closed one does not stop the other.
final class EnvironmentStatus: Sendable {
  /// After so long a run tries an unavailable environment again.
  private static let reopening = Duration.seconds(30)

  private struct State {
    /// Environments that the run has sent to.
    var used: Set<APNsEnvironment> = []
    var closed: [APNsEnvironment: (closureReason: ClosureReason, until: ContinuousClock.Instant?)] = [:]

    func closureReason(of environment: APNsEnvironment) -> ClosureReason? {
      guard let (closureReason, until) = closed[environment] else { return nil }
      if let until, until <= .now { return nil }
      return closureReason
    }
  }
  private let state = Mutex(State())

  /// Records that the run sends to this environment.
  func use(_ environment: APNsEnvironment) { state.withLock { _ = $0.used.insert(environment) } }

  func close(_ environment: APNsEnvironment, _ closureReason: ClosureReason) {
    state.withLock { state in
      switch closureReason {
      case .refused: state.closed[environment] = (closureReason, nil)
      case .unavailable: state.closed[environment] = (closureReason, .now + Self.reopening)
      }
    }
  }

  /// Why the environment is closed; `nil` if it is open.
  func closureReason(of environment: APNsEnvironment) -> ClosureReason? {
    state.withLock { $0.closureReason(of: environment) }
  }

  /// Whether credentials were refused anywhere.
  var hasRefused: Bool {
    state.withLock { $0.closed.values.contains { if case .refused = $0.closureReason { true } else { false } } }
  }

  /// How the run ends if all environments that it uses, and these, are closed; `nil` if one of them is open. An environment that
  /// may open again decides over one that does not.
  func end(with environments: some Sequence<APNsEnvironment> = []) -> DispatchEnd? {
    state.withLock { state in
      let all = state.used.union(environments)
      let reasons = APNsEnvironment.allCases.filter(all.contains).map(state.closureReason(of:))
      guard !reasons.isEmpty, !reasons.contains(nil) else { return nil }
      var end: DispatchEnd?
      for case .some(let closureReason) in reasons {
        switch closureReason {
        case .unavailable(let reason): return .unavailable(reason: reason)
        case .refused(let reason): end = end ?? .refused(reason: reason)
        }
      }
      return end
    }
  }
}
