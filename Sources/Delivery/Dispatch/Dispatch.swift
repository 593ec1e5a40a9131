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
/// Two tasks claim and prepare batches, ahead of the batch that is being sent: one claims while the other prepares. Each slice of a batch has a
/// task that sends it and takes its outcomes. One task extends leases, and the outcome writer writes what comes in. The window bounds how many pushes
/// of this hub are between being sent and being written, and gives the lane's runs their turns; the run's part of it is closed when no
/// more may leave.
final class Dispatch: Sendable {
  let dispatcher: Dispatcher
  let plan: SendoutPlan
  let app: AppTarget
  let lane: Lane
  let ledger: BatchLedger
  let window: SendWindow
  let writeAhead: Batcher<WriteAheadMark, Bool>
  let outcomeWriter: OutcomeWriter
  let preparation: Preparation
  let circuitBreaker: CircuitBreaker
  /// Whether this run has raised the alarm of an open circuit breaker.
  let isAlarmed = Atomic(false)
  /// Whether this run has warned that some pushes fail until the app is corrected.
  let hasWarned = Atomic(false)
  let leases: Leases
  /// Batches that are handed over; `nil` to claim them from the ledger.
  let source: InMemoryBatchQueue?
  let hasAccepted = Atomic(false)
  let stop: StopSignal
  /// One claim at a time.
  let claims = AsyncSemaphore(1)
  /// Whether a claim has found nothing.
  let isDrained = Atomic(false)
  /// Whether a claim had no reply, so that this run may own a batch that it does not know.
  let hasLostClaim = Atomic(false)
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
      isTracked: plan.isTracked, rules: plan.rules, endAt: plan.endAt, places: plan.places)
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
      [
        ledger, leases, logger, isStream = plan.isStream, watch = plan.watch, waits = dispatcher.waits,
        hubWindow = dispatcher.window
      ]
      settlements, capacities in
      let successors = window.successors(of: capacities)
      do {
        let (settled, isMarked) = try await ledger.settle(settlements, marking: successors?.mark)
        leases.settled(settled)
        let wasAwaited = waits.settled(ledger.key, settlements)
        window.release(capacities, to: successors, isMarked: isMarked)
        // What the watch could not find out now, it does with the next outcomes.
        try? await watch?(settlements.count, settlements.count { $0.state == .failed })
        if isStream, !wasAwaited, !waits.isWritingAwaited, hubWindow.isHalfFree {
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

  /// How long outcomes of messages gather while nobody waits until they are written, or for their capacity. They come a few at a time, and
  /// writing a few costs most of what writing many does.
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

  var laneKey: LaneKey { LaneKey(customer: plan.key.customer, lane: lane) }

  /// Settles what must not wait until the lane opens. Messages that are handed over go back to the ledger.
  func settleClosed(_ reason: ClosureReason, _ delay: Duration) async -> DispatchResult {
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
  func settleRefused(_ reason: String) async {
    guard plan.hasFallback(besides: lane.app) else { return }
    let closed = ClosedLane(dispatcher, plan, .refused(reason: reason), ledger)
    await persistently("settle pushes of a closed lane") { try await closed.settleDue(until: stop) }
  }

  // MARK: Releasing

  /// Releases a batch once all its slices have ended and their outcomes are written. If some cannot be written, the
  /// batch is left to its lease, as if this hub had been killed. Its sent pushes are still queued in the ledger. The
  /// sendout's policy decides whether they are sent again.
  func endSlice(of run: BatchRun) async {
    guard let result = run.endSlice(), !Task.isCancelled else { return }
    let isComplete = await evaluate(result, of: run)
    let isWritten = await outcomeWriter.flush() && isComplete
    guard isWritten || !run.mayHaveSent else {
      dispatcher.window.release(run.marked)
      return leases.abandon(run.claim)
    }
    await release(run)
  }

  func release(_ run: BatchRun) async {
    guard !Task.isCancelled else { return }
    if !leases.isSettled(run.claim) {
      await persistently("release a batch") { try await self.ledger.release(run.claim) }
    }
    leases.remove(run.claim)
    dispatcher.window.release(run.marked)
  }

  // MARK: The database

  func keepLeases() async {
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
  static func isRetryable(_ error: any Error, _ what: String, _ logger: Logger) -> Bool {
    guard DatabaseUnavailable(error) == nil else {
      logger.warning("could not \(what) while the database is away, retrying", metadata: ["error": "\(error)"])
      return true
    }
    logger.error(
      "failed to \(what), this run ends and another continues once the lease expires", metadata: ["error": "\(error)"])
    return false
  }
}
