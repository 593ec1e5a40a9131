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
    missing = requests.reduce(0) { $0 + max(1, $1.recipients.count) }
  }

  /// Whether the reader of the outcomes was cancelled.
  var isCancelled: Bool { cancellation.isCancelled }

  /// Whether its requests may leave now.
  var mayLeave: Bool { isWanted() }

  /// Keeps the outcomes of a request's pushes for the next `deliver`.
  /// - Parameter exceptions: verdicts on single recipients, by their place in the request.
  /// - Returns: whether they are the first ones kept.
  func settle(_ request: Int, _ verdict: Verdict, except exceptions: [Int: Verdict] = [:], sentAt: Date?) -> Bool {
    let isFirst = pending.isEmpty
    let recipients = requests[request].recipients
    if recipients.isEmpty { pending.append(PushOutcome(index: request, verdict: verdict, sentAt: sentAt)) }
    for (place, recipient) in recipients.enumerated() {
      pending.append(PushOutcome(index: recipient.index, verdict: exceptions[place] ?? verdict, sentAt: sentAt))
    }
    return isFirst
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
