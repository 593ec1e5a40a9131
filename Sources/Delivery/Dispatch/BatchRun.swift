import Providers
import Synchronization

/// A claimed batch on its way: which of its slices are out, and what has to wait until all are back.
final class BatchRun: Sendable {
  struct Tally: Sendable {
    /// Pushes that the push service answered, by environment.
    var answered: [APNsEnvironment: Int] = [:]
    /// Those whose token is dead without a moment given: whether the devices are retired is decided on the whole batch.
    var dead: [DeadToken] = []
    /// Whether some have left of which nothing is going to be written.
    var isIncomplete = false
  }

  private struct State {
    var tally = Tally()
    /// Slices out, and one for whoever still hands over.
    var out = 1
    var hasHandedOver = false
  }

  let claim: Claim
  let devices: ClosedRange<Int64>
  let outcomePolicy: OutcomePolicy
  /// Whether some of its pushes were put off before.
  let isDueAgain: Bool
  private let state = Mutex(State())

  init(_ batch: ClaimedBatch, _ outcomePolicy: OutcomePolicy) {
    claim = batch.claim
    devices = batch.devices
    self.outcomePolicy = outcomePolicy
    isDueAgain = batch.isDueAgain
  }

  func handOver() {
    state.withLock { state in
      state.out += 1
      state.hasHandedOver = true
    }
  }

  /// Whether any of its pushes may have left.
  var mayHaveLeft: Bool { state.withLock(\.hasHandedOver) }

  /// A slice is back, or all are handed over.
  /// - Returns: what the whole batch came to, if this was the last thing to wait for.
  func back() -> Tally? {
    state.withLock { state in
      state.out -= 1
      return state.out == 0 ? state.tally : nil
    }
  }

  /// What became of some pushes cannot be written.
  func lose() { state.withLock { $0.tally.isIncomplete = true } }

  func count(answered: Int, dead: [DeadToken], in environment: APNsEnvironment) {
    state.withLock { state in
      state.tally.answered[environment, default: 0] += answered
      state.tally.dead += dead
    }
  }
}
