import DequeModule

/// Results that the server has yet to send on one connection, in the order of the requests.
struct PendingResults {
  enum PendingResult {
    case prepare(Call, Plan)
    case execute(Call, Plan)
    /// Nobody waits for this one.
    case deallocate
    case sync
  }

  private var queue: Deque<PendingResult> = []
  /// Since when the server has been at the first of them.
  private(set) var since = MonotonicInstant.distantFuture
  /// Since when it has been at what comes before the next Sync: it may keep all those results until then.
  private(set) var segmentSince = MonotonicInstant.distantFuture

  var isEmpty: Bool { queue.isEmpty }
  var first: PendingResult? { queue.first }
  var headIsSync: Bool { if case .sync = queue.first { true } else { false } }

  /// The call that the server is at, as far as its results show.
  var headCall: Call? {
    switch queue.first {
    case .prepare(let call, _), .execute(let call, _): call
    case .deallocate, .sync, nil: nil
    }
  }

  /// The flow of the call that the server is at. It may keep results until the next Sync, so that is certain only if all calls
  /// before that are of one flow.
  var flowAtHead: Int64? {
    guard let flow = headCall?.flow else { return nil }
    let other = firstCallBeforeSync { $0.flow != flow }
    return other == nil ? flow : nil
  }

  /// Every call that awaits a result, in order.
  var calls: [Call] { queue.compactMap { if case .execute(let call, _) = $0 { call } else { nil } } }

  /// The first call that awaits a result.
  var nextCall: Call? {
    for case .execute(let call, _) in queue { return call }
    return nil
  }

  /// The first such call that the server may be at: it need not say how far it has come before the next Sync.
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

  /// A Sync follows what it ends, so the time runs already.
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

/// What has become of a request that the server cancel what it runs on a connection.
///
/// none → requested → landed → none. While it is requested, the request travels on a connection of its own. Once it has
/// landed, the server has signalled the backend, which may notice a little later. It ends at the answer to a Sync that
/// was sent after that.
struct CancelRequest {
  private enum State {
    case none
    case requested
    case landed(syncsSent: Int)
  }

  private var state = State.none

  /// How often the server is asked for one call: a request that arrives before its statement has no effect.
  static let attempts = 8

  var isUnderWay: Bool { if case .requested = state { true } else { false } }

  /// Whether it may still hit whatever runs next.
  var mayHit: Bool { if case .none = state { false } else { true } }

  mutating func request() { state = .requested }

  /// It has been delivered, or has failed to be.
  mutating func returned(syncsSent: Int) { state = .landed(syncsSent: syncsSent) }

  mutating func synced(syncsAnswered: Int) {
    if case .landed(let syncsSent) = state, syncsAnswered > syncsSent { state = .none }
  }
}
