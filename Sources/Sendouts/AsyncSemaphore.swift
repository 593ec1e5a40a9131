import Synchronization

/// Lets a few tasks through at a time; the others wait in the order they came.
final class AsyncSemaphore: Sendable {
  private struct State {
    var free: Int
    var waiting: [(id: Int, continuation: CheckedContinuation<Void, any Error>)] = []
    var lastID = 0
  }

  private let state: Mutex<State>

  init(_ places: Int) { state = Mutex(State(free: places)) }

  /// Runs `body` when there is a place.
  /// - Throws: `CancellationError` when the task is cancelled while it waits.
  func pass<Answer>(_ body: () async throws -> Answer) async throws -> Answer {
    try await enter()
    defer { leave() }
    return try await body()
  }

  private func enter() async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let mayPass = state.withLock { state in
          if state.free > 0 {
            state.free -= 1
            return true
          }
          state.waiting.append((id, continuation))
          return false
        }
        if mayPass { continuation.resume() }
        if Task.isCancelled { cancel(id) }
      }
    } onCancel: {
      cancel(id)
    }
  }

  private func leave() {
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
