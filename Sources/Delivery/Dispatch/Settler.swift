import Synchronization

/// Writes outcomes into the ledger, one statement at a time: what arrives while one is under way travels together in the
/// next, so the more there is to write the less each costs.
final class Settler: Sendable {
  private struct State {
    var pending: [Settlement] = []
    /// Outcomes ever added, and ever written.
    var added = 0
    var written = 0
    var isFinished = false
    var idle: CheckedContinuation<Void, Never>?
    var barriers: [(written: Int, continuation: CheckedContinuation<Void, Never>)] = []
  }

  private let state = Mutex(State())
  /// Told how many outcomes have been written.
  private let onWritten: @Sendable (Int) -> Void

  init(onWritten: @escaping @Sendable (Int) -> Void) { self.onWritten = onWritten }

  /// Adds outcomes, to be written soon.
  func add(_ settlements: [Settlement]) {
    guard !settlements.isEmpty else { return }
    wakeAfter { state in
      state.pending += settlements
      state.added += settlements.count
    }
  }

  /// Waits until everything added so far is written, or the settler has ended.
  func flush() async {
    await withCheckedContinuation { continuation in
      let isWritten = state.withLock { state in
        if state.written >= state.added || state.isFinished { return true }
        state.barriers.append((state.added, continuation))
        return false
      }
      if isWritten { continuation.resume() }
    }
  }

  /// Writes until `finish` is called and all is written. When the task is cancelled what is not written is left alone.
  /// - Parameter write: has to succeed, however long it takes; `false` when it gave up.
  func run(_ write: ([Settlement]) async -> Bool) async {
    await withTaskCancellationHandler {
      while let settlements = await next() {
        guard await write(settlements) else { break }
        let passed = state.withLock { state in
          state.written += settlements.count
          let passed = state.barriers.filter { $0.written <= state.written }
          state.barriers.removeAll { $0.written <= state.written }
          return passed
        }
        onWritten(settlements.count)
        for barrier in passed { barrier.continuation.resume() }
      }
      let left = state.withLock { state in
        state.isFinished = true
        defer { state.barriers = [] }
        return state.barriers
      }
      for barrier in left { barrier.continuation.resume() }
    } onCancel: {
      finish()
    }
  }

  /// Nothing more will be added.
  func finish() { wakeAfter { $0.isFinished = true } }

  private func next() async -> [Settlement]? {
    while true {
      let (batch, isFinished) = state.withLock { state in
        defer { state.pending = [] }
        return (state.pending, state.isFinished)
      }
      if Task.isCancelled { return nil }
      if !batch.isEmpty { return batch }
      if isFinished { return nil }
      await withCheckedContinuation { continuation in
        wakeAfter { $0.idle = continuation }
      }
    }
  }

  /// Changes the state, then wakes the writer if it has no reason to wait.
  private func wakeAfter(_ change: (inout State) -> Void) {
    let idle = state.withLock { state -> CheckedContinuation<Void, Never>? in
      change(&state)
      guard state.isFinished || !state.pending.isEmpty else { return nil }
      defer { state.idle = nil }
      return state.idle
    }
    idle?.resume()
  }
}
