import Synchronization

/// Bounds how many pushes of this hub are in flight, from being sent until their outcome is written. If it is killed, so many are
/// uncertain. All runs share it.
///
/// A run that holds nothing comes first, and a run that holds something leaves a fifth of the window free. So a run whose push service
/// is slow holds up nobody. Otherwise runs have their turns in the order in which they ask, and each gets all that it asks for at once.
final class HubWindow: Sendable {
  private struct Run {
    var held = 0
    var end: DispatchEnd?
    var waiting: (count: Int, continuation: CheckedContinuation<Bool, Never>)?
  }

  private struct State {
    var free: Int
    /// Held by messages whose write-ahead mark is committed together with them.
    var heldByMessages = 0
    var runs: [Int: Run] = [:]
    var lastRun = 0
    /// The runs that wait, in their order.
    var queue: [Int] = []

    /// Ends the waiting of those that need not wait any more.
    mutating func resumable(leaving reserve: Int) -> [(CheckedContinuation<Bool, Never>, Bool)] {
      var resumed: [(CheckedContinuation<Bool, Never>, Bool)] = []
      for id in queue where runs[id]?.end != nil { resumed += end(id, mayLeave: false) }
      while let id = queue.first(where: { runs[$0]?.held == 0 }) {
        guard let count = runs[id]?.waiting?.count, count <= free else { return resumed }
        resumed += end(id, mayLeave: true)
      }
      while let id = queue.first, let count = runs[id]?.waiting?.count, free - count >= reserve {
        resumed += end(id, mayLeave: true)
      }
      return resumed
    }

    private mutating func end(_ id: Int, mayLeave: Bool) -> [(CheckedContinuation<Bool, Never>, Bool)] {
      queue.removeAll { $0 == id }
      guard let (count, continuation) = runs[id]?.waiting else { return [] }
      runs[id]?.waiting = nil
      if mayLeave {
        runs[id]?.held += count
        free -= count
      }
      return [(continuation, mayLeave)]
    }
  }

  /// Most pushes that a run asks for at once: a run that holds nothing finds as many free, however many pushes others hold.
  let share: Int
  private let reserve: Int
  private let mostOfMessages: Int
  private let state: Mutex<State>

  init(_ size: Int) {
    share = max(1, size / 5)
    reserve = size / 5
    mostOfMessages = size * 3 / 5
    state = Mutex(State(free: size))
  }

  /// Takes room for messages, if there is some at once.
  /// - Returns: how much, at most `count`.
  func takeForMessages(upTo count: Int) -> Int {
    state.withLock { state in
      let taken = max(0, min(count, state.free, mostOfMessages - state.heldByMessages))
      state.free -= taken
      state.heldByMessages += taken
      return taken
    }
  }

  /// Gives back what messages held.
  func giveBack(ofMessages count: Int) {
    change { state in
      state.free += count
      state.heldByMessages -= count
    }
  }

  fileprivate func join() -> Int {
    state.withLock { state in
      state.lastRun += 1
      state.runs[state.lastRun] = Run()
      return state.lastRun
    }
  }

  fileprivate func leave(_ id: Int) {
    change { state in
      state.free += state.runs[id]?.held ?? 0
      state.runs[id] = nil
    }
  }

  fileprivate func end(of id: Int) -> DispatchEnd? { state.withLock { $0.runs[id]?.end } }

  fileprivate func wait(_ id: Int, for count: Int, _ continuation: CheckedContinuation<Bool, Never>) {
    change { state in
      precondition(state.runs[id]?.waiting == nil, "one task at a time")
      state.runs[id]?.waiting = (count, continuation)
      state.queue.append(id)
    }
  }

  fileprivate func release(_ count: Int, of id: Int) {
    change { state in
      guard let held = state.runs[id]?.held else { return }
      state.runs[id]?.held = held - count
      state.free += count
    }
  }

  fileprivate func close(_ id: Int, _ end: DispatchEnd) {
    change { state in
      if state.runs[id]?.end == nil { state.runs[id]?.end = end }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let resumed = state.withLock { state in
      body(&state)
      return state.resumable(leaving: reserve)
    }
    for (continuation, mayLeave) in resumed { continuation.resume(returning: mayLeave) }
  }
}

/// A run's part of the hub's window. It is closed when no more may follow. One task acquires, many release.
final class SendWindow: Sendable {
  private let hub: HubWindow
  private let id: Int

  init(_ hub: HubWindow) {
    self.hub = hub
    id = hub.join()
  }

  /// Why it was closed; `nil` while it is open.
  var end: DispatchEnd? { hub.end(of: id) }

  /// Waits for room and takes it.
  /// - Parameter count: at most `HubWindow.share`; 0 only asks whether it is open.
  /// - Returns: whether the pushes may leave; `false` once the window is closed, or when the task is cancelled.
  func acquire(_ count: Int) async -> Bool {
    guard count > 0 else { return end == nil }
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in hub.wait(id, for: count, continuation) }
    } onCancel: {
      close(.stopped)
    }
  }

  /// Releases room.
  func release(_ count: Int) {
    if count > 0 { hub.release(count, of: id) }
  }

  /// Closes the window. The first reason counts.
  func close(_ end: DispatchEnd) { hub.close(id, end) }

  /// Gives back what the run still holds, at its end.
  func leave() { hub.leave(id) }
}
