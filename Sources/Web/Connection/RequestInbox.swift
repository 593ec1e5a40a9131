import Hummingbird
import Synchronization

/// Hands a connection's requests, one at a time, from its event loop to the task that answers them.
final class RequestInbox: Sendable {
  private enum State {
    case empty
    case holding(Request)
    case awaited(CheckedContinuation<Request?, Never>)
    case closed
  }

  private let state = Mutex(State.empty)

  /// - Precondition: the one before was taken.
  func put(_ request: Request) {
    let waiting = state.withLock { state -> CheckedContinuation<Request?, Never>? in
      switch state {
      case .empty: state = .holding(request)
      case .awaited(let continuation):
        state = .empty
        return continuation
      case .holding: preconditionFailure("a connection answers one request at a time")
      case .closed: break
      }
      return nil
    }
    waiting?.resume(returning: request)
  }

  /// No more requests will come, and what was not taken is not answered.
  func close() {
    let waiting = state.withLock { state in
      defer { state = .closed }
      if case .awaited(let continuation) = state { return continuation as CheckedContinuation? }
      return nil
    }
    waiting?.resume(returning: nil)
  }

  /// The next request; nil when there will be none.
  func next() async -> Request? {
    await withCheckedContinuation { continuation in
      let ready = state.withLock { state -> Request?? in
        switch state {
        case .empty: state = .awaited(continuation)
        case .holding(let request):
          state = .empty
          return request
        case .closed: return .some(nil)
        case .awaited: preconditionFailure("one task answers a connection")
        }
        return nil
      }
      if let ready { continuation.resume(returning: ready) }
    }
  }
}
