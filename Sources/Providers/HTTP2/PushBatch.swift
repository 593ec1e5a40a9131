import FoundationEssentials
import Synchronization

/// The requests of one call of `send`. Belongs to the event loop of its pool.
final class PushBatch {
  let requests: [PushRequest]
  private let outcomes: AsyncStream<[PushOutcome]>.Continuation
  private let cancellation: Cancellation
  private let isWanted: @Sendable () -> Bool
  private var pending: [PushOutcome] = []
  private var missing: Int

  init(
    _ requests: [PushRequest], outcomes: AsyncStream<[PushOutcome]>.Continuation, cancellation: Cancellation,
    while isWanted: @escaping @Sendable () -> Bool
  ) {
    self.requests = requests
    self.outcomes = outcomes
    self.cancellation = cancellation
    self.isWanted = isWanted
    missing = requests.count
  }

  /// Whether the reader of the outcomes was cancelled.
  var isCancelled: Bool { cancellation.isCancelled }

  /// Whether its requests may leave now.
  var mayLeave: Bool { isWanted() }

  /// Keeps an outcome for the next `deliver`.
  /// - Returns: whether it is the first one kept.
  func settle(_ outcome: PushOutcome) -> Bool {
    pending.append(outcome)
    return pending.count == 1
  }

  /// Yields the outcomes kept, and ends the stream after the last one.
  func deliver() {
    guard !pending.isEmpty else { return }
    missing -= pending.count
    outcomes.yield(pending)
    pending = []
    if missing == 0 { outcomes.finish() }
  }
}

/// Tells a pool that the reader of a batch was cancelled.
final class Cancellation: Sendable {
  private let flag = Atomic(false)
  var isCancelled: Bool { flag.load(ordering: .relaxed) }
  func cancel() { flag.store(true, ordering: .relaxed) }
}

/// One request of a batch, and what happened to it so far.
struct PushJob {
  let batch: PushBatch
  let index: Int
  /// Whether it is tried again after a refusal that a new connection may cure; the next verdict is final.
  var isRetry = false
  /// How often it was sent and certainly not processed, while no other push of the pool was answered.
  var unprocessedCount = 0
  /// How many pushes of the pool were answered before it was last turned back.
  var answersBefore = 0
  /// What it was last sent with.
  var authorization = Authorization()

  var request: PushRequest { batch.requests[index] }
}
