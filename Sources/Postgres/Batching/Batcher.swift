package import Retrying
import Locking

/// Turns many calls into few. Items that arrive while a call is under way share the next one. Each caller gets its own
/// answer once the whole call is done. With a statement that ends in a commit this is a group commit.
///
/// Items of different keys, which are customers, never travel together, and keys take turns; see `BatchLimits` and
/// `BatchQueue` for what goes when. Make one `Batcher` for each process: it is what waiting callers have in common.
package final class Batcher<Item: Sendable, Answer: Sendable>: Sendable {
  /// What is done about a batch that failed, other than telling everybody in it.
  package struct FailurePolicy: Sendable {
    /// Whether the same batch may succeed in a moment. It is then tried again, while anybody waits for it.
    package var isWorthRetrying: @Sendable (any Error) -> Bool = { _ in false }
    /// When it is tried again.
    package var retry = RetryPolicy.conflicts
    /// Whether some of the items are at fault. The halves of the batch are then tried one after the other, and theirs: a few
    /// more calls for everybody, not one each.
    package var concernsSomeItems: @Sendable (any Error) -> Bool = { _ in false }
    /// How long a batch has to take to fail because the database is away, so that those who wait behind it fail with it.
    /// They would only wait as long themselves. After a quicker failure the next batch may do better.
    package var outageAfter: Duration = .seconds(1)
    /// Whether nothing more is tried after a failure: the batcher is then cancelled.
    package var endsBatcher = false

    package init() {}
  }

  private final class Waiter: Sendable {
    let item: Item
    let done: @Sendable (Result<Answer, any Error>) -> Void

    init(_ item: Item, _ done: @escaping @Sendable (Result<Answer, any Error>) -> Void) {
      self.item = item
      self.done = done
    }
  }

  private struct State {
    var queue: BatchQueue
    var isCancelled = false
    var calls: [Int: Task<Void, Never>] = [:]
    /// Sleeps until the queue's next alarm.
    var timer: Task<Void, Never>?
    var timerEnds: BatchQueue.Instant?
  }

  private let state: Mutex<State>
  private let full: any Error
  private let policy: FailurePolicy
  private let executor: (any TaskExecutor)?
  private let call: @Sendable (Int64, [Item]) async throws -> [Answer]

  /// - Parameters:
  ///   - full: the error of an item for which the queue has no room.
  ///   - executor: where the calls run; `nil` for anywhere.
  ///   - call: gives an answer for each item, in their order; what it throws, all of them get. If it gives more or fewer
  ///     answers, nobody knows whose they are, and all get a `ResultCountMismatch`.
  package init(
    _ limits: BatchLimits, full: any Error, onFailure policy: FailurePolicy = FailurePolicy(),
    on executor: (any TaskExecutor)? = nil,
    call: @escaping @Sendable (_ key: Int64, _ items: [Item]) async throws -> [Answer]
  ) {
    state = Mutex(State(queue: BatchQueue(limits)))
    self.full = full
    self.policy = policy
    self.executor = executor
    self.call = call
  }

  /// Waits for the answer to an item. The call goes on when the caller is cancelled, as others travel with it.
  package func answer(
    _ key: Int64, _ item: Item, weight: Int = 1, conflictKeys: [Int] = []
  ) async throws -> Answer {
    try await withUnsafeThrowingContinuation { continuation in
      answer(key, item, weight: weight, conflictKeys: conflictKeys) { continuation.resume(with: $0) }
    }
  }

  /// As `answer`, without a task that would wait.
  /// - Parameters:
  ///   - weight: how much of a batch it takes up.
  ///   - conflictKeys: items with one of them in common go one after another, in the order they came.
  ///   - done: called exactly once, on any thread; others wait until it returns. It gets `PostgresError.busy` once the
  ///     limits' timeout is over, whether the item is under way or not.
  package func answer(
    _ key: Int64, _ item: Item, weight: Int = 1, conflictKeys: [Int] = [],
    then done: @escaping @Sendable (Result<Answer, any Error>) -> Void
  ) {
    let waiter = Waiter(item, done)
    let refusal = state.withLock { state -> (any Error)? in
      guard !state.isCancelled else { return CancellationError() }
      let now = BatchQueue.Instant.now
      guard state.queue.add(waiter, key: key, weight: weight, conflictKeys: conflictKeys, at: now) else { return full }
      begin(&state, at: now)
      return nil
    }
    if let refusal { done(.failure(refusal)) }
  }

  /// Takes no more, and cancels the calls under way. Once they have ended, everybody who still waits gets an error.
  package func cancel() {
    let calls = state.withLock { state in
      state.isCancelled = true
      return state.calls.values
    }
    for call in calls { call.cancel() }
  }

  // MARK: Batches

  /// Begins all batches that may begin now; none once the batcher is cancelled.
  private func begin(_ state: inout State, at now: BatchQueue.Instant) {
    while !state.isCancelled, let batch = state.queue.next(at: now) {
      // Within the lock, as the task's own end removes it.
      state.calls[batch.id] = Task(executorPreference: executor) { await self.drive(batch) }
    }
    startTimer(&state)
  }

  /// What became of some items of a batch.
  private struct Outcome {
    var results: [Result<Answer, any Error>]
    /// Whether those who wait behind them need not wait any longer.
    var isOutage = false
  }

  /// Runs a batch. The next one begins before this one's callers are answered, which takes a while when they are many.
  private func drive(_ batch: BatchQueue.Batch) async {
    let outcome = await outcome(batch, batch.entries.indices)
    let (awaited, dismissed) = state.withLock { state in
      state.calls[batch.id] = nil
      let awaited = state.queue.answer(batch, batch.entries.indices)
      state.queue.end(batch)
      let dismissed =
        state.isCancelled ? state.queue.dismissAll() : outcome.isOutage ? state.queue.dismiss(batch.key) : []
      begin(&state, at: .now)
      return (awaited, dismissed)
    }
    for index in awaited { waiter(batch.entries[index]).done(outcome.results[index]) }
    fail(dismissed, PostgresError.unavailable("what was asked before had no answer"))
  }

  private func outcome(_ batch: BatchQueue.Batch, _ range: Range<Int>) async -> Outcome {
    let start = BatchQueue.Instant.now
    do {
      return Outcome(results: try await answers(batch, range).map { .success($0) })
    } catch {
      if range.count > 1, policy.concernsSomeItems(error) {
        let middle = range.lowerBound + range.count / 2
        var outcome = await outcome(batch, range.lowerBound..<middle)
        let other = await self.outcome(batch, middle..<range.upperBound)
        outcome.results += other.results
        outcome.isOutage = outcome.isOutage || other.isOutage
        return outcome
      }
      if policy.endsBatcher { cancel() }
      let isOutage =
        (error as? PostgresError)?.isOutage == true && !policy.isWorthRetrying(error)
        && start.duration(to: .now) >= policy.outageAfter
      return Outcome(results: range.map { _ in .failure(error) }, isOutage: isOutage)
    }
  }

  private func answers(_ batch: BatchQueue.Batch, _ range: Range<Int>) async throws -> [Answer] {
    let items = batch.entries[range].map { waiter($0).item }
    var failures = 0
    while true {
      do {
        let answers = try await call(batch.key, items)
        guard answers.count == items.count else {
          throw ResultCountMismatch(asked: items.count, answered: answers.count)
        }
        return answers
      } catch  where policy.isWorthRetrying(error) && !Task.isCancelled && isAwaited(batch, range) {
        failures += 1
        try? await Task.sleep(for: policy.retry.delay(after: failures))
      }
    }
  }

  private func isAwaited(_ batch: BatchQueue.Batch, _ range: Range<Int>) -> Bool {
    state.withLock { $0.queue.isAwaited(batch, range) }
  }

  private func fail(_ entries: [BatchQueue.Entry], _ error: any Error) {
    for entry in entries { waiter(entry).done(.failure(error)) }
  }

  private func waiter(_ entry: BatchQueue.Entry) -> Waiter {
    // The queue gives back what `answer` put in, and nothing else is put in.
    unsafeDowncast(entry.waiter, to: Waiter.self)
  }

  // MARK: Time

  /// One task sleeps until something is due, whatever the count of those who wait.
  private func startTimer(_ state: inout State) {
    guard let alarm = state.queue.alarm, state.timerEnds.map({ alarm < $0 }) ?? true else { return }
    state.timer?.cancel()
    state.timerEnds = alarm
    state.timer = Task { [weak self] in
      if (try? await Task.sleep(until: alarm, clock: .continuous)) != nil { self?.advance() }
    }
  }

  private func advance() {
    let late = state.withLock { state in
      (state.timer, state.timerEnds) = (nil, nil)
      let now = BatchQueue.Instant.now
      let late = state.queue.advance(to: now)
      begin(&state, at: now)
      return late
    }
    fail(late, PostgresError.busy("no answer in time"))
  }
}

/// A call gave another number of answers than it was asked for: a mistake in the code.
package struct ResultCountMismatch: Error, Hashable {
  package let asked: Int
  package let answered: Int
}

extension PostgresError {
  /// Whether the database was away, too slow or too busy, rather than the statement wrong.
  fileprivate var isOutage: Bool {
    switch self {
    case .unknownOutcome, .timedOut: true
    default: isPassing
    }
  }
}
