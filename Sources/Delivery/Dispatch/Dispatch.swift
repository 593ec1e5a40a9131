import FoundationEssentials
import Logging
import Postgres
import Providers
import Registry
import Synchronization
import Wire

/// One sendout's run on this hub.
///
/// One task claims, makes ready and hands over, a batch ahead of what is leaving; each slice that is handed over has a task
/// that takes its outcomes; one extends the leases; the outcome writer writes what comes in. The window holds them together: it
/// has room for so many pushes between being handed over and being written, and is closed when no more shall leave.
final class Dispatch: Sendable {
  let dispatcher: Dispatcher
  let order: SendoutOrder
  private let ledger: BatchLedger
  private let window: SendWindow
  let outcomeWriter: OutcomeWriter
  private let preparation: Preparation
  let circuitBreakers: Mutex<[APNsEnvironment: CircuitBreaker]>
  private let leases = Leases()
  let environmentStatus = EnvironmentStatus()
  let hasAccepted = Atomic(false)
  let logger: Logger

  init(_ dispatcher: Dispatcher, _ order: SendoutOrder) {
    let settings = dispatcher.settings
    self.dispatcher = dispatcher
    self.order = order
    ledger = BatchLedger(
      database: dispatcher.database, key: order.key, run: RunID(), lease: settings.lease)
    let window = SendWindow(settings.window)
    self.window = window
    preparation = Preparation(order: order, links: dispatcher.links, sliceSize: min(settings.slice, settings.window))
    let circuitBreaker = CircuitBreaker(share: settings.circuitBreakerShare, evidence: settings.circuitBreakerEvidence)
    circuitBreakers = Mutex([.production: circuitBreaker, .sandbox: circuitBreaker])
    var logger = dispatcher.logger
    logger[metadataKey: "customer"] = "\(order.key.customer)"
    logger[metadataKey: "sendout"] = "\(order.key.sendout)"
    self.logger = logger
    outcomeWriter = OutcomeWriter { [ledger, logger] settlements in
      do {
        try await ledger.settle(settlements)
      } catch  where !Task.isCancelled {
        if !Self.mayPass(error, "settle", logger) { window.close(.putOff(reason: "the hub failed to settle")) }
        throw error
      }
    } onWritten: {
      window.leave($0)
    }
  }

