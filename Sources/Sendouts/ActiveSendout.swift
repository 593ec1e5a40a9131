import Delivery
import Synchronization

/// A sendout that this hub looks after: how the task that does so is nudged and stopped.
final class ActiveSendout: Sendable {
  private struct State {
    var isNudged = false
    var isStopped = false
    var sleeper: CheckedContinuation<Void, Never>?
    var dispatch: StopSignal?
  }

  let key: SendoutKey
  private let state = Mutex(State())

  init(_ key: SendoutKey) { self.key = key }

  /// Something has changed: look again.
  func wake() { wake { $0.isNudged = true } }

  /// Whether it was nudged since it was last asked.
  func takeNudge() -> Bool {
    state.withLock { state in
      defer { state.isNudged = false }
      return state.isNudged
    }
  }

  /// Stops the dispatch under way; the task then looks what state the sendout is in.
  func interrupt() {
    state.withLock(\.dispatch)?.stop()
    wake()
  }

  /// Stops the dispatch under way, and every later one.
  func stop() {
    state.withLock { $0.isStopped = true }
    interrupt()
  }

  var isStopped: Bool { state.withLock(\.isStopped) }

  /// Runs a dispatch that `interrupt` stops.
  func dispatching(_ body: (StopSignal) async -> DispatchEnd) async -> DispatchEnd {
    let signal = StopSignal()
    let isStopped = state.withLock { state in
      state.dispatch = signal
      return state.isStopped
    }
    if isStopped { signal.stop() }
    defer { state.withLock { $0.dispatch = nil } }
    return await body(signal)
  }

  /// Sleeps until it is nudged, for `duration`, or until the task is cancelled.
  func sleep(atMost duration: Duration) async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { try? await Task.sleep(for: duration) }
      group.addTask { await self.sleepUntilNudged() }
      await group.next()
      group.cancelAll()
    }
    _ = takeNudge()
  }

  private func sleepUntilNudged() async {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in wake { $0.sleeper = continuation } }
    } onCancel: {
      wake()
    }
  }

  private func wake(_ change: (inout State) -> Void) {
    let sleeper = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.isNudged else { return nil }
      defer { state.sleeper = nil }
      return state.sleeper
    }
    sleeper?.resume()
  }
}
