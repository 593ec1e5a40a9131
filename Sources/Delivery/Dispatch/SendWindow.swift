import Synchronization

/// Bounds how many pushes are in flight, from being sent until their outcome is written. It is closed when no more may follow.
/// One task acquires, many release.
final class SendWindow: Sendable {
  private struct State {
    var room: Int
    var end: DispatchEnd?
    var waiting: (count: Int, continuation: CheckedContinuation<Bool, Never>)?

    /// The waiting task and its result, if it need not wait any more.
    mutating func resumable() -> (CheckedContinuation<Bool, Never>, Bool)? {
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
  /// - Returns: whether the pushes may leave; `false` once the window is closed, or when the task is cancelled.
  func acquire(_ count: Int) async -> Bool {
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

  /// Releases room.
  func release(_ count: Int) { change { $0.room += count } }

  /// Closes the window. The first reason counts.
  func close(_ end: DispatchEnd) { change { $0.end = $0.end ?? end } }

  private func change(_ body: (inout State) -> Void) {
    let resumed = state.withLock { state in
      body(&state)
      return state.resumable()
    }
    if let (continuation, mayLeave) = resumed { continuation.resume(returning: mayLeave) }
  }
}
