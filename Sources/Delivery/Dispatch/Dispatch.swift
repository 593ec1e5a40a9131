import Retrying
import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Locking
import Wire

/// One run of a sendout's lane on this hub.
///
/// One task claims and prepares batches, one ahead of the batch that is being sent. Each slice of a batch has a task that sends it
/// and takes its outcomes. One task extends leases, and the outcome writer writes what comes in. The window bounds how many pushes
/// of this hub are between being sent and being written, and gives the lane's runs their turns; the run's part of it is closed when no
/// more may leave.
final class Dispatch: Sendable {
  let dispatcher: Dispatcher
  let plan: SendoutPlan
  let app: AppTarget
  let lane: Lane
  let ledger: BatchLedger
  private let window: SendWindow
  private let writeAhead: Batcher<WriteAheadMark, Bool>
  let outcomeWriter: OutcomeWriter
  private let preparation: Preparation
  let circuitBreaker: CircuitBreaker
  /// Whether this run has told that the circuit breaker is open.
  let isAlarmed = Atomic(false)
  /// Whether this run has told of pushes that fail alone although the app is at fault.
  let hasWarned = Atomic(false)
  private let leases: Leases
  /// Batches that are handed over; `nil` to claim them from the ledger.
  private let source: InMemoryBatchQueue?
  private let hasAccepted = Atomic(false)
  private let stop: StopSignal
  /// Whether a claim had no reply, so that this run may own a batch that it does not know.
  private let hasLostClaim = Atomic(false)
  let logger: Logger

  init(
    _ dispatcher: Dispatcher, _ plan: SendoutPlan, _ app: AppTarget, _ lane: Lane, source: InMemoryBatchQueue? = nil,
    run: RunID = RunID(), stop: StopSignal = StopSignal()
  ) {
    let settings = dispatcher.settings
    self.dispatcher = dispatcher
    self.plan = plan
    self.app = app
    self.lane = lane
    self.source = source
    self.stop = stop
    leases = source?.leases ?? Leases()
    ledger = BatchLedger(
      database: dispatcher.database, key: plan.key, lane: lane, run: run, lease: settings.lease,
      isTracked: plan.isTracked)
    let window = SendWindow(
      dispatcher.window, LaneKey(customer: plan.key.customer, lane: lane), isBulk: !plan.isStream,
      isOfOneService: app.account.outageEvidence == .anyFailure)
    self.window = window
    preparation = Preparation(
      plan: plan, app: app, links: dispatcher.links, sliceSize: min(settings.slice, dispatcher.window.share),
      now: dispatcher.now)
    circuitBreaker = CircuitBreaker(share: settings.circuitBreakerShare, evidence: settings.circuitBreakerEvidence)
    var logger = dispatcher.logger
    logger[metadataKey: "customer"] = "\(plan.key.customer)"
    logger[metadataKey: "sendout"] = "\(plan.key.sendout)"
    logger[metadataKey: "app"] = "\(lane.app)"
    logger[metadataKey: "environment"] = "\(lane.environment.rawValue)"
    self.logger = logger
    writeAhead = .ofMarks { [ledger] marks in try await ledger.advance(marks) }
    // A broadcast's outcomes are many, and would hold up what else passes through the database's thread.
    outcomeWriter = OutcomeWriter(
      of: plan.key, unwritten: dispatcher.unwritten, on: plan.isStream ? dispatcher.database.executor : nil
    ) {
      [ledger, leases, logger, isStream = plan.isStream, waits = dispatcher.waits, hubWindow = dispatcher.window]
      settlements, capacities in
      let successors = window.successors(of: capacities)
      do {
        let (settled, isMarked) = try await ledger.settle(settlements, marking: successors?.mark)
        leases.settled(settled)
        let wasAwaited = waits.settled(ledger.key, settlements)
        window.release(capacities, to: successors, isMarked: isMarked)
        if isStream, !wasAwaited, waits.isEmpty, hubWindow.isHalfFree {
          try? await Task.sleep(for: Self.pauseBetweenWrites)
        }
      } catch {
        if !Task.isCancelled, !Self.isRetryable(error, "write outcomes", logger) {
          window.close(.unavailable(reason: "the hub failed to write outcomes", after: nil))
        }
        window.putBack(successors)
        throw error
      }
    }
  }

  /// How long outcomes of messages gather while nobody waits for them or for their capacity. They come a few at a time, and writing a few
  /// costs most of what writing many does.
  private static let pauseBetweenWrites = Duration.milliseconds(4)

