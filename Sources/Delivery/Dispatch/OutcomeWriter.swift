import Synchronization

/// Writes outcomes into the ledger, one statement at a time: what arrives while one is under way travels together in the
/// next, so the more there is to write the less each costs.
final class OutcomeWriter: Sendable {
  private struct Barrier {
    let added: Int
    let continuation: CheckedContinuation<Bool, Never>
  }

  private struct State {
    var pending: [Settlement] = []
    /// Room in the window that the pending outcomes hold.
    var room = 0
    /// Outcomes ever added, and ever written.
    var added = 0
    var written = 0
    /// Nothing more is added.
    var isFinished = false
    /// Nothing more is written.
    var hasEnded = false
    var idle: CheckedContinuation<Void, Never>?
    var barriers: [Barrier] = []

    mutating func passedBarriers() -> [@Sendable () -> Void] {
      let passed = barriers.filter { hasEnded || $0.added <= written }
      if !passed.isEmpty { barriers.removeAll { hasEnded || $0.added <= written } }
      return passed.map { [written] barrier in { barrier.continuation.resume(returning: barrier.added <= written) } }
    }
  }

  private let state = Mutex(State())
  private let onWritten: @Sendable (Int) -> Void

  /// - Parameter onWritten: told how much room is free again once outcomes have been written.
  init(onWritten: @escaping @Sendable (Int) -> Void) { self.onWritten = onWritten }

  /// Adds outcomes, to be written soon.
  /// - Parameter room: the room in the window that they hold until then.
  func add(_ settlements: [Settlement], room: Int) {
    guard !settlements.isEmpty else { return }
    change { state in
      state.pending += settlements
      state.room += room
      state.added += settlements.count
    }
  }

  /// Waits until everything added so far is written, or nothing is written any more.
  /// - Returns: whether everything is written.
  func flush() async -> Bool {
    await withCheckedContinuation { continuation in
      change { $0.barriers.append(Barrier(added: $0.added, continuation: continuation)) }
    }
  }

  /// Nothing more will be added.
  func finish() { change { $0.isFinished = true } }

  /// Writes until `finish` is called and all is written. When the task is cancelled, what is not written is left alone.
  /// - Parameter write: has to succeed, however long it takes; `false` when it gave up.
  func run(_ write: ([Settlement]) async -> Bool) async {
    await withTaskCancellationHandler {
      while let (settlements, room) = await next(), await write(settlements) {
        onWritten(room)
        change { $0.written += settlements.count }
      }
      change { $0.hasEnded = true }
    } onCancel: {
      finish()
    }
  }

  private func next() async -> (settlements: [Settlement], room: Int)? {
    while !Task.isCancelled {
      let (settlements, room, isFinished) = state.withLock { state in
        defer { (state.pending, state.room) = ([], 0) }
        return (state.pending, state.room, state.isFinished)
      }
      if !settlements.isEmpty { return (settlements, room) }
      if isFinished { return nil }
      await withCheckedContinuation { continuation in
        change { $0.idle = continuation }
      }
    }
    return nil
  }

  /// Changes the state, then wakes whoever has no reason to wait any more.
  private func change(_ body: (inout State) -> Void) {
    let woken = state.withLock { state in
      body(&state)
      var woken = state.passedBarriers()
      if state.isFinished || !state.pending.isEmpty, let idle = state.idle {
        state.idle = nil
        woken.append { idle.resume() }
      }
      return woken
    }
    for wake in woken { wake() }
  }
}
