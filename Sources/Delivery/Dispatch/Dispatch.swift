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
/// that takes its outcomes; one task writes them, one extends the leases. The window holds them together: it has room for so
/// many pushes between being handed over and being written, and is closed when no more shall leave.
final class Dispatch: Sendable {
  private let dispatcher: Dispatcher
  private let order: SendoutOrder
  private let ledger: BatchLedger
  private let window: SendWindow
  private let settler: Settler
  private let preparation: Preparation
  private let fuses: Mutex<[APNsEnvironment: Fuse]>
  /// Batches that this run knows it has claimed.
  private let claimed = Mutex<Set<Int32>>([])
  /// When the leases were last extended for certain.
  private let extendedAt = Mutex(ContinuousClock.now)
  private let logger: Logger

  init(_ dispatcher: Dispatcher, _ order: SendoutOrder) {
    let settings = dispatcher.settings
    self.dispatcher = dispatcher
    self.order = order
    ledger = BatchLedger(
      database: dispatcher.database, key: order.key, run: RunID(), lease: settings.lease,
      patience: settings.backOff.patience)
    let window = SendWindow(settings.window)
    self.window = window
    settler = Settler { window.leave($0) }
    preparation = Preparation(order: order, links: dispatcher.links, sliceSize: min(settings.slice, settings.window))
    let fuse = Fuse(share: settings.fuseShare, evidence: settings.fuseEvidence)
    fuses = Mutex([.production: fuse, .sandbox: fuse])
    var logger = dispatcher.logger
    logger[metadataKey: "customer"] = "\(order.key.customer)"
    logger[metadataKey: "sendout"] = "\(order.key.sendout)"
    self.logger = logger
  }