  func run() async -> DispatchResult {
    defer { window.leave() }
    let admission = dispatcher.admit(laneKey, triesRefused: !plan.isStream)
    if case .closed(let reason, let delay) = admission { return await settleClosed(reason, delay) }
    await stop.whileRunning {
      await withTaskCancellationHandler {
        await withTaskGroup(of: Void.self) { group in
          group.addTask { await self.keepLeases() }
          await withDiscardingTaskGroup { slices in await self.sendLoop(&slices) }
          _ = await outcomeWriter.flush()
          await self.releaseLostClaims()
          if case .refused(let reason) = window.end { await self.settleRefused(reason) }
          group.cancelAll()
        }
      } onCancel: {
        window.close(.stopped)
        outcomeWriter.cancel()
        writeAhead.cancel()
      }
    } onStop: { [window] in
      window.close(.stopped)
    }
    if admission == .probe { dispatcher.laneStatus.endProbe(laneKey) }
    // Another hub may have opened the circuit breaker: then the app's alarm stays.
    let hasAccepted = hasAccepted.load(ordering: .relaxed)
    let isOpen =
      hasAccepted ? await persistently("read the circuit breaker") { try await ledger.answers().isOpen } : nil
    return DispatchResult(
      end: window.end ?? .drained, hasAccepted: hasAccepted,
      isSuspect: (isOpen ?? isAlarmed.load(ordering: .relaxed)) || hasWarned.load(ordering: .relaxed))
  }

  private var laneKey: LaneKey { LaneKey(customer: plan.key.customer, lane: lane) }

  /// Settles what must not wait until the lane opens. Messages that are handed over go back to the ledger.
  private func settleClosed(_ reason: ClosureReason, _ delay: Duration) async -> DispatchResult {
    let closed = ClosedLane(dispatcher, plan, reason, ledger)
    if let source {
      while let handed = source.takeWaiting() {
        await persistently("release a batch") { try await closed.settle(handed.batch, isNew: true) }
        leases.remove(handed.batch.claim)
        dispatcher.window.release(handed.marked)
      }
    } else {
      await persistently("settle pushes of a closed lane") { try await closed.settleDue(until: stop) }
    }
    return DispatchResult(end: reason.end(after: delay), wasTried: false)
  }

  /// Settles what is left for a lane that has just refused the app's credentials.
  private func settleRefused(_ reason: String) async {
    guard plan.hasFallback(besides: lane.app) else { return }
    let closed = ClosedLane(dispatcher, plan, .refused(reason: reason), ledger)
    await persistently("settle pushes of a closed lane") { try await closed.settleDue(until: stop) }
  }

  // MARK: Claiming and sending

  private func sendLoop(_ slices: inout DiscardingTaskGroup) async {
    var next = await claimNext()
    while var batch = next {
      next = nil
      async let following = claimNext()
      await send(batch, &slices)
      // The next one may wait for it.
      batch.permit = nil
      next = await following
    }
  }

  /// The next batch, claimed and prepared; `nil` when there is none now, or the window is closed.
  private func claimNext() async -> PreparedBatch? {
    if let source { return await nextHanded(source) }
    guard window.end == nil, let permit = await dispatcher.permits.acquire(plan.key.customer, until: stop),
      window.end == nil, var prepared = await claimAndPrepare()
    else { return nil }
    prepared.permit = permit
    return prepared
  }

  private func claimAndPrepare() async -> PreparedBatch? {
    guard var batch = await claim() else { return nil }
    var run = BatchRun(batch, dispatcher.outcomePolicy(of: plan, for: lane.app))
    guard
      let pushes = await persistently("read a batch", { [batch] in try await self.ledger.pushes(of: batch) })
    else { return nil }
    batch.pushes = pushes
    if case .ofMessages(let traits?) = plan.content {
      let messages = Messages(dispatcher.database)
      let numbers = Array(Set(batch.pushes.compactMap(\.message)))
      guard
        let contents = await persistently(
          "read messages", { try await messages.contents(numbers, of: self.plan.key, traits) })
      else {
        await release(run)
        return nil
      }
      batch.contents = contents
      run = BatchRun(batch, run.outcomePolicy)
    }
    let readAt = ContinuousClock.now
    guard let prepared = await prepare(batch.pushes, of: run) else {
      await release(run)
      return nil
    }
    run.markPrepared(at: readAt)
    return prepared
  }

