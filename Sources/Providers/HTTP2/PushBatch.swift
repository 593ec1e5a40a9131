import FoundationEssentials
import NIOCore
import Locking
import Wire

/// The requests of one call of `send` that go through one pool. Belongs to the pool's event loop.
final class PushBatch {
  let requests: [PushRequest]
  private let outcomes: OutcomeStream
  private let use: PoolUse
  /// The places of its requests, which each gives back with its outcome.
  private let lease: PlaceLease?
  /// When requests that have not left come back as `unsent`; nil for never.
  private let deadline: NIODeadline?
  private let isWanted: @Sendable () -> Bool
  private var pending: [PushOutcome] = []
  /// How many of its requests have ended since the last `deliver`: with an answer, without, and otherwise.
  private var ended: [Bool?: Int] = [:]

  /// - Parameter use: of its pool, which the caller has begun; it ends with the batch.
  init(
    _ requests: [PushRequest], outcomes: OutcomeStream, use: PoolUse, lease: PlaceLease? = nil,
    deadline: NIODeadline? = nil, while isWanted: @escaping @Sendable () -> Bool
  ) {
    self.lease = lease
    self.deadline = deadline
    self.requests = requests
    self.outcomes = outcomes
    self.use = use
    self.isWanted = isWanted
  }

  // Also if its reader was cancelled, when some requests have no outcome.
  deinit { use.end() }

  /// Whether the reader of the outcomes was cancelled.
  var isCancelled: Bool { outcomes.isCancelled }

  /// Why its requests may not leave any more; nil if they may.
  var cancellationReason: String? {
    if let deadline, NIODeadline.now() >= deadline { return .hub(.queueTimeout) }
    return isWanted() ? nil : .hub(.cancelled)
  }

  /// Keeps the outcomes of a request's pushes for the next `deliver`.
  /// - Parameter exceptions: verdicts on single recipients, by their place in the request.
  /// - Returns: whether they are the first ones kept.
  func settle(_ job: PushJob, _ verdict: Verdict, except exceptions: [Int: Verdict] = [:], sentAt: Date?) -> Bool {
    let isFirst = pending.isEmpty
    if lease != nil { ended[verdict.isAnswered, default: 0] += 1 }
    let recipients = requests[job.index].recipients
    let reductions = job.smaller?.reductions ?? []
    if recipients.isEmpty {
      pending.append(PushOutcome(index: job.index, verdict: verdict, sentAt: sentAt, reductions: reductions))
    }
    for (place, recipient) in recipients.enumerated() {
      pending.append(
        PushOutcome(
          index: recipient.index, verdict: exceptions[place] ?? verdict, sentAt: sentAt, reductions: reductions))
    }
    return isFirst
  }

  /// Yields the outcomes kept.
  func deliver() {
    guard !pending.isEmpty else { return }
    // Before the outcomes are delivered, and their reader sends more.
    for (isAnswered, count) in ended { lease?.end(count, isAnswered: isAnswered) }
    ended.removeAll(keepingCapacity: true)
    outcomes.yield(pending)
    pending = []
  }
}

/// The outcomes of one call of `send`, which may come from several pools. The stream ends after the last one.
final class OutcomeStream: Sendable {
  private let continuation: AsyncStream<[PushOutcome]>.Continuation
  private let missing: Atomic<Int>
  private let cancellation = Atomic(false)

  /// - Parameter count: how many outcomes there will be.
  static func make(count: Int) -> (AsyncStream<[PushOutcome]>, OutcomeStream) {
    let (stream, continuation) = AsyncStream.makeStream(of: [PushOutcome].self)
    let outcomes = OutcomeStream(continuation, count)
    continuation.onTermination = { _ in outcomes.cancellation.store(true, ordering: .relaxed) }
    if count == 0 { continuation.finish() }
    return (stream, outcomes)
  }

  private init(_ continuation: AsyncStream<[PushOutcome]>.Continuation, _ count: Int) {
    self.continuation = continuation
    missing = Atomic(count)
  }

  /// Whether its reader was cancelled.
  var isCancelled: Bool { cancellation.load(ordering: .relaxed) }

  func yield(_ outcomes: [PushOutcome]) {
    continuation.yield(outcomes)
    if missing.subtract(outcomes.count, ordering: .acquiringAndReleasing).newValue == 0 { continuation.finish() }
  }
}

extension OutcomeStream {
  /// Requests come back without having left.
  func postpone(_ requests: some Sequence<PushRequest>, _ reason: String) {
    let postponed = requests.flatMap(\.recipients).map {
      PushOutcome(index: $0.index, verdict: .unsent(reason: reason), sentAt: nil)
    }
    if !postponed.isEmpty { yield(postponed) }
  }
}

/// Counts the batches that a pool works on.
final class PoolUse: Sendable {
  private struct State {
    var count = 0
    var onceIdle: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  var isIdle: Bool { state.withLock { $0.count == 0 } }
  func begin() { state.withLock { $0.count += 1 } }

  func end() {
    let action = state.withLock { state -> (@Sendable () -> Void)? in
      state.count -= 1
      guard state.count == 0 else { return nil }
      defer { state.onceIdle = nil }
      return state.onceIdle
    }
    action?()
  }

  /// Calls `action` once no batch is left. None may begin any more.
  func onceIdle(_ action: @escaping @Sendable () -> Void) {
    let isIdle = state.withLock { state in
      if state.count > 0 { state.onceIdle = action }
      return state.count == 0
    }
    if isIdle { action() }
  }
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

  /// What is sent in its place since the service found it too large.
  var smaller: PushRequest?

  var isSmaller: Bool { smaller != nil }
  var request: PushRequest { smaller ?? batch.requests[index] }
}