  func run(until stop: StopSignal) async -> DispatchEnd {
    stop.onStop { [window] in window.close(.stopped) }
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.keepLeases() }
      group.addTask { await self.settler.run(self.write) }
      await withDiscardingTaskGroup { slices in await self.feed(&slices) }
      settler.finish()
      _ = await settler.flush()
      group.cancelAll()
    }
    return window.end ?? .drained
  }

  // MARK: Claiming and handing over

  private func feed(_ slices: inout DiscardingTaskGroup) async {
    var next = await draw()
    while let batch = next {
      async let following = draw()
      await handOver(batch, &slices)
      next = await following
    }
  }

  /// The next batch, claimed and made ready; `nil` when there is none now, or the window is closed.
  private func draw() async -> PreparedBatch? {
    guard window.end == nil, let batch = await claim() else { return nil }
    let judgement = Judgement(
      policy: order.onUncertain, backOff: dispatcher.settings.backOff, luck: dispatcher.random(), now: dispatcher.now)
    let run = BatchRun(batch, judgement)
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
        if let batch { self.claimed.withLock { _ = $0.insert(batch.number) } }
        return batch
      } catch PostgresError.unknownOutcome(let statement) {
        try await self.ledger.disown(except: self.claimed.withLock(\.self))
        throw PostgresError.connectionLost(statement: statement)
      }
    } ?? nil
  }

  private func handOver(_ batch: PreparedBatch, _ slices: inout DiscardingTaskGroup) async {
    let room = min(batch.settlements.count, dispatcher.settings.window)
    if room > 0, await window.enter(room) { settler.add(batch.settlements, room: room) }
    for slice in batch.slices {
      guard await window.enter(slice.pushes.count) else { break }
      guard isStillOurs(batch.run) else {
        window.close(.putOff(reason: "the leases could not be extended in time"))
        break
      }
      batch.run.handOver()
      slices.addTask { await self.send(slice, of: batch.run) }
    }
    slices.addTask { await self.back(batch.run) }
  }

  /// Whether the lease cannot have run out: another hub would send the batch by now.
  private func isStillOurs(_ run: BatchRun) -> Bool {
    max(run.claimedAt, extendedAt.withLock(\.self)).duration(to: .now) < dispatcher.settings.lease
  }

  // MARK: Taking outcomes

  private func send(_ slice: PreparedBatch.Slice, of run: BatchRun) async {
    var isUnanswered = [Bool](repeating: true, count: slice.pushes.count)
    var wasAnswered = false
    var lastProblem = ""
    for await outcomes in dispatcher.apns.send(slice.requests, to: slice.environment, as: order.credentials) {
      for outcome in outcomes { isUnanswered[outcome.index] = false }
      let sorted = SortedOutcomes(outcomes, slice, run.judgement)
      if sorted.answered > 0 { wasAnswered = true }
      if let problem = sorted.unsentReason { lastProblem = problem }
      await take(sorted, in: slice.environment, of: run)
    }
    guard !Task.isCancelled else { return }
    let lost = slice.pushes.indices.filter { isUnanswered[$0] }.map {
      PushOutcome(index: $0, verdict: .uncertain(reason: "NoOutcome"), sentAt: dispatcher.now())
    }
    if !lost.isEmpty { await take(SortedOutcomes(lost, slice, run.judgement), in: slice.environment, of: run) }
    if !wasAnswered, !lastProblem.isEmpty { window.close(.putOff(reason: lastProblem)) }
    await back(run)
  }

  private func take(_ sorted: SortedOutcomes, in environment: APNsEnvironment, of run: BatchRun) async {
    DeliveryMetrics.count(sorted.outcomes)
    if let reason = sorted.haltReason { window.close(.halted(reason: reason)) }
    settler.add(sorted.settlements, room: sorted.settlements.count)
    // Those dead without a date wait for the rest of their batch, which must not wait for them.
    run.count(answered: sorted.answered, dead: sorted.undatedDead, in: environment)
    window.leave(sorted.unsent + sorted.undatedDead.count)
    if let settlements = await bury(sorted.datedDead, of: run) {
      settler.add(settlements, room: sorted.datedDead.count)
    }
  }

  /// Retires the devices of dead tokens, and says what is written of their pushes: nothing, when that failed.
  private func bury(_ dead: [DeadToken], of run: BatchRun) async -> [Settlement]? {
    guard !dead.isEmpty else { return [] }
    let devices = Devices(dispatcher.database)
    let retirements = dead.map { dead in
      Retirement(
        device: dead.push.device, moment: dead.moment, reason: dead.reason,
        type: dead.reason == "BadDeviceToken" ? .wrongEnvironment : .refused, isSandbox: dead.environment == .sandbox)
    }
    guard
      let outcomes = await persistently("retire", { try await devices.retire(self.order.key.customer, retirements) })
    else {
      run.lose()
      return nil
    }
    return dead.map { run.judgement.settlement(of: $0, deviceIsKept: outcomes[$0.push.device] == .kept) }
  }

  // MARK: Letting go

  /// Lets go of a batch once all of it is back and written. If not all can be written it is left to its lease, as if this hub
  /// had been killed: pushes that left stand there as queued, and whether they are sent again is the policy's to say.
  private func back(_ run: BatchRun) async {
    guard let tally = run.back(), !Task.isCancelled else { return }
    let isComplete = await judge(tally, of: run)
    guard await settler.flush(), isComplete else { return }
    await release(run)
  }

  private func release(_ run: BatchRun) async {
    guard !Task.isCancelled else { return }
    await persistently("release") { try await self.ledger.release(run.number, run.devices) }
    claimed.withLock { _ = $0.remove(run.number) }
  }

  /// - Returns: whether all of it can be written.
  private func judge(_ tally: BatchRun.Tally, of run: BatchRun) async -> Bool {
    var isComplete = !tally.isIncomplete
    for environment in APNsEnvironment.allCases {
      let dead = tally.dead.filter { $0.environment == environment }
      let answered = tally.answered[environment] ?? 0
      let (mayRetire, hasBlown) = fuses.withLock { fuses in
        let wasBlown = fuses[environment]?.isBlown ?? false
        let mayRetire = fuses[environment]?.judge(answered: answered, dead: dead.count) ?? true
        return (mayRetire, !mayRetire && !wasBlown)
      }
      if hasBlown { await alarm(dead, of: answered, in: environment) }
      if !mayRetire, isWrongTopic(dead, of: answered) {
        // Not one of them was ever going to be taken: they stay queued until the app is mended.
        window.close(.halted(reason: "DeviceTokenNotForTopic"))
      } else if mayRetire {
        if let settlements = await bury(dead, of: run) { settler.add(settlements, room: 0) } else { isComplete = false }
      } else {
        settler.add(dead.map { run.judgement.settlement(of: $0, deviceIsKept: false) }, room: 0)
      }
    }
    return isComplete
  }

  /// Tokens that belong to other apps look dead one by one; most of a batch of them say that the appId is wrong.
  private func isWrongTopic(_ dead: [DeadToken], of answered: Int) -> Bool {
    dead.count { $0.reason == "DeviceTokenNotForTopic" } * 2 > answered
  }

  private func alarm(_ dead: [DeadToken], of answered: Int, in environment: APNsEnvironment) async {
    let reason =
      "\(dead.count) of \(answered) pushes to APNs' \(environment.rawValue) environment came back as "
      + "\(dead.first?.reason ?? "dead") at once; no device was retired for it. Are appId, teamId and keyId of this app, "
      + "and the devices of this environment?"
    logger.warning("the fuse has blown", metadata: ["environment": "\(environment.rawValue)", "reason": "\(reason)"])
    let alarms = PushAppAlarms(dispatcher.database)
    await persistently("raise alarm") {
      try await alarms.raise(self.order.key.customer, self.order.app, reason: reason)
    }
  }

  // MARK: The database

  private func write(_ settlements: [Settlement]) async -> Bool {
    await persistently("settle") { try await self.ledger.settle(settlements) } != nil
  }

  private func keepLeases() async {
    while (try? await Task.sleep(for: dispatcher.settings.extendEvery)) != nil {
      do {
        let asked = ContinuousClock.now
        try await ledger.extend()
        extendedAt.withLock { $0 = asked }
      } catch {
        logger.warning("leases were not extended", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Does something that has to be done, however long the database is away.
  /// - Returns: `nil` when the task was cancelled, or the failure is not one of the database being away; then the run ends
  ///   and what it has claimed is left to the leases.
  @discardableResult
  private func persistently<Answer>(_ what: String, _ body: () async throws -> Answer) async -> Answer? {
    var pause = Duration.milliseconds(50)
    while !Task.isCancelled {
      do {
        return try await body()
      } catch {
        guard Outage(error) != nil else {
          logger.error("failed to \(what)", metadata: ["error": "\(error)"])
          window.close(.putOff(reason: "the hub failed to \(what)"))
          return nil
        }
        logger.warning("could not \(what) yet", metadata: ["error": "\(error)"])
        try? await Task.sleep(for: pause)
        pause = min(pause * 2, .seconds(2))
      }
    }
    return nil
  }
}
