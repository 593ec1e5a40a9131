import Locking
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
  typealias Verdicts = [PushNumber: PushVerdict]

  private struct State {
    /// Pushes without a final verdict.
    var open: Set<PushNumber> = []
    var verdicts: Verdicts = [:]
    var isExpecting = false
    var waiter: (@Sendable (Verdicts) -> Void)?
    var isOver = false
    var isDone: Bool { isOver || isExpecting && open.isEmpty }
  }

  private let state = Mutex(State())
  /// Whether it ends with the push service's answer. Others end once that is written, so that whoever is told finds it in the ledger.
  let endsWithAnswer: Bool
  /// What the push service has said, though the push is not settled by it.
  private static let refusals: Set<FailureCause> = [.credentialsRefused, .tokenInvalid]

  /// - Parameter endsWithAnswer: whether what the push service answers is the verdict, though it is yet to be written. Refused credentials and
  ///   an invalid token are one too, while the push itself goes on waiting: until somebody corrects the credentials, or until the rest of
  ///   its batch shows whether the token is dead.
  public init(endsWithAnswer: Bool = false) { self.endsWithAnswer = endsWithAnswer }

  func expect(_ pushes: [PushNumber]) {
    change { state in
      state.open = Set(pushes)
      state.isExpecting = true
    }
  }

  /// Calls once every push has its verdict, or the wait is over.
  /// - Parameter waiter: gets what is known by then, on any thread. There is one for each wait.
  fileprivate func whenDone(_ waiter: @escaping @Sendable (Verdicts) -> Void) { change { $0.waiter = waiter } }

  func record(_ push: PushNumber, _ verdict: PushVerdict) {
    change { state in
      guard state.verdicts[push]?.isFinal != true else { return }
      state.verdicts[push] = verdict
      // One that waits for another attempt may have its verdict in time.
      let isOpen = !verdict.isFinal
      if !isOpen || endsWithAnswer && verdict.cause.map(Self.refusals.contains) == true { state.open.remove(push) }
    }
  }

  /// Ends the wait: whoever waits gets what is known by now.
  public func end() { change { $0.isOver = true } }

  private func change(_ body: (inout State) -> Void) {
    let reported = state.withLock { state -> (waiter: @Sendable (Verdicts) -> Void, verdicts: Verdicts)? in
      body(&state)
      guard state.isDone, let waiter = state.waiter.take() else { return nil }
      return (waiter, state.verdicts)
    }
    if let reported { reported.waiter(reported.verdicts) }
  }
}

/// The messages of this hub whose verdicts somebody waits for, by their pushes.
final class MessageWaits: Sendable {
  private struct Key: Hashable {
    let sendout: SendoutKey
    let push: PushNumber
  }

  private struct Limits {
    var ends: [ObjectIdentifier: (wait: MessageWait, end: ContinuousClock.Instant)] = [:]
    var isWatched = false
  }

  private struct State {
    private var waits: [Key: MessageWait] = [:]
    /// How many of them end with what is written.
    private(set) var ofWritten = 0

    var isEmpty: Bool { waits.isEmpty }

    subscript(key: Key) -> MessageWait? {
      get { waits[key] }
      set {
        let former = waits[key]
        waits[key] = newValue
        if former?.endsWithAnswer == false { ofWritten -= 1 }
        if newValue?.endsWithAnswer == false { ofWritten += 1 }
      }
    }
  }

  private let waits = Mutex(State())
  /// When each wait ends. One task ends them all: a timer for each took a twentieth of a hub's time.
  private let limits = Mutex(Limits())
  /// How late a wait may end.
  private static let accuracy = Duration.milliseconds(50)

  /// Waits for the verdicts on a message's pushes, for at most so long.
  /// - Parameter answer: gets what is known by then, on any thread.
  func verdicts(
    _ wait: MessageWait, within limit: Duration, _ answer: @escaping @Sendable ([PushNumber: PushVerdict]) -> Void
  ) {
    limits.withLock { limits in
      limits.ends[ObjectIdentifier(wait)] = (wait, .now + limit)
      if !limits.isWatched { Task { await self.endLate() } }
      limits.isWatched = true
    }
    wait.whenDone { verdicts in
      self.limits.withLock { $0.ends[ObjectIdentifier(wait)] = nil }
      answer(verdicts)
    }
    if limit <= .zero { wait.end() }
  }

