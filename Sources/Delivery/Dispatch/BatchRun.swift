import FoundationEssentials
import Locking

/// A claimed batch while it is sent: counts its running slices, and collects what is decided once all have ended.
final class BatchRun: Sendable {
  /// How many pushes it has.
  private let size: Int

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
    var preparedAt = ContinuousClock.now
    /// How many of the invalid tokens were looked at by `count`.
    var examined = 0
  }

  let claim: Claim
  let outcomePolicy: OutcomePolicy
  /// Whether some of its pushes were tried before.
  let isRetry: Bool
  /// Whether its write-ahead mark is committed already.
  let isMarked: Bool
  /// The capacity of its pushes that may have left by a mark that was committed with them. They hold it until the batch's end.
  let marked: Capacity
  /// Of a stream, what its pushes' messages say, by their numbers.
  let contents: [Int32: MessageContent]
  /// As in `ClaimedBatch`.
  let plannedAt: Date?
  /// Its memory, if it was handed over.
  private let memory: HandoverBudget.Part?
  private let state = Mutex(State())

  init(
    _ batch: ClaimedBatch, _ outcomePolicy: OutcomePolicy, marked: Capacity = Capacity(),
    memory: HandoverBudget.Part? = nil
  ) {
    claim = batch.claim
    size = batch.pushes.count
    self.outcomePolicy = outcomePolicy
    isRetry = batch.isRetry
    isMarked = batch.isMarked
    contents = batch.contents
    plannedAt = batch.plannedAt
    self.marked = marked
    self.memory = memory
  }

  /// The capacity in the run's window that so many of its pushes take.
  func capacity(_ count: Int) -> Int { isMarked ? 0 : count }

  /// When its recipients were read.
  var preparedAt: ContinuousClock.Instant { state.withLock(\.preparedAt) }

  func markPrepared(at moment: ContinuousClock.Instant) { state.withLock { $0.preparedAt = moment } }

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

  /// Counts what was answered.
  /// - Returns: the invalid tokens that can be reported now to whoever waits. Of a large batch there are none before enough is answered for
  ///   the circuit breaker, nor while that would open.
  func count(answered: Int, invalid: [InvalidToken], _ breaker: CircuitBreaker) -> [InvalidToken] {
    state.withLock { state in
      state.result.answered += answered
      state.result.invalid += invalid
      guard size < breaker.evidence || state.result.answered >= breaker.evidence,
        !breaker.opens(at: state.result.invalid.count, of: state.result.answered)
      else { return [] }
      defer { state.examined = state.result.invalid.count }
      return Array(state.result.invalid[state.examined...])
    }
  }
}
