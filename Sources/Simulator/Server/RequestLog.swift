import DequeModule
import Locking

/// The last requests, oldest first, and the callers that wait for more.
final class RequestLog<Request: Sendable>: Sendable {
  private struct State {
    var kept: Deque<Request> = []
    var count = 0
    var waiting: [(count: Int, CheckedContinuation<[Request], Never>)] = []
    var watchers: [Int: AsyncStream<Request>.Continuation] = [:]
    var lastWatcher = 0
    var isFinished = false
  }

  private let state = Mutex(State())
  private let limit: Int

  init(keeping limit: Int) { self.limit = max(1, limit) }

  var kept: [Request] { state.withLock { Array($0.kept) } }
  var count: Int { state.withLock { $0.count } }

  /// Adds the request that `make` returns for its number: 1, 2, 3, … since the start.
  @discardableResult
  func append(_ make: (Int) -> Request) -> Request {
    state.withLock { state in
      state.count += 1
      let request = make(state.count)
      if state.kept.count == limit { state.kept.removeFirst() }
      state.kept.append(request)
      for watcher in state.watchers.values { watcher.yield(request) }
      guard !state.waiting.isEmpty else { return request }
      let count = state.count
      let ready = state.waiting.filter { $0.count <= count }
      state.waiting.removeAll { $0.count <= count }
      for (_, continuation) in ready { continuation.resume(returning: Array(state.kept)) }
      return request
    }
  }

  /// Waits until so many requests were received since the start, and returns those kept.
  func received(count: Int) async -> [Request] {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        if state.count >= count {
          continuation.resume(returning: Array(state.kept))
        } else {
          state.waiting.append((count, continuation))
        }
      }
    }
  }

  /// The last `replay` requests kept, then every new one. A reader that is too slow misses the oldest.
  func watch(replay: Int) -> AsyncStream<Request> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: Request.self, bufferingPolicy: .bufferingNewest(max(replay, 200)))
    state.withLock { state in
      if state.isFinished { return continuation.finish() }
      for request in state.kept.suffix(replay) { continuation.yield(request) }
      state.lastWatcher += 1
      let number = state.lastWatcher
      state.watchers[number] = continuation
      continuation.onTermination = { [weak self] _ in self?.removeWatcher(number) }
    }
    return stream
  }

  /// Ends every stream of `watch`, for good.
  func finish() {
    let watchers = state.withLock { state in
      state.isFinished = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }

  private func removeWatcher(_ number: Int) {
    state.withLock { $0.watchers[number] = nil }
  }
}
