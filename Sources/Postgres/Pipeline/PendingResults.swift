import DequeModule

/// What the server owes on one connection, in the order it was asked for: results are matched from its front.
struct PendingResults {
  enum PendingResult {
    case prepare(Call, Plan)
    case execute(Call, Plan)
    /// What nobody waits for.
    case deallocate
    case sync
  }

  private var queue: Deque<PendingResult> = []
  /// Since when the server has been at the first of them.
  private(set) var since = MonotonicInstant.distantFuture
  /// Since when it has been at what comes before the next Sync: it may keep all those answers until then.
  private(set) var segmentSince = MonotonicInstant.distantFuture

  var isEmpty: Bool { queue.isEmpty }
  var first: PendingResult? { queue.first }
  var headIsSync: Bool { if case .sync = queue.first { true } else { false } }

  /// The call that the server is at, by what it has said.
  var headCall: Call? {
    switch queue.first {
    case .prepare(let call, _), .execute(let call, _): call
    case .deallocate, .sync, nil: nil
    }
  }

  /// Every call that awaits a result, in order.
  var calls: [Call] { queue.compactMap { if case .execute(let call, _) = $0 { call } else { nil } } }

  /// The first call that is owed an answer.
  var nextCall: Call? {
    for case .execute(let call, _) in queue { return call }
    return nil
  }

  /// Of those calls that the server may be at, since it need not say how far it has come before the next Sync.
  func firstCallBeforeSync(where isWanted: (Call) -> Bool) -> Call? {
    for pendingResult in queue {
      switch pendingResult {
      case .sync: return nil
      case .execute(let call, _) where isWanted(call): return call
      case .prepare, .execute, .deallocate: break
      }
    }
    return nil
  }

  mutating func append(_ pendingResult: PendingResult, at now: MonotonicInstant) {
    if queue.isEmpty { (since, segmentSince) = (now, now) }
    queue.append(pendingResult)
  }

  /// A Sync comes behind what it ends, so the time runs already.
  mutating func appendSync() { queue.append(.sync) }

  mutating func removeFirst(at now: MonotonicInstant) {
    if case .sync = queue.removeFirst() { segmentSince = now }
    since = now
  }

  /// The server will answer none of them.
  /// - Returns: the calls among them.
  mutating func removeAll() -> [Call] {
    defer { queue.removeAll() }
    return calls
  }
}
