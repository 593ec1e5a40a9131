import Synchronization
public import Wire

/// Waits for the verdicts on a message's pushes.
public final class MessageWait: Sendable {
  private struct State {
    /// Pushes without a final verdict.
    var open: Set<PushNumber> = []
    var verdicts: [PushNumber: (state: PushState, reason: String?)] = [:]
    var isExpecting = false
    var waiter: CheckedContinuation<Void, Never>?
    var isOver = false
  }

  private let state = Mutex(State())

  public init() {}

  func expect(_ pushes: [PushNumber]) {
    state.withLock { state in
      state.open = Set(pushes)
      state.isExpecting = true
    }
  }

  /// Waits until every push has its verdict, for at most so long.
  /// - Returns: what is known by then.
  public func verdicts(within limit: Duration) async -> [PushNumber: (state: PushState, reason: String?)] {
    let timeout = Task {
      try? await Task.sleep(for: limit)
      self.end()
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isOver || state.isExpecting && state.open.isEmpty { return true }
          state.waiter = continuation
          return false
        }
        if isDone { continuation.resume() }
      }
    } onCancel: {
      end()
    }
    timeout.cancel()
    return state.withLock(\.verdicts)
  }

  func record(_ settlement: Settlement) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.verdicts[settlement.push] = (settlement.state, settlement.reason)
      // One that waits for another attempt may have its verdict in time.
      if settlement.state != .waiting { state.open.remove(settlement.push) }
      guard state.open.isEmpty else { return nil }
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }

  private func end() {
    let waiter = state.withLock { state in
      state.isOver = true
      defer { state.waiter = nil }
      return state.waiter
    }
    waiter?.resume()
  }
}

/// The messages of this hub whose verdicts somebody waits for, by their pushes.
final class MessageWaits: Sendable {
  private struct Key: Hashable {
    let sendout: SendoutKey
    let push: PushNumber
  }

  private let waits = Mutex<[Key: MessageWait]>([:])

  func add(_ wait: MessageWait, _ sendout: SendoutKey, _ pushes: [PushNumber]) {
    waits.withLock { waits in for push in pushes { waits[Key(sendout: sendout, push: push)] = wait } }
  }

  func remove(_ sendout: SendoutKey, _ pushes: [PushNumber]) {
    waits.withLock { waits in for push in pushes { waits[Key(sendout: sendout, push: push)] = nil } }
  }

  /// Outcomes were written.
  func settled(_ sendout: SendoutKey, _ settlements: [Settlement]) {
    let concerned = waits.withLock { waits -> [(MessageWait, Settlement)] in
      guard !waits.isEmpty else { return [] }
      return settlements.compactMap { settlement in
        waits[Key(sendout: sendout, push: settlement.push)].map { ($0, settlement) }
      }
    }
    for (wait, settlement) in concerned { wait.record(settlement) }
  }
}
