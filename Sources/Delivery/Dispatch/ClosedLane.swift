import Wire

/// What becomes of a lane's pushes while nothing of it may leave.
///
/// Expired pushes fail here rather than waiting for the lane to open. Where credentials are refused, pushes with a fallback fail too, so that
/// the fallback goes at once. All others stay as they are until the lane opens.
struct ClosedLane: Sendable {
  private let dispatcher: Dispatcher
  private let plan: SendoutPlan
  private let reason: ClosureReason
  private let ledger: BatchLedger

  init(_ dispatcher: Dispatcher, _ plan: SendoutPlan, _ reason: ClosureReason, _ ledger: BatchLedger) {
    self.dispatcher = dispatcher
    self.plan = plan
    self.reason = reason
    self.ledger = ledger
  }

  /// Whether all of its pushes fail, since something stands in for them.
  private var failsAll: Bool {
    if case .refused = reason { plan.hasFallback(besides: ledger.lane.app) } else { false }
  }

  /// Settles what is due of the lane in the ledger. Each batch is claimed for as long as it takes to write its outcomes.
  func settleDue(until stop: StopSignal) async throws {
    var seen: [Int32] = []
    while !stop.isStopped, !Task.isCancelled,
      var batch = try await failsAll ? ledger.claim() : ledger.claimExpired(except: seen)
    {
      seen.append(batch.claim.batch)
      batch.pushes = try await ledger.pushes(of: batch)
      try await settle(batch)
    }
  }

  /// Settles a claimed batch as far as it must not wait, and releases the rest.
  /// - Parameter isNew: whether its messages were accepted just now, so that none has expired.
  func settle(_ batch: ClaimedBatch, isNew: Bool = false) async throws {
    if case .refused(let reason) = reason {
      dispatcher.waits.refused(ledger.key, batch.pushes.map(\.number), reason)
    }
    let settlements = try await failsAll ? refused(batch.pushes) : isNew ? [] : expired(batch.pushes)
    if !settlements.isEmpty {
      let (settled, _) = try await ledger.settle(settlements)
      dispatcher.waits.settled(ledger.key, settlements)
      if settled.contains(batch.claim.batch) { return }
    }
    try await ledger.release(batch.claim)
  }

  private func refused(_ pushes: [QueuedPush]) -> [Settlement] {
    let policy = dispatcher.outcomePolicy(of: plan, for: ledger.lane.app)
    return pushes.map { policy.settlement(of: $0, blockedBy: reason) }
  }

  private func expired(_ pushes: [QueuedPush]) async throws -> [Settlement] {
    let messages = Array(Set(pushes.compactMap(\.message)))
    guard !messages.isEmpty else { return [] }
    let expired = try await Messages(dispatcher.database).expired(messages, of: ledger.key)
    return pushes.compactMap { push in
      push.message.flatMap { expired[$0] }.map { Settlement.withoutSending(push, .failed, $0) }
    }
  }
}
