import DequeModule
import Synchronization

/// Turns many calls into few: what arrives while calls are under way travels together in the next, and each caller gets its
/// own answer once all of it is done. With a statement that ends in a commit this is a group commit.
///
/// Lanes are independent of each other. A lane has one call under way, and a second one when enough is waiting to be worth
/// it: then the server works on the one while the other waits for the disk.
package final class Gatherer<Lane: Hashable & Sendable, Item: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting {
    let item: Item
    let done: @Sendable (Result<Answer, any Error>) -> Void
  }

  /// What waits in a lane, and how many calls are under way in it.
  private struct Traffic {
    var waiting: Deque<Waiting> = []
    var underWay = 0

    /// Takes one more.
    /// - Returns: what is to go in a call of its own now; nothing if it is to wait.
    mutating func join(_ newcomer: Waiting, _ sizes: GathererSizes) -> [Waiting] {
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
    var lanes: [Lane: Traffic] = [:]
    /// Items waiting or under way in all lanes.
    var count = 0
  }

  /// Most calls of a lane under way at once.
  private static var callsAtOnce: Int { 2 }

  private let state = Mutex(State())
  private let sizes: GathererSizes
  private let full: any Error
  private let patience: Duration
  private let call: @Sendable (Lane, [Item]) async throws -> [Answer]

  /// - Parameters:
  ///   - full: what one more than `sizes.limit` is refused with.
  ///   - patience: how long a call may take to fail for an `Outage`. If it takes longer, those who wait are told the same, since
  ///     they would only wait as long to hear it; sooner, and the next call may do better.
  ///   - call: gives an answer for each item, in their order; what it throws, all of them get. If it gives more or fewer
  ///     answers, nobody knows whose they are, and all get a `Miscount`.
  package init(
    _ sizes: GathererSizes, full: any Error, patience: Duration = .seconds(1),
    call: @escaping @Sendable (Lane, [Item]) async throws -> [Answer]
  ) {
    self.sizes = sizes
    self.full = full
    self.patience = patience
    self.call = call
  }

  /// Waits for the answer to an item. The call goes on when the caller is cancelled, as others travel with it.
  package func answer(_ lane: Lane, _ item: Item) async throws -> Answer {
    try await withCheckedThrowingContinuation { continuation in
      answer(lane, item) { continuation.resume(with: $0) }
    }
  }

  /// As `answer`, without a task that would wait.
  /// - Parameter done: called exactly once, on any thread; others wait until it returns.
  package func answer(_ lane: Lane, _ item: Item, then done: @escaping @Sendable (Result<Answer, any Error>) -> Void) {
    let (isRefused, batch) = state.withLock { state -> (Bool, [Waiting]) in
      guard state.count < sizes.limit else { return (true, []) }
      state.count += 1
      return (false, state.lanes[lane, default: Traffic()].join(Waiting(item: item, done: done), sizes))
    }
    if isRefused { done(.failure(full)) }
    if !batch.isEmpty { Task { await self.drive(lane, batch) } }
  }

  private func drive(_ lane: Lane, _ first: [Waiting]) async {
    var batch = first
    while !batch.isEmpty {
      let start = ContinuousClock.now
      do {
        let answers = try await call(lane, batch.map(\.item))
        guard answers.count == batch.count else { throw Miscount(asked: batch.count, answered: answers.count) }
        for (waiting, answer) in zip(batch, answers) { waiting.done(.success(answer)) }
      } catch {
        let concernsAll = Outage(error) != nil && start.duration(to: .now) >= patience
        let others = concernsAll ? dismissed(from: lane) : []
        for waiting in batch + others { waiting.done(.failure(error)) }
      }
      batch = next(lane, behind: batch.count)
    }
  }

  /// All that wait in a lane, to be told that they need not.
  private func dismissed(from lane: Lane) -> [Waiting] {
    state.withLock { state in
      guard let waiting = state.lanes[lane]?.waiting else { return [] }
      state.lanes[lane]?.waiting.removeAll()
      state.count -= waiting.count
      return Array(waiting)
    }
  }

  /// The next batch of a call that is done; empty when there is nothing more for it to do.
  private func next(_ lane: Lane, behind done: Int) -> [Waiting] {
    state.withLock { state in
      state.count -= done
      guard var traffic = state.lanes.removeValue(forKey: lane) else { return [] }
      let batch = traffic.take(upTo: sizes.group)
      if batch.isEmpty { traffic.underWay -= 1 }
      if traffic.underWay > 0 { state.lanes[lane] = traffic }
      return batch
    }
  }
}

/// How much a gatherer gathers.
package struct GathererSizes: Sendable {
  /// Most items in one call.
  package var group: Int
  /// How many items have to wait in a lane before there is a second call.
  package var worthAnother: Int
  /// Most items waiting or under way in all lanes.
  package var limit: Int

  package init(group: Int, worthAnother: Int, limit: Int) {
    self.group = group
    self.worthAnother = worthAnother
    self.limit = limit
  }
}

/// A call gave another number of answers than it was asked for: a mistake in the code.
package struct Miscount: Error, Hashable {
  package let asked: Int
  package let answered: Int
}
