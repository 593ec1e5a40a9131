import Synchronization

/// A claimed batch while it is sent: counts its running slices, and collects what is decided once all have ended.
final class BatchRun: Sendable {
  /// What a batch came to.
  struct Result: Sendable {
    /// Pushes that the push service answered.
    var answered = 0
    /// Tokens reported as invalid without a date: whether their devices are retired is decided for the whole batch.
    var invalid: [InvalidToken] = []
    /// Whether outcomes of some sent pushes cannot be written.
    var isIncomplete = false
  }

  private struct State {
    var result = Result()
    /// Slices that have not ended, and one for the task that starts them.
    var running = 1
    var hasSent = false
  }

  let claim: Claim
  let outcomePolicy: OutcomePolicy
  /// Whether some of its pushes were tried before.
  let isRetry: Bool
  /// How many of its pushes may have left because its write-ahead mark is committed already. They hold their room until its end.
  let markedCount: Int
  private let state = Mutex(State())

  init(_ batch: ClaimedBatch, _ outcomePolicy: OutcomePolicy) {
    claim = batch.claim
    self.outcomePolicy = outcomePolicy
    isRetry = batch.isRetry
    markedCount = batch.markedCount
  }

  /// Whether its write-ahead mark is committed already.
  var isMarked: Bool { markedCount > 0 }

  /// The room in the run's window that so many of its pushes take.
  func room(_ count: Int) -> Int { isMarked ? 0 : count }

  func beginSlice() {
    state.withLock { state in
      state.running += 1
      state.hasSent = true
    }
  }

  /// Whether any of its pushes may have left.
  var mayHaveSent: Bool { state.withLock(\.hasSent) }

  /// A slice has ended, or all are started.
  /// - Returns: what the batch came to, if nothing more is running.
  func endSlice() -> Result? {
    state.withLock { state in
      state.running -= 1
      return state.running == 0 ? state.result : nil
    }
  }

  /// Some outcomes cannot be written.
  func markIncomplete() { state.withLock { $0.result.isIncomplete = true } }

  func count(answered: Int, invalid: [InvalidToken]) {
    state.withLock { state in
      state.result.answered += answered
      state.result.invalid += invalid
    }
  }
}