  /// Reads what the message names of the recipients, for so many at a time that their bytes are bounded: a contact can have 64 KiB of
  /// properties.
  private func prepare(_ all: [QueuedPush], of run: BatchRun) async -> PreparedBatch? {
    let devices = Devices(dispatcher.database)
    let fields = preparation.recipientFields(run.contents)
    let atOnce = Self.maximumRecipientsSize / fields.maximumSize
    var prepared = PreparedBatch(run: run)
    for start in stride(from: 0, to: all.count, by: atOnce) {
      let pushes = all[start..<min(start + atOnce, all.count)]
      guard
        let recipients = await persistently(
          "load recipients",
          {
            try await devices.recipients(self.plan.key.customer, pushes.map(\.device), with: fields)
          })
      else { return nil }
      await preparation.prepare(pushes, for: recipients, into: &prepared)
    }
    return prepared
  }

  /// Most bytes of the recipients that are read at once: some 190 with properties, or 3,000 with a name.
  private static let maximumRecipientsSize = 16 << 20

  /// The next batch that is handed over. Once the window is closed, all go back to the ledger.
  private func nextHanded(_ source: InMemoryBatchQueue) async -> PreparedBatch? {
    while let handed = window.end == nil ? await source.next() : source.takeWaiting() {
      let run = BatchRun(
        handed.batch, dispatcher.outcomePolicy(of: plan, for: lane.app), marked: handed.marked, memory: handed.memory)
      guard window.end == nil else {
        await release(run)
        continue
      }
      var prepared = PreparedBatch(run: run)
      if handed.readAt + dispatcher.settings.recipientAge > .now {
        await preparation.prepare(handed.batch.pushes[...], for: handed.recipients, into: &prepared)
        run.markPrepared(at: handed.readAt)
        return prepared
      }
      // It has waited for others: its recipients may have changed.
      run.markPrepared(at: .now)
      if let prepared = await prepare(handed.batch.pushes, of: run) { return prepared }
      await release(run)
    }
    return nil
  }

  /// Claims the next batch. If the reply to a claim is lost, what it claimed is released first.
  private func claim() async -> ClaimedBatch? {
    await releaseLostClaims()
    return await persistently("claim a batch") {
      guard self.window.end == nil else { return nil }
      do {
        let batch = try await self.ledger.claim()
        if let batch { self.leases.add(batch.claim, until: batch.leaseEnd) }
        return batch
      } catch PostgresError.unknownOutcome(let statement) {
        self.hasLostClaim.store(true, ordering: .relaxed)
        await self.releaseLostClaims()
        throw PostgresError.connectionLost(statement: statement)
      }
    } ?? nil
  }

  /// Releases what claims without a reply may have claimed, however often that takes: before the next claim, and before the run ends.
  /// The server may commit such a claim later than the loss is noticed, so each of these moments looks again.
  private func releaseLostClaims() async {
    guard hasLostClaim.load(ordering: .relaxed) else { return }
    await persistently("release a batch whose claim had no reply") {
      try await self.ledger.releaseUnknownClaims(except: self.leases.batches)
    }
  }

  /// Starts a task for each slice of a batch, as long as the window is open. What is not started stays queued.
  private func send(_ batch: PreparedBatch, _ slices: inout DiscardingTaskGroup) async {
    // The slices' tasks hold no permit.
    let run = batch.run
    let count = run.capacity(min(batch.settlements.count, dispatcher.window.share))
    if let capacity = await window.acquire(count) { outcomeWriter.add(batch.settlements, capacity: capacity) }
    var waiting = batch.slices[...]
    while !waiting.isEmpty {
      let needs = waiting.map {
        SliceNeed(capacity: capacity(of: $0, run).held.count, last: $0.pushes[$0.pushes.count - 1].number)
      }
      guard let grant = await window.acquire(needs, of: run.claim) else { break }
      guard leases.holds(run.claim) else {
        window.releaseUnsent(grant.capacity)
        break
      }
      for slice in waiting.prefix(grant.count) {
        run.beginSlice()
        // All cores encrypt. The rest stays where the run's own task is.
        slices.addTask(executorPreference: app.account.encryptsEachPush ? globalConcurrentExecutor : nil) {
          await self.send(slice, of: run, in: grant)
        }
      }
      waiting = waiting.dropFirst(grant.count)
    }
    slices.addTask { await self.endSlice(of: run) }
  }

