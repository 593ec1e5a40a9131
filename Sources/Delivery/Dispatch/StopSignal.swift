import Synchronization

/// Tells a dispatch to stop claiming and handing over; what is on its way is still waited for.
public final class StopSignal: Sendable {
  private struct State {
    var isStopped = false
    var handlers: [@Sendable () -> Void] = []
  }
  private let state = Mutex(State())

  public init() {}

  public var isStopped: Bool { state.withLock(\.isStopped) }

  public func stop() {
    let handlers = state.withLock { state in
      defer { state.handlers = [] }
      state.isStopped = true
      return state.handlers
    }
    for handler in handlers { handler() }
  }

  /// Calls `handler` once, when stopped, or now if it is stopped already.
  func onStop(_ handler: @escaping @Sendable () -> Void) {
    let isStopped = state.withLock { state in
      if !state.isStopped { state.handlers.append(handler) }
      return state.isStopped
    }
    if isStopped { handler() }
  }
}
