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
    mutating func join(_ newcomer: Waiting, upTo group: Int) -> [Waiting] {
      waiting.append(newcomer)
      guard underWay == 0 || underWay < callsAtOnce && waiting.count >= worthAnother else { return [] }
      underWay += 1
      return take(upTo: group)
    }

    mutating func take(upTo group: Int) -> [Waiting] {
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

  /// Most calls of a lane under way at once, and how many items have to wait before there is another than the first.
  private static var callsAtOnce: Int { 2 }
  private static var worthAnother: Int { 128 }

  private let state = Mutex(State())
  private let group: Int
  private let limit: Int
  private let full: any Error
  private let call: @Sendable (Lane, [Item]) async throws -> [Answer]

  /// - Parameters:
  ///   - group: most items in one call.
  ///   - limit: most items waiting or under way in all lanes; one more is refused with `full`.
  ///   - call: gives an answer for each item, in their order; what it throws, all of them get. If it gives more or fewer
  ///     answers, nobody knows whose they are, and all get a `Miscount`.
  package init(
    group: Int, limit: Int, full: any Error, call: @escaping @Sendable (Lane, [Item]) async throws -> [Answer]
  ) {
    self.group = group
    self.limit = limit
    self.full = full
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
      guard state.count < limit else { return (true, []) }
      state.count += 1
      return (false, state.lanes[lane, default: Traffic()].join(Waiting(item: item, done: done), upTo: group))
    }
    if isRefused { done(.failure(full)) }
    if !batch.isEmpty { Task { await self.drive(lane, batch) } }
  }

  private func drive(_ lane: Lane, _ first: [Waiting]) async {
    var batch = first
    while !batch.isEmpty {
      do {
        let answers = try await call(lane, batch.map(\.item))
        guard answers.count == batch.count else { throw Miscount(asked: batch.count, answered: answers.count) }
        for (waiting, answer) in zip(batch, answers) { waiting.done(.success(answer)) }
      } catch {
        for waiting in batch { waiting.done(.failure(error)) }
      }
      batch = next(lane, behind: batch.count)
    }
  }

  /// The next batch of a call that is done; empty when there is nothing more for it to do.
  private func next(_ lane: Lane, behind done: Int) -> [Waiting] {
    state.withLock { state in
      state.count -= done
      guard var traffic = state.lanes.removeValue(forKey: lane) else { return [] }
      let batch = traffic.take(upTo: group)
      if batch.isEmpty { traffic.underWay -= 1 }
      if traffic.underWay > 0 { state.lanes[lane] = traffic }
      return batch
    }
  }
}

/// A call gave another number of answers than it was asked for: a mistake in the code.
package struct Miscount: Error, Hashable {
  package let asked: Int
  package let answered: Int
}