  /// Commits that the slice's pushes may have left. Marks of all slices that wait are committed together.
  /// - Parameter isMarked: whether the mark is committed already, with outcomes before it; `nil` if that was not tried.
  /// - Returns: whether they may leave now: the batch is still this run's, and nobody has stopped the run.
  private func mayLeave(_ slice: PreparedBatch.Slice, of run: BatchRun, isMarked: Bool?) async -> Bool {
    if let isMarked {
      if !isMarked { leases.abandon(run.claim) }
      return isMarked && window.end == nil
    }
    guard let last = slice.pushes.last?.number else { return false }
    do {
      let isOurs = try await writeAhead.answer(0, WriteAheadMark(claim: run.claim, push: last))
      if !isOurs { leases.abandon(run.claim) }
      return isOurs && window.end == nil
    } catch {
      if !Task.isCancelled, !Self.isRetryable(error, "mark pushes as sent", logger) {
        window.close(.unavailable(reason: "the hub failed to mark pushes as sent", after: nil))
      }
      return false
    }
  }

  // MARK: Taking outcomes

  /// Sends a slice once its write-ahead mark is committed.
  private func send(_ slice: PreparedBatch.Slice, of run: BatchRun, in grant: SliceGrant) async {
    var capacity = capacity(of: slice, run, in: grant)
    guard await mayLeave(slice, of: run, isMarked: grant.isMarked) else {
      window.releaseUnsent(capacity.held)
      return await endSlice(of: run)
    }
    guard run.preparedAt + dispatcher.settings.recipientAge < .now else {
      await send(slice, of: run, &capacity)
      return await endSlice(of: run)
    }
    // It waited: its messages may have expired meanwhile, and its tokens may be other contacts'.
    guard let again = await prepare(slice.pushes, of: run), !Task.isCancelled else {
      window.releaseUnsent(capacity.held)
      return await endSlice(of: run)
    }
    outcomeWriter.add(again.settlements, capacity: capacity.answered(again.settlements.count))
    for slice in again.slices { await send(slice, of: run, &capacity) }
    await endSlice(of: run)
  }

  private func send(_ slice: PreparedBatch.Slice, of run: BatchRun, _ capacity: inout SliceCapacity) async {
    var isOpen = [Bool](repeating: true, count: slice.pushes.count)
    var service = ServiceAvailability()
    let isOurs = { @Sendable [leases, stop] in leases.holds(run.claim) && !stop.isStopped }
    var end = ContinuousClock.now + dispatcher.settings.connectTimeout
    if let expiry = slice.expiresAt { end = min(end, .now + .seconds(expiry.timeIntervalSince(dispatcher.now()))) }
    let isWanted = { @Sendable [end] in isOurs() && .now < end }
    if !slice.refused.isEmpty {
      for outcome in slice.refused { isOpen[outcome.index] = false }
      await take(OutcomePartition(slice.refused, slice, run.outcomePolicy), in: slice.environment, of: run, &capacity)
    }
    for await answers in app.account.send(slice.requests, to: slice.environment, while: isWanted) {
      var outcomes: [PushOutcome] = []
      for answer in answers {
        let index = slice.requested[answer.index]
        isOpen[index] = false
        if answer.verdict.isUnwanted, !isWanted() {
          // It stays queued, and its batch is released. If nothing hindered it but the way there, that says something of the service.
          window.releaseUnsent(capacity.answered(1))
          if isOurs(), slice.expiresAt.map({ $0 > dispatcher.now() }) ?? true {
            service.record(.unsent(reason: "NoConnection"))
          }
          continue
        }
        outcomes.append(
          PushOutcome(
            index: index, verdict: withShortestDelay(answer.verdict), sentAt: answer.sentAt,
            reductions: answer.reductions))
      }
      guard !outcomes.isEmpty else { continue }
      let partition = OutcomePartition(outcomes, slice, run.outcomePolicy)
      service.record(partition)
      await take(partition, in: slice.environment, of: run, &capacity)
    }
    guard !Task.isCancelled else { return }
    let missing = slice.pushes.indices.filter { isOpen[$0] }.map {
      PushOutcome(index: $0, verdict: .uncertain(reason: "NoOutcome"), sentAt: dispatcher.now())
    }
    if !missing.isEmpty {
      await take(OutcomePartition(missing, slice, run.outcomePolicy), in: slice.environment, of: run, &capacity)
    }
    if slice.environment == lane.environment, isOurs() { updateLane(service) }
  }

