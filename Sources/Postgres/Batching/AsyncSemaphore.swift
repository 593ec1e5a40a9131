import Locking

/// Limits how many tasks run something at the same time; the others wait in order.
package final class AsyncSemaphore: Sendable {
  private struct State {
    var free: Int
    var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var lastID = 0
  }

  private let state: Mutex<State>

  package init(_ permits: Int) { state = Mutex(State(free: permits)) }

  /// Runs `body` with a permit.
  /// - Throws: `CancellationError` when the task is cancelled while it waits.
  package func withPermit<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
    try await acquire()
    defer { release() }
    return try await body()
  }

  private func acquire() async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let hasPermit = state.withLock { state in
          if state.free > 0 {
            state.free -= 1
            return true
          }
          state.waiting.append((id, continuation))
          return false
        }
        if hasPermit { continuation.resume() }
        if Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  private func release() {
    let next = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard !state.waiting.isEmpty else {
        state.free += 1
        return nil
      }
      return state.waiting.removeFirst().continuation
    }
    next?.resume()
  }

  private func cancel(_ id: Int) {
    let found = state.withLock { state -> CheckedContinuation<Void, any Error>? in
      guard let index = state.waiting.firstIndex(where: { $0.id == id }) else { return nil }
      return state.waiting.remove(at: index).continuation
    }
    found?.resume(throwing: CancellationError())
  }
}

/// A semaphore for each key, for as long as somebody uses it.
package final class KeyedSemaphore<Key: Hashable & Sendable>: Sendable {
  private let permits: Int
  private let mostWaiting: Int
  private let semaphores = Mutex<[Key: (semaphore: AsyncSemaphore, users: Int)]>([:])

  /// - Parameters:
  ///   - permits: of each key.
  ///   - mostWaiting: how many may wait for a permit of one key.
  package init(_ permits: Int, mostWaiting: Int = .max) {
    self.permits = permits
    self.mostWaiting = mostWaiting
  }

  /// Runs `body` with a permit of the key.
  /// - Throws: `CancellationError` when the task is cancelled while it waits; `PostgresError.busy` when too many wait already.
  package func withPermit<Answer>(_ key: Key, _ body: () async throws -> Answer) async throws -> Answer {
    let semaphore = try semaphores.withLock { [permits, mostWaiting] semaphores in
      let (semaphore, users) = semaphores[key] ?? (AsyncSemaphore(permits), 0)
      guard users - permits < mostWaiting else {
        throw PostgresError.busy("\(mostWaiting) requests are waiting already")
      }
      semaphores[key] = (semaphore, users + 1)
      return semaphore
    }
    defer {
      semaphores.withLock { semaphores in
        semaphores[key]?.users -= 1
        if semaphores[key]?.users == 0 { semaphores[key] = nil }
      }
    }
    return try await semaphore.withPermit(body)
  }
}
