import DequeModule
import Synchronization

/// Turns many calls into few: what arrives while calls are under way travels together in the next, and each caller gets its
/// own answer once all of it is done. With a statement that ends in a commit this is a group commit.
///
/// Lanes are independent of each other. A key has one call under way, and a second one when enough is waiting to be worth
/// it: then the server works on the one while the other waits for the disk.
package final class Batcher<Key: Hashable & Sendable, Item: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting {
    let item: Item
    let done: @Sendable (Result<Answer, any Error>) -> Void
  }

  /// What waits in a key, and how many calls are under way in it.
  private struct Queue {
    var waiting: Deque<Waiting> = []
    var underWay = 0

    /// Takes one more.
    /// - Returns: what is to go in a call of its own now; nothing if it is to wait.
    mutating func join(_ newcomer: Waiting, _ sizes: BatcherLimits) -> [Waiting] {
      waiting.append(newcomer)
      guard underWay == 0 || underWay < callsAtOnce && waiting.count >= sizes.worthAnother else { return [] }
      underWay += 1
      return take(upTo: sizes.group)
    }

    mutating func take(upTo group: Int) -> [Waiting] {
      guard waiting.count > group else {
        defer { waiting = [] }
        return Array(waiting)
      }
      let batch = Array(waiting.prefix(group))
      waiting.removeFirst(batch.count)
      return batch
    }
  }

  private struct State {
    var queues: [Key: Queue] = [:]
    /// Items waiting or under way in all queues.
    var count = 0
  }

  /// Most calls of a key under way at once.
  private static var callsAtOnce: Int { 2 }

  private let state = Mutex(State())
  private let sizes: BatcherLimits
  private let full: any Error
  private let timeout: Duration
  private let call: @Sendable (Key, [Item]) async throws -> [Answer]

  /// - Parameters:
  ///   - full: what one more than `sizes.limit` is refused with.
  ///   - timeout: how long a call may take to fail for an `DatabaseUnavailable`. If it takes longer, those who wait are told the same, since
  ///     they would only wait as long to hear it; sooner, and the next call may do better.
  ///   - call: gives an answer for each item, in their order; what it throws, all of them get. If it gives more or fewer
  ///     answers, nobody knows whose they are, and all get a `ResultCountMismatch`.
  package init(
    _ sizes: BatcherLimits, full: any Error, timeout: Duration = .seconds(1),
    call: @escaping @Sendable (Key, [Item]) async throws -> [Answer]
  ) {
    self.sizes = sizes
    self.full = full
    self.timeout = timeout
    self.call = call
  }

  /// Waits for the answer to an item. The call goes on when the caller is cancelled, as others travel with it.
  package func answer(_ key: Key, _ item: Item) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      answer(key, item) { continuation.resume(with: $0) }
    }
  }

  /// As `answer`, without a task that would wait.
  /// - Parameter done: called exactly once, on any thread; others wait until it returns.
  package func answer(_ key: Key, _ item: Item, then done: @escaping @Sendable (Result<Answer, any Error>) -> Void) {
    let (isRefused, batch) = state.withLock { state -> (Bool, [Waiting]) in
      guard state.count < sizes.limit else { return (true, []) }
      state.count += 1
      return (false, state.queues[key, default: Queue()].join(Waiting(item: item, done: done), sizes))
    }
    if isRefused { done(.failure(full)) }
    if !batch.isEmpty { Task { await self.drive(key, batch) } }
  }

  private func drive(_ key: Key, _ first: [Waiting]) async {
    var batch = first
    while !batch.isEmpty {
      let start = ContinuousClock.now
      do {
        let answers = try await call(key, batch.map(\.item))
        guard answers.count == batch.count else {
          throw ResultCountMismatch(asked: batch.count, answered: answers.count)
        }
        for (waiting, answer) in zip(batch, answers) { waiting.done(.success(answer)) }
      } catch {
        let concernsAll = DatabaseUnavailable(error) != nil && start.duration(to: .now) >= timeout
        let others = concernsAll ? dismissed(from: key) : []
        for waiting in batch + others { waiting.done(.failure(error)) }
      }
      batch = next(key, behind: batch.count)
    }
  }

  /// All that wait in a key, to be told that they need not.
  private func dismissed(from key: Key) -> [Waiting] {
    state.withLock { state in
      guard let waiting = state.queues[key]?.waiting else { return [] }
      state.queues[key]?.waiting.removeAll()
      state.count -= waiting.count
      return Array(waiting)
    }
  }

  /// The next batch of a call that is done; empty when there is nothing more for it to do.
  private func next(_ key: Key, behind done: Int) -> [Waiting] {
    state.withLock { state in
      state.count -= done
      guard var traffic = state.queues.removeValue(forKey: key) else { return [] }
      let batch = traffic.take(upTo: sizes.group)
      if batch.isEmpty { traffic.underWay -= 1 }
      if traffic.underWay > 0 { state.queues[key] = traffic }
      return batch
    }
  }
}

/// How much a gatherer gathers.
package struct BatcherLimits: Sendable {
  /// Most items in one call.
  package var group: Int
  /// How many items have to wait in a key before there is a second call.
  package var worthAnother: Int
  /// Most items waiting or under way in all queues.
  package var limit: Int

  package init(group: Int, worthAnother: Int, limit: Int) {
    self.group = group
    self.worthAnother = worthAnother
    self.limit = limit
  }
}

/// A call gave another number of answers than it was asked for: a mistake in the code.
package struct ResultCountMismatch: Error, Hashable {
  package let asked: Int
  package let answered: Int
}
