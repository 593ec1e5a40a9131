import DequeModule
import Synchronization

/// The last arrivals, in the order they came, and those who wait for more.
final class ArrivalLog: Sendable {
  private struct State {
    var kept: Deque<SimulatedAPNs.Arrival> = []
    var count = 0
    var waiting: [(count: Int, CheckedContinuation<[SimulatedAPNs.Arrival], Never>)] = []
    var watchers: [Int: AsyncStream<SimulatedAPNs.Arrival>.Continuation] = [:]
    var lastWatcher = 0
    var isFinished = false
  }

  private let state = Mutex(State())
  private let limit: Int

  init(keeping limit: Int) { self.limit = max(1, limit) }

  var kept: [SimulatedAPNs.Arrival] { state.withLock { Array($0.kept) } }
  var count: Int { state.withLock { $0.count } }

  func append(_ arrival: SimulatedAPNs.Arrival) {
    state.withLock { state in
      var arrival = arrival
      state.count += 1
      arrival.number = state.count
      if state.kept.count == limit { state.kept.removeFirst() }
      state.kept.append(arrival)
      for watcher in state.watchers.values { watcher.yield(arrival) }
      guard !state.waiting.isEmpty else { return }
      let count = state.count
      let ready = state.waiting.filter { $0.count <= count }
      state.waiting.removeAll { $0.count <= count }
      for (_, continuation) in ready { continuation.resume(returning: Array(state.kept)) }
    }
  }

  /// Waits until so many have arrived.
  func received(count: Int) async -> [SimulatedAPNs.Arrival] {
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

  /// The last `replay` of those kept, then all that come. A watcher who cannot keep up misses the oldest.
  func watch(replay: Int) -> AsyncStream<SimulatedAPNs.Arrival> {
    let (stream, continuation) = AsyncStream.makeStream(
      of: SimulatedAPNs.Arrival.self, bufferingPolicy: .bufferingNewest(max(replay, 200)))
    state.withLock { state in
      if state.isFinished { return continuation.finish() }
      for arrival in state.kept.suffix(replay) { continuation.yield(arrival) }
      state.lastWatcher += 1
      let number = state.lastWatcher
      state.watchers[number] = continuation
      continuation.onTermination = { [weak self] _ in self?.forget(number) }
    }
    return stream
  }

  /// Ends all watching, for good.
  func finish() {
    let watchers = state.withLock { state in
      state.isFinished = true
      return Array(state.watchers.values)
    }
    for watcher in watchers { watcher.finish() }
  }

  private func forget(_ number: Int) {
    state.withLock { $0.watchers[number] = nil }
  }
}
