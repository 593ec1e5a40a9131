import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Locking
import Wire

// Sending the slices of a batch, and taking what comes of them.
extension Dispatch {
  /// Sends a slice once its write-ahead mark is committed.
  func send(_ slice: PreparedBatch.Slice, of run: BatchRun, in grant: SliceGrant) async {
    var capacity = capacity(of: slice, run, in: grant)
    guard await mayLeave(slice, of: run, isMarked: grant.isMarked) else {
      window.releaseUnsent(capacity.held)
      return await endSlice(of: run)
    }
    let end = ContinuousClock.now + dispatcher.settings.connectTimeout
    var waited = slice.pushes
    if run.preparedAt + dispatcher.settings.recipientAge >= .now {
      waited = await send(slice, of: run, readAt: run.preparedAt, until: end, &capacity)
    }
    // Messages of pushes that waited may have expired meanwhile, and their tokens may be other contacts'.
    while !waited.isEmpty {
      guard let again = await prepare(waited, of: run), !Task.isCancelled else {
        window.releaseUnsent(capacity.held)
        break
      }
      outcomeWriter.add(again.settlements, capacity: capacity.answered(again.settlements.count))
      let readAt = ContinuousClock.now
      waited = []
      for slice in again.slices { waited += await send(slice, of: run, readAt: readAt, until: end, &capacity) }
    }
    await endSlice(of: run)
  }

  /// Sends a slice.
  /// - Parameters:
  ///   - readAt: when its recipients were read.
  ///   - end: until when its pushes may wait for a connection.
  /// - Returns: the pushes that could leave only when their recipients were known for too long. They keep their capacity.
  private func send(
    _ slice: PreparedBatch.Slice, of run: BatchRun, readAt: ContinuousClock.Instant, until end: ContinuousClock.Instant,
    _ capacity: inout SliceCapacity
  ) async -> [QueuedPush] {
    var isOpen = [Bool](repeating: true, count: slice.pushes.count)
    var waited: [QueuedPush] = []
    var service = ServiceAvailability()
    let isOurs = { @Sendable [leases, stop] in leases.holds(run.claim) && !stop.isStopped }
    var end = end
    if let expiry = slice.expiresAt { end = min(end, .now + .seconds(expiry.timeIntervalSince(dispatcher.now()))) }
    let isInTime = { @Sendable [end] in isOurs() && .now < end }
    let knownUntil = readAt + dispatcher.settings.recipientAge
    let isWanted = { @Sendable in isInTime() && .now < knownUntil }
    if !slice.refused.isEmpty {
      for outcome in slice.refused { isOpen[outcome.index] = false }
      await take(OutcomePartition(slice.refused, slice, run.outcomePolicy), in: slice.environment, of: run, &capacity)
    }
    for await answers in app.account.send(slice.requests, to: slice.environment, while: isWanted) {
      var outcomes: [PushOutcome] = []
      for answer in answers {
        let index = slice.requested[answer.index]
        isOpen[index] = false
        if answer.verdict.isUnwanted, isInTime() {
          waited.append(slice.pushes[index])
          continue
        }
        if answer.verdict.isUnwanted {
          // It stays queued until its batch is released. If only the connection kept it, that says something about the service.
          window.releaseUnsent(capacity.answered(1))
          if isOurs(), slice.expiresAt.map({ $0 > dispatcher.now() }) ?? true {
            service.record(.unsent(reason: .hub(.noConnection)))
          }
          continue
        }
        outcomes.append(
          PushOutcome(
            index: index, verdict: withShortestDelay(answer.verdict), sentAt: answer.sentAt,
            reductions: answer.reductions))
      }
      guard !outcomes.isEmpty else { continue }
      for outcome in outcomes { service.record(outcome.verdict) }
      await take(OutcomePartition(outcomes, slice, run.outcomePolicy), in: slice.environment, of: run, &capacity)
    }
    guard !Task.isCancelled else { return [] }
    let missing = slice.pushes.indices.filter { isOpen[$0] }.map {
      PushOutcome(index: $0, verdict: .uncertain(reason: .hub(.noOutcome)), sentAt: dispatcher.now())
    }
    if !missing.isEmpty {
      await take(OutcomePartition(missing, slice, run.outcomePolicy), in: slice.environment, of: run, &capacity)
    }
    // Those that are sent again say more of the lane.
    if slice.environment == lane.environment, isOurs(), waited.count < slice.pushes.count { updateLane(service) }
    return waited
  }

