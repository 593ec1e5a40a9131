import Delivery
import Synchronization

/// The sendouts that this hub looks after, each in one task.
final class ActiveSendouts: Sendable {
  private struct State {
    var sendouts: [SendoutKey: ActiveSendout] = [:]
    var isClosed = false
  }

  private let state = Mutex(State())
  private let continuation: AsyncStream<ActiveSendout>.Continuation
  /// Sendouts that want a task.
  let wanted: AsyncStream<ActiveSendout>

  init() { (wanted, continuation) = AsyncStream.makeStream() }

  /// There may be something to do for a sendout: somebody begins to look after it, unless somebody does already.
  /// - Returns: the sendout if it is looked after already.
  @discardableResult
  func want(_ key: SendoutKey) -> ActiveSendout? {
    state.withLock { state in
      if let sendout = state.sendouts[key] { return sendout }
      guard !state.isClosed else { return nil }
      let sendout = ActiveSendout(key)
      state.sendouts[key] = sendout
      continuation.yield(sendout)
      return nil
    }
  }

  var all: [ActiveSendout] { state.withLock { Array($0.sendouts.values) } }

  /// Nobody needs to look after it any more.
  /// - Returns: `false` if it was nudged in the meantime, so that somebody must look once more.
  func remove(_ sendout: ActiveSendout) -> Bool {
    state.withLock { state in
      guard !sendout.takeNudge() || state.isClosed else { return false }
      state.sendouts[sendout.key] = nil
      return true
    }
  }

  /// Takes on nothing more, and stops what is under way.
  func close() {
    let sendouts = state.withLock { state in
      state.isClosed = true
      return Array(state.sendouts.values)
    }
    continuation.finish()
    for sendout in sendouts { sendout.stop() }
  }
}
