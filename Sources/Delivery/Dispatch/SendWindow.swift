import Synchronization

/// How many pushes may be on their way at once, from being handed over until their outcome is written; and the door that is
/// closed when no more shall follow. One task enters, many leave.
final class SendWindow: Sendable {
  private struct State {
    var room: Int
    var end: DispatchEnd?
    var waiting: (count: Int, continuation: CheckedContinuation<Bool, Never>)?

    /// The waiting task and what to tell it, if it need not wait any more.
    mutating func wake() -> (CheckedContinuation<Bool, Never>, Bool)? {
      guard let (count, continuation) = waiting, end != nil || room >= count else { return nil }
      waiting = nil
      if end == nil { room -= count }
      return (continuation, end == nil)
    }
  }

  private let state: Mutex<State>

  init(_ room: Int) { state = Mutex(State(room: room)) }

  /// Why the window was closed; `nil` while it is open.
  var end: DispatchEnd? { state.withLock(\.end) }

  /// Waits for room and takes it.
  /// - Returns: whether the pushes may go; `false` once the window is closed, or when the task is cancelled.
  func enter(_ count: Int) async -> Bool {
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        change { state in
          precondition(state.waiting == nil, "one task at a time")
          state.waiting = (count, continuation)
        }
      }
    } onCancel: {
      close(.stopped)
    }
  }

  /// Gives room back.
  func leave(_ count: Int) { change { $0.room += count } }

  /// Lets nobody in any more. The first reason counts.
  func close(_ end: DispatchEnd) { change { $0.end = $0.end ?? end } }

  private func change(_ body: (inout State) -> Void) {
    let woken = state.withLock { state in
      body(&state)
      return state.wake()
    }
    if let (continuation, mayGo) = woken { continuation.resume(returning: mayGo) }
  }
}
