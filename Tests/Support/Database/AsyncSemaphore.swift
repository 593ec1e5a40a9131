import Synchronization

/// Lets a number of tasks through at once; the others wait, first come first served.
final class AsyncSemaphore: Sendable {
  private struct State {
    var free: Int
    var waiting: [CheckedContinuation<Void, Never>] = []
  }

  private let state: Mutex<State>

  init(places: Int) { state = Mutex(State(free: places)) }

  func enter() async {
    await withCheckedContinuation { continuation in
      let isFree = state.withLock { state in
        guard state.free > 0 else {
          state.waiting.append(continuation)
          return false
        }
        state.free -= 1
        return true
      }
      if isFree { continuation.resume() }
    }
  }

  func leave() {
    let next = state.withLock { state in
      guard state.waiting.isEmpty else { return Optional(state.waiting.removeFirst()) }
      state.free += 1
      return nil
    }
    next?.resume()
  }
}