  /// Ends waits whose time is up, as long as there are any.
  private func endLate() async {
    while true {
      try? await Task.sleep(for: Self.accuracy)
      let late = limits.withLock { limits -> [MessageWait]? in
        limits.isWatched = !limits.ends.isEmpty
        guard limits.isWatched else { return nil }
        let now = ContinuousClock.now
        return limits.ends.values.filter { $0.end <= now }.map(\.wait)
      }
      guard let late else { return }
      for wait in late { wait.end() }
    }
  }

  func add(_ wait: MessageWait, _ sendout: SendoutKey, _ pushes: [PushNumber]) {
    waits.withLock { waits in for push in pushes { waits[Key(sendout: sendout, push: push)] = wait } }
  }

  func remove(_ sendout: SendoutKey, _ pushes: [PushNumber]) {
    waits.withLock { waits in for push in pushes { waits[Key(sendout: sendout, push: push)] = nil } }
  }

  /// Whether nobody waits for a verdict.
  var isEmpty: Bool { waits.withLock(\.isEmpty) }

  /// Whether somebody waits until an outcome is written.
  var isWritingAwaited: Bool { waits.withLock { $0.ofWritten > 0 } }

  /// The push service has answered. Those who wait for no more are told here and now, which takes microseconds: a task for each answer, and the
  /// thread that it wakes, would take longer.
  func answered(_ sendout: SendoutKey, _ settlements: [Settlement]) {
    guard !isEmpty else { return }
    let verdicts = settlements.map { ($0.push, PushVerdict($0)) }
    for (wait, push, verdict) in awaited(sendout, verdicts, where: \.endsWithAnswer) { wait.record(push, verdict) }
  }

  /// Outcomes were written.
  /// - Returns: whether somebody waited for some of them.
  @discardableResult
  func settled(_ sendout: SendoutKey, _ settlements: [Settlement]) -> Bool {
    guard !isEmpty else { return false }
    return report(sendout, settlements.map { ($0.push, PushVerdict($0)) })
  }

  /// Pushes stay queued because the app's credentials are refused.
  func refused(_ sendout: SendoutKey, _ pushes: [PushNumber], _ reason: String) {
    report(sendout, pushes.map { ($0, PushVerdict(state: .queued, reason: reason, cause: .credentialsRefused)) })
  }

  /// The push service says that their tokens are dead. What becomes of devices and pushes is decided with the rest of their batch.
  func invalid(_ sendout: SendoutKey, _ pushes: [(push: PushNumber, reason: String)]) {
    guard !pushes.isEmpty, !isEmpty else { return }
    report(sendout, pushes.map { ($0.push, PushVerdict(state: .queued, reason: $0.reason, cause: .tokenInvalid)) })
  }

  @discardableResult
  private func report(_ sendout: SendoutKey, _ verdicts: [(PushNumber, PushVerdict)]) -> Bool {
    let awaited = awaited(sendout, verdicts) { _ in true }
    guard !awaited.isEmpty else { return false }
    // Further outcomes are written meanwhile.
    Task { for (wait, push, verdict) in awaited { wait.record(push, verdict) } }
    return true
  }

  /// The verdicts that somebody waits for. Nobody does any more for final ones.
  private func awaited(
    _ sendout: SendoutKey, _ verdicts: [(PushNumber, PushVerdict)], where condition: (MessageWait) -> Bool
  ) -> [(wait: MessageWait, push: PushNumber, verdict: PushVerdict)] {
    waits.withLock { waits in
      verdicts.compactMap { push, verdict in
        let key = Key(sendout: sendout, push: push)
        guard let wait = waits[key], condition(wait) else { return nil }
        // After a final verdict there is no other, and the caller may have left before it knew what to remove.
        if verdict.isFinal { waits[key] = nil }
        return (wait, push, verdict)
      }
    }
  }
}

extension PushVerdict {
  fileprivate init(_ settlement: Settlement) {
    self.init(state: settlement.state, reason: settlement.reason, cause: settlement.cause)
  }
}
