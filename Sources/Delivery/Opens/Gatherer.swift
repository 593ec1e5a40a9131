import Synchronization

/// Turns many calls into few: what arrives while one is under way travels together in the next, and each caller gets its own
/// answer once all of it is done. With a statement that ends in a commit this is a group commit.
///
/// Lanes are independent of each other; each has one call under way at most.
package final class Gatherer<Lane: Hashable & Sendable, Item: Sendable, Answer: Sendable>: Sendable {
  private struct Waiting {
    let item: Item
    let continuation: CheckedContinuation<Answer, any Error>
  }

  private struct State {
    /// Lanes with a call under way, and what waits for the next.
    var lanes: [Lane: [Waiting]] = [:]
    var count = 0
  }

  private let state = Mutex(State())
  private let group: Int
  private let limit: Int
  private let full: any Error
  private let call: @Sendable (Lane, [Item]) async throws -> [Answer]

  /// - Parameters:
  ///   - group: most items in one call.
  ///   - limit: most items waiting in all lanes; one more is refused with `full`.
  ///   - call: gives an answer for each item, in their order; what it throws, all of them get.
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
      let waiting = Waiting(item: item, continuation: continuation)
      let turn: GathererTurn = state.withLock { state in
        guard state.count < limit else { return .isRefused }
        state.count += 1
        guard state.lanes[lane] == nil else {
          state.lanes[lane]?.append(waiting)
          return .waits
        }
        state.lanes[lane] = []
        return .starts
      }
      switch turn {
      case .waits: break
      case .isRefused: continuation.resume(throwing: full)
      case .starts: Task { await self.drive(lane, waiting) }
      }
    }
  }

  private func drive(_ lane: Lane, _ first: Waiting) async {
    var batch = [first]
    while !batch.isEmpty {
      do {
        let answers = try await call(lane, batch.map(\.item))
        for (waiting, answer) in zip(batch, answers) { waiting.continuation.resume(returning: answer) }
      } catch {
        for waiting in batch { waiting.continuation.resume(throwing: error) }
      }
      batch = next(lane, behind: batch.count)
    }
  }

  private func next(_ lane: Lane, behind done: Int) -> [Waiting] {
    state.withLock { state in
      state.count -= done
      let waiting = state.lanes[lane] ?? []
      guard !waiting.isEmpty else {
        state.lanes[lane] = nil
        return []
      }
      state.lanes[lane] = Array(waiting.dropFirst(group))
      return Array(waiting.prefix(group))
    }
  }
}

private enum GathererTurn { case waits, starts, isRefused }
