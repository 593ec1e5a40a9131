import Synchronization
public import Wire

/// What became of a push so far.
public struct PushVerdict: Sendable, Equatable {
  public let state: PushState
  public let reason: String?
  /// What kept the push service from accepting it, if anything did.
  public let cause: FailureCause?
  var isFinal: Bool { ![.queued, .waiting].contains(state) }
}

/// Waits for the verdicts on a message's pushes.
public final class MessageWait: Sendable {
  private struct State {
    /// Pushes without a final verdict.
    var open: Set<PushNumber> = []
    var verdicts: [PushNumber: PushVerdict] = [:]
    var isExpecting = false
    var waiter: CheckedContinuation<Void, Never>?
    var isOver = false
    var isDone: Bool { isOver || isExpecting && open.isEmpty }
  }

  private let state = Mutex(State())
  private let endsWhenRefused: Bool

  /// - Parameter endsWhenRefused: whether refused credentials are a verdict, though the push waits until somebody corrects them.
  public init(endsWhenRefused: Bool = false) { self.endsWhenRefused = endsWhenRefused }

  func expect(_ pushes: [PushNumber]) {
    state.withLock { state in
      state.open = Set(pushes)
      state.isExpecting = true
    }
  }

  /// Waits until every push has its verdict, for at most so long.
  /// - Returns: what is known by then.
  public func verdicts(within limit: Duration) async -> [PushNumber: PushVerdict] {
    if let verdicts = state.withLock({ $0.isDone ? $0.verdicts : nil }) { return verdicts }
    let timeout = Task {
      try? await Task.sleep(for: limit)
      self.end()
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isDone = state.withLock { state in
          if state.isDone { return true }
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

  func record(_ push: PushNumber, _ verdict: PushVerdict) {
    let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
      state.verdicts[push] = verdict
      // One that waits for another attempt may have its verdict in time.
      let isOpen = !verdict.isFinal
      if !isOpen || endsWhenRefused && verdict.cause == .credentialsRefused { state.open.remove(push) }
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

  /// Whether nobody waits for a verdict.
  var isEmpty: Bool { waits.withLock(\.isEmpty) }

  /// Outcomes were written.
  /// - Returns: whether somebody waited for some of them.
  @discardableResult
  func settled(_ sendout: SendoutKey, _ settlements: [Settlement]) -> Bool {
    guard !isEmpty else { return false }
    return tell(
      sendout,
      settlements.map { ($0.push, PushVerdict(state: $0.state, reason: $0.reason, cause: $0.cause)) })
  }

  /// Pushes stay queued because the app's credentials are refused.
  func refused(_ sendout: SendoutKey, _ pushes: [PushNumber], _ reason: String) {
    tell(sendout, pushes.map { ($0, PushVerdict(state: .queued, reason: reason, cause: .credentialsRefused)) })
  }

  @discardableResult
  private func tell(_ sendout: SendoutKey, _ verdicts: [(PushNumber, PushVerdict)]) -> Bool {
    var isAwaited = false
    for (push, verdict) in verdicts {
      let key = Key(sendout: sendout, push: push)
      // After a final verdict there is no other, and the caller may have left before it could be told what to remove.
      guard let wait = waits.withLock({ verdict.isFinal ? $0.removeValue(forKey: key) : $0[key] }) else { continue }
      wait.record(push, verdict)
      isAwaited = true
    }
    return isAwaited
  }
}