  func run(until stop: StopSignal) async -> DispatchEnd {
    stop.onStop { [window] in window.close(.stopped) }
    await withTaskCancellationHandler {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await self.keepLeases() }
        await withDiscardingTaskGroup { slices in await self.sendLoop(&slices) }
        _ = await outcomeWriter.flush()
        group.cancelAll()
      }
    } onCancel: {
      outcomeWriter.cancel()
    }
    let end = window.end ?? environmentStatus.end() ?? .drained
    if end == .drained { await clearAlarm() }
    return end
  }

  // MARK: Claiming and handing over

  private func sendLoop(_ slices: inout DiscardingTaskGroup) async {
    var next = await claimNext()
    while let batch = next {
      async let following = claimNext()
      await handOver(batch, &slices)
      next = await following
    }
  }

  /// The next batch, claimed and made ready; `nil` when there is none now, or the window is closed.
  private func claimNext() async -> PreparedBatch? {
    guard window.end == nil, let batch = await claim() else { return nil }
    let outcomePolicy = OutcomePolicy(
      policy: order.onUncertain, retrySchedule: dispatcher.settings.retrySchedule, jitter: dispatcher.random(),
      now: dispatcher.now)
    let run = BatchRun(batch, outcomePolicy)
    let devices = Devices(dispatcher.database)
    guard
      let recipients = await persistently(
        "load recipients", { try await devices.recipients(self.order.key.customer, batch.pushes.map(\.device)) })
    else {
      await release(run)
      return nil
    }
    return preparation.prepare(batch, run, for: recipients)
  }

  private func claim() async -> ClaimedBatch? {
    await persistently("claim") {
      guard self.window.end == nil else { return nil }
      do {
        let batch = try await self.ledger.claim()
        if let batch { self.leases.take(batch.claim, until: batch.leaseEnd) }
        return batch
      } catch PostgresError.unknownOutcome(let statement) {
        try await self.ledger.releaseUnknownClaims(except: self.leases.batches)
        throw PostgresError.connectionLost(statement: statement)
      }
    } ?? nil
  }

  private func handOver(_ batch: PreparedBatch, _ slices: inout DiscardingTaskGroup) async {
    // Batches that are due again come first, and may all be of the environment that is closed: they say nothing of the others.
    if !batch.run.isDueAgain, !batch.slices.isEmpty,
      let end = environmentStatus.end(with: batch.slices.map(\.environment)),
      await !meetsAnother()
    {
      window.close(end)
    }
    let room = min(batch.settlements.count, dispatcher.settings.window)
    if room > 0, await window.enter(room) { outcomeWriter.add(batch.settlements, room: room) }
    for slice in batch.slices {
      guard await window.enter(slice.pushes.count) else { break }
      guard leases.holds(batch.run.claim) else {
        window.leave(slice.pushes.count)
        break
      }
      if let closureReason = environmentStatus.closureReason(to: slice.environment) {
        guard batch.run.isDueAgain || environmentStatus.end() == nil else {
          // The run ends: what it has not tried stays queued.
          window.leave(slice.pushes.count)
          continue
        }
        outcomeWriter.add(
          slice.pushes.map { batch.run.outcomePolicy.settlement(of: $0, heldUpBy: closureReason) },
          room: slice.pushes.count)
        continue
      }
      environmentStatus.meet(slice.environment)
      batch.run.handOver()
      slices.addTask { await self.send(slice, of: batch.run) }
    }
    slices.addTask { await self.back(batch.run) }
  }

  /// Whether further batches hold pushes for an environment that is open.
  private func meetsAnother() async -> Bool {
    for environment in APNsEnvironment.allCases where environmentStatus.closureReason(to: environment) == nil {
      guard await persistently("look ahead", { try await self.ledger.hasQueued(for: environment) }) == true else {
        continue
      }
      environmentStatus.meet(environment)
      return true
    }
    return false
  }

  // MARK: Taking outcomes

  private func send(_ slice: PreparedBatch.Slice, of run: BatchRun) async {
    var isUnanswered = [Bool](repeating: true, count: slice.pushes.count)
    var wasAnswered = false
    var lastProblem = ""
    let isOurs = { @Sendable [leases] in leases.holds(run.claim) }
    for await outcomes in dispatcher.apns.send(
      slice.requests, to: slice.environment, as: order.credentials, while: isOurs)
    {
      for outcome in outcomes { isUnanswered[outcome.index] = false }
      let sorted = OutcomePartition(outcomes, slice, run.outcomePolicy)
      if sorted.answered > 0 { wasAnswered = true }
      if let problem = sorted.unsentReason { lastProblem = problem }
      await take(sorted, in: slice.environment, of: run)
    }
    guard !Task.isCancelled else { return }
    let lost = slice.pushes.indices.filter { isUnanswered[$0] }.map {
      PushOutcome(index: $0, verdict: .uncertain(reason: "NoOutcome"), sentAt: dispatcher.now())
    }
    if !lost.isEmpty { await take(OutcomePartition(lost, slice, run.outcomePolicy), in: slice.environment, of: run) }
    if !wasAnswered, !lastProblem.isEmpty, isOurs() {
      environmentStatus.close(slice.environment, .outOfReach(reason: lastProblem))
    }
    await back(run)
  }

  private func take(_ sorted: OutcomePartition, in environment: APNsEnvironment, of run: BatchRun) async {
    DeliveryMetrics.count(sorted.outcomes)
    if sorted.outcomes.contains(where: { $0.verdict == .accepted }) { hasAccepted.store(true, ordering: .relaxed) }
    outcomeWriter.add(sorted.settlements, room: sorted.settlements.count)
    // Those dead without a date wait for the rest of their batch, which must not wait for them.
    run.count(answered: sorted.answered, dead: sorted.undatedDead, in: environment)
    window.leave(sorted.halted.count + sorted.undatedDead.count)
    if let reason = sorted.haltReason { refuse(sorted.halted, reason, in: environment, of: run) }
    if let settlements = await retire(sorted.datedDead, of: run) {
      outcomeWriter.add(settlements, room: sorted.datedDead.count)
    }
  }

  /// Nothing more is sent to an environment that refuses the app's credentials. Pushes that it refused stay queued, or wait if
  /// the run goes on with others.
  func refuse(_ pushes: [QueuedPush], _ reason: String, in environment: APNsEnvironment, of run: BatchRun) {
    environmentStatus.close(environment, .refused(reason: reason))
    guard run.isDueAgain || environmentStatus.end() == nil else { return }
    outcomeWriter.add(pushes.map { run.outcomePolicy.settlement(of: $0, heldUpBy: .refused(reason: reason)) }, room: 0)
  }

  /// Retires the devices of dead tokens, and says what is written of their pushes: nothing, when that failed.
  func retire(_ dead: [DeadToken], of run: BatchRun) async -> [Settlement]? {
    guard !dead.isEmpty else { return [] }
    let devices = Devices(dispatcher.database)
    let retirements = dead.map { dead in
      Retirement(
        device: dead.push.device, moment: dead.moment, reason: dead.reason,
        type: dead.cause == .wrongEnvironment ? .wrongEnvironment : .refused, isSandbox: dead.environment == .sandbox)
    }
    guard
      let outcomes = await persistently("retire", { try await devices.retire(self.order.key.customer, retirements) })
    else {
      run.lose()
      return nil
    }
    return dead.map { run.outcomePolicy.settlement(of: $0, deviceIsKept: outcomes[$0.push.device] == .kept) }
  }

  // MARK: Letting go

  /// Lets go of a batch once all of it is back and written. If not all can be written it is left to its lease, as if this hub
  /// had been killed: pushes that left stand there as queued, and whether they are sent again is the policy's to say.
  private func back(_ run: BatchRun) async {
    guard let tally = run.back(), !Task.isCancelled else { return }
    let isComplete = await judge(tally, of: run)
    let isWritten = await outcomeWriter.flush() && isComplete
    guard isWritten || !run.mayHaveLeft else { return leases.leave(run.claim) }
    await release(run)
  }

  private func release(_ run: BatchRun) async {
    guard !Task.isCancelled else { return }
    await persistently("release") { try await self.ledger.release(run.claim, run.devices) }
    leases.release(run.claim)
  }

  // MARK: The database

  private func keepLeases() async {
    while (try? await Task.sleep(for: dispatcher.settings.extendEvery)) != nil {
      do {
        let asked = leases.held
        let (kept, until) = try await ledger.extend(asked)
        leases.extend(asked, kept: kept, until: until)
      } catch {
        logger.warning("leases were not extended", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Does something that has to be done, however long the database is away.
  /// - Returns: `nil` when the task was cancelled, or the failure is not one of the database being away; then the run ends
  ///   and what it has claimed is left to the leases.
  @discardableResult
  func persistently<Answer>(_ what: String, _ body: () async throws -> Answer) async -> Answer? {
    var pause = Duration.milliseconds(50)
    while !Task.isCancelled {
      do {
        return try await body()
      } catch {
        guard Self.mayPass(error, what, logger) else {
          window.close(.putOff(reason: "the hub failed to \(what)"))
          return nil
        }
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(2))
      }
    }
    return nil
  }

  /// Whether a failure to do something is one of the database being away; it is logged either way.
  private static func mayPass(_ error: any Error, _ what: String, _ logger: Logger) -> Bool {
    guard DatabaseUnavailable(error) == nil else {
      logger.warning("could not \(what) yet", metadata: ["error": "\(error)"])
      return true
    }
    logger.error("failed to \(what)", metadata: ["error": "\(error)"])
    return false
  }
}