  /// The verdict with the least delay that the service wants.
  func withShortestDelay(_ verdict: Verdict) -> Verdict {
    guard case .retry(let after, let reason, let appliesToService) = verdict else { return verdict }
    let shortest = app.account.shortestDelay(after: reason)
    return shortest > after ?? .zero
      ? .retry(after: shortest, reason: reason, appliesToService: appliesToService) : verdict
  }

  /// Opens or closes the lane by what came of a slice.
  func updateLane(_ service: ServiceAvailability) {
    if let (reason, closing) = dispatcher.laneStatus.record(service, laneKey, by: app.account.outageEvidence) {
      window.close(.unavailable(reason: reason, after: closing.delay))
    } else {
      // A probe that says nothing leaves it to the next one.
      dispatcher.laneStatus.endProbe(laneKey)
    }
  }

  /// The capacity of a slice before any of its pushes is answered.
  func capacity(of slice: PreparedBatch.Slice, _ run: BatchRun, in grant: SliceGrant? = nil) -> SliceCapacity {
    SliceCapacity(
      of: slice.pushes.count, limit: run.capacity(dispatcher.window.share), places: grant?.capacity.places ?? 0)
  }

  func take(
    _ partition: OutcomePartition, in environment: PushEnvironment, of run: BatchRun, _ capacity: inout SliceCapacity
  ) async {
    DeliveryMetrics.count(partition.outcomes)
    if environment == lane.environment, partition.outcomes.contains(where: { $0.verdict == .accepted }) {
      hasAccepted.store(true, ordering: .relaxed)
    }
    if plan.isStream { dispatcher.waits.answered(ledger.key, partition.settlements) }
    outcomeWriter.add(partition.settlements, capacity: capacity.answered(partition.settlements.count))
    // Invalid tokens without a date wait for the rest of their batch, which must not wait for them.
    let dead = run.count(answered: partition.answered, invalid: partition.undatedInvalid, circuitBreaker)
    if !isAlarmed.load(ordering: .relaxed) {
      dispatcher.waits.invalid(
        ledger.key, dead.filter { $0.cause == .unregistered }.map { ($0.push.number, $0.reason) })
    }
    window.release([capacity.answered(partition.refused.count + partition.undatedInvalid.count)])
    if let reason = partition.refusalReason { await refuse(partition.refused, reason, in: environment, of: run) }
    let freed = capacity.answered(partition.datedInvalid.count)
    if let settlements = await retire(partition.datedInvalid, of: run) {
      outcomeWriter.add(settlements, capacity: freed)
    }
    if let warning = app.account.warning(on: partition.outcomes) { await warn(warning) }
  }

  /// Ends the run if its lane's environment refuses the app's credentials; the refused pushes stay queued. The lane of a stream is
  /// closed, since it goes on for others: a broadcast is paused. A device that has changed its environment since the freeze is refused
  /// alone, and waits. Pushes with a fallback fail.
  func refuse(_ pushes: [QueuedPush], _ reason: String, in environment: PushEnvironment, of run: BatchRun) async {
    dispatcher.waits.refused(ledger.key, pushes.map(\.number), reason)
    let isOfLane = environment == lane.environment
    if isOfLane {
      window.close(.refused(reason: reason))
      if plan.isStream, dispatcher.closeRefused(lane, of: plan.key.customer, reason) { await raiseAlarm(reason) }
    }
    guard !isOfLane || run.outcomePolicy.hasFallback else { return }
    outcomeWriter.add(
      pushes.map { run.outcomePolicy.settlement(of: $0, blockedBy: .refused(reason: reason)) })
  }

  /// Retires the devices of invalid tokens.
  /// - Returns: what to write of their pushes; `nil` when retiring failed, so that nothing is to be written.
  func retire(_ tokens: [InvalidToken], of run: BatchRun) async -> [Settlement]? {
    guard !tokens.isEmpty else { return [] }
    let devices = Devices(dispatcher.database)
    let retirements = tokens.map { token in
      Retirement(
        device: token.push.device, moment: token.moment, reason: token.reason, type: token.cause.invalidationType,
        isSandbox: token.environment == .sandbox)
    }
    guard
      let outcomes = await persistently(
        "retire devices", { try await devices.retire(self.plan.key.customer, retirements) })
    else {
      run.markIncomplete()
      return nil
    }
    return tokens.map {
      run.outcomePolicy.settlement(of: $0, deviceIsKept: outcomes[$0.push.device] == .kept)
    }
  }
}