  /// The verdict with the least delay that the service wants.
  private func withShortestDelay(_ verdict: Verdict) -> Verdict {
    guard case .retry(let after, let reason, let appliesToService) = verdict else { return verdict }
    let shortest = app.account.shortestDelay(after: reason)
    return shortest > after ?? .zero
      ? .retry(after: shortest, reason: reason, appliesToService: appliesToService) : verdict
  }

  /// Opens or closes the lane by what came of a slice.
  private func updateLane(_ service: ServiceAvailability) {
    if let (reason, closing) = dispatcher.laneStatus.record(service, laneKey, by: app.account.outageEvidence) {
      window.close(.unavailable(reason: reason, after: closing.delay))
    } else {
      // A probe that says nothing leaves it to the next one.
      dispatcher.laneStatus.endProbe(laneKey)
    }
  }

  /// The capacity of a slice before any of its pushes is answered.
  private func capacity(of slice: PreparedBatch.Slice, _ run: BatchRun, in grant: SliceGrant? = nil) -> SliceCapacity {
    SliceCapacity(
      of: slice.pushes.count, limit: run.capacity(dispatcher.window.share), places: grant?.capacity.places ?? 0)
  }

  private func take(
    _ partition: OutcomePartition, in environment: PushEnvironment, of run: BatchRun, _ capacity: inout SliceCapacity
  ) async {
    DeliveryMetrics.count(partition.outcomes)
    if environment == lane.environment, partition.outcomes.contains(where: { $0.verdict == .accepted }) {
      hasAccepted.store(true, ordering: .relaxed)
    }
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
      if plan.isStream, dispatcher.closeRefused(lane, of: plan.key.customer, reason) {
        let alarms = PushAppAlarms(dispatcher.database)
        await persistently("raise the app's alarm") {
          try await alarms.raise(plan.key.customer, app.app, isSandbox: lane.isSandbox, reason: reason)
        }
      }
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

  // MARK: Releasing

  /// Releases a batch once all its slices have ended and their outcomes are written. If some cannot be written, the
  /// batch is left to its lease, as if this hub had been killed. Its sent pushes are still queued in the ledger. The
  /// sendout's policy decides whether they are sent again.
  private func endSlice(of run: BatchRun) async {
    guard let result = run.endSlice(), !Task.isCancelled else { return }
    let isComplete = await evaluate(result, of: run)
    let isWritten = await outcomeWriter.flush() && isComplete
    guard isWritten || !run.mayHaveSent else {
      dispatcher.window.release(run.marked)
      return leases.abandon(run.claim)
    }
    await release(run)
  }

  private func release(_ run: BatchRun) async {
    guard !Task.isCancelled else { return }
    if !leases.isSettled(run.claim) {
      await persistently("release a batch") { try await self.ledger.release(run.claim) }
    }
    leases.remove(run.claim)
    dispatcher.window.release(run.marked)
  }

  // MARK: The database

  private func keepLeases() async {
    while (try? await Task.sleep(for: dispatcher.settings.extendEvery)) != nil {
      do {
        let asked = leases.held
        // A stream's run lasts all day, and mostly holds nothing.
        guard source == nil || !asked.isEmpty else { continue }
        let (kept, until) = try await ledger.extend(asked)
        leases.extend(asked, kept: kept, until: until)
      } catch {
        logger.warning("could not extend leases, retrying", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Runs a statement until it succeeds, however long the database is away.
  /// - Returns: `nil` when the task was cancelled, or the statement failed although the database was there; then the run ends and
  ///   its claims are left to their leases.
  @discardableResult
  func persistently<Answer>(_ what: String, _ body: () async throws -> Answer) async -> Answer? {
    var failures = 0
    while !Task.isCancelled {
      do {
        return try await body()
      } catch {
        guard Self.isRetryable(error, what, logger) else {
          window.close(.unavailable(reason: "the hub failed to \(what)", after: nil))
          return nil
        }
        failures += 1
        try? await Task.sleep(for: RetryPolicy.outage.delay(after: failures))
      }
    }
    return nil
  }

  /// Logs a failed statement.
  /// - Returns: whether it failed because the database is away, so that it can be run again.
  private static func isRetryable(_ error: any Error, _ what: String, _ logger: Logger) -> Bool {
    guard DatabaseUnavailable(error) == nil else {
      logger.warning("could not \(what) while the database is away, retrying", metadata: ["error": "\(error)"])
      return true
    }
    logger.error("failed to \(what), this run ends", metadata: ["error": "\(error)"])
    return false
  }
}
