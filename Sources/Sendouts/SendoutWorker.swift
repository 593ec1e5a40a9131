import Retrying
import Audience
import Content
import Delivery
import Logging
import Postgres
import Registry
import Wire

/// Takes one sendout a step further, by the state in its row.
struct SendoutWorker: Sendable {
  /// What to do after a step.
  enum Next: Sendable, Equatable {
    /// Take another step, at the latest after that time.
    case `continue`(after: Duration)
    /// This hub has nothing left to do.
    case done
  }

  let pool: Pool
  let dispatcher: Dispatcher
  let vault: Vault
  let credentials: PushCredentialVault
  let settings: RunnerSettings
  /// Each freeze keeps a connection for as long as it takes.
  let freezes: CustomerPermits
  let logger: Logger

  /// - Parameter consecutiveFailures: how often in a row the push service was unavailable.
  func step(_ task: SendoutTask, consecutiveFailures: inout Int) async throws -> Next {
    // A sendout that is paused or cancelled after its state was read must stop a dispatch that has yet to begin, too.
    try await task.interruptible { stop in try await step(task, stop, &consecutiveFailures) }
  }

  private func step(_ task: SendoutTask, _ stop: StopSignal, _ consecutiveFailures: inout Int) async throws -> Next {
    guard let sendout = try await find(task.key) else { return .done }
    if sendout.nextAt != nil, let next = try await attend(to: sendout) { return next }
    switch sendout.state {
    case .freezing:
      return try await freeze(sendout.key, stop) ? .continue(after: .zero) : .continue(after: settings.checkEvery)
    case .running: return try await send(sendout, task, stop, &consecutiveFailures)
    case .draft, .scheduled, .paused, .cancelled, .finished:
      // Whatever brought the task here, this hub may still hold numbers for messages of a stream.
      if sendout.isStream { dispatcher.verifyStream(sendout.key) }
      try await requeueLost(sendout)
      guard sendout.isStream else { return .done }
      if sendout.state == .finished { return try await send(sendout, task, stop, &consecutiveFailures) }
      try await end(sendout.key)
      return .done
    }
  }

  /// Holds or cancels what a hub accepted in a stream before it learned of the pause or cancellation.
  private func end(_ stream: SendoutKey) async throws {
    try await pool.transaction(of: stream.customer.rawValue) { database in
      let row = try await database.query(SendoutQueries.lock, stream.customer.rawValue, stream.sendout.rawValue).first
      // Somebody may have resumed it meanwhile.
      switch try row.map(Sendout.init)?.state {
      case .paused: try await Ledger(database).hold(stream)
      case .cancelled: try await Ledger(database).cancel(stream)
      default: break
      }
    }
  }

  func find(_ key: SendoutKey) async throws -> Sendout? {
    try await pool.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue).first.map(Sendout.init)
  }

  // MARK: Freezing

  /// What a freeze found when it was done: the sendout was cancelled. Nothing of it is kept.
  private struct CancelledMeanwhile: Error {}

  /// Writes the audience into the ledger, in one transaction. It does not lock the sendout: a pause or a cancellation meanwhile is
  /// recorded at once, and obeyed when the freeze commits.
  /// - Returns: `false` if another hub is doing it.
  private func freeze(_ key: SendoutKey, _ stop: StopSignal) async throws -> Bool {
    guard let permit = await freezes.acquire(key.customer, until: stop) else { return true }
    defer { withExtendedLifetime(permit) {} }
    do {
      return try await freezeNow(key)
    } catch is CancelledMeanwhile {
      logger.info("sendout cancelled during its freeze", metadata: ["sendout": "\(key)"])
      return true
    }
  }

  private func freezeNow(_ key: SendoutKey) async throws -> Bool {
    // Of contacts and devices that came all at once, as from psql, the planner may know nothing yet.
    await refreshing(key) { try await Devices(pool).refreshStatistics() }
    let frozen: Int? = try await pool.transaction(of: key.customer.rawValue, limit: Ledger.wholeSendoutLimit) {
      database in
      guard try await database.query(SendoutQueries.lockFreeze, key.description)[0].decode(Bool.self),
        let row = try await database.query(SendoutQueries.freezable, key.customer.rawValue, key.sendout.rawValue).first
      else { return nil }
      let sendout = try Sendout(row)
      let audience = try sendout.audience()
      var unknown: Int32?
      if case .originalIds(let ids) = audience.included {
        unknown = Int32(try await Audiences(database).unknownOriginalIDs(key.customer, among: ids))
      }
      let resolved = try await Segments(database).resolve(key.customer, audience)
      let plan = try await sendout.plan(database, suppressions: dispatcher.suppressions)
      let count = try await Ledger(database).freeze(
        key, apps: sendout.apps, audience: plan == nil ? resolved.selection : resolved.included,
        excluded: plan == nil ? nil : resolved.excluded, plan: plan, batchSize: settings.batchSize)
      let state = try await database.query(
        SendoutQueries.frozen, key.customer.rawValue, key.sendout.rawValue, unknown,
        try plan.map { try JSONB(encoding: $0.rules) }, count.everyone.map(Int32.init), count.people.map(Int32.init),
        count.firstAt, try sendout.campaign().winner.map { Int32($0.afterMinutes) }, sendout.tooMany(count.people)
      ).first?.decode(String.self)
      guard let state else { throw CancelledMeanwhile() }
      if state == SendoutState.paused.rawValue { try await Ledger(database).hold(key) }
      try await database.notify(.sendout, key.description)
      return count.devices
    }
    guard let frozen else { return false }
    logger.info("audience frozen", metadata: ["sendout": "\(key)", "audience": "\(frozen)"])
    await refreshing(key) { try await Ledger(pool).refreshStatistics(of: key, afterFreezing: frozen) }
    return true
  }

  private func refreshing(_ key: SendoutKey, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch {
      logger.info(
        "could not refresh the planner's statistics, autovacuum will",
        metadata: ["sendout": "\(key)", "error": "\(error)"])
    }
  }

  // MARK: Sending

  /// What came of each lane of a sendout.
  private struct LaneEnds {
    struct Refusal {
      let lane: Lane
      let reason: String
      /// Whether the pushes that were refused have failed, so that nothing is left of them.
      let isSettled: Bool
    }

    var refusals: [Refusal] = []
    var unavailable: (reason: String, after: Duration?)?
    /// Whether some lane was tried. One that was closed already was not.
    var wasTried = false
    var mustGoOn = false
    /// Lanes whose pushes were accepted while nothing was wrong.
    var healthy: [Lane] = []

    /// - Parameter settlesRefused: whether pushes that are refused fail.
    mutating func add(_ lane: Lane, _ result: DispatchResult, settlesRefused: Bool = false) {
      switch result.end {
      case .drained: break
      case .stopped: mustGoOn = true
      case .refused(let reason): refusals.append(Refusal(lane: lane, reason: reason, isSettled: settlesRefused))
      case .unavailable(let reason, let after):
        unavailable = (unavailable?.after ?? .seconds(3600)) < (after ?? .zero) ? unavailable : (reason, after)
      }
      if result.wasTried { wasTried = true }
      if result.hasAccepted, !result.isSuspect, result.end == .drained { healthy.append(lane) }
    }
  }

  private func send(
    _ sendout: Sendout, _ task: SendoutTask, _ stop: StopSignal, _ consecutiveFailures: inout Int
  ) async throws -> Next {
    try await requeueLost(sendout)
    let watch = try failureWatch(of: sendout, stop)
    let ends = try await sendLanes(of: sendout, watch, task, stop)
    for lane in ends.healthy {
      try await PushAppAlarms(pool).clear(sendout.key.customer, lane.app, isSandbox: lane.isSandbox)
    }
    if ends.mustGoOn || ends.unavailable != nil, !sendout.isStream {
      for refusal in ends.refusals {
        try await PushAppAlarms(pool).raise(
          sendout.key.customer, refusal.lane.app, isSandbox: refusal.lane.isSandbox, reason: refusal.reason)
      }
    }
    if ends.mustGoOn { return .continue(after: .zero) }
    // The next step has a watch of its own. Once nothing is left there is nothing to pause, which `finishOrWait` finds out.
    if ends.unavailable != nil || !ends.refusals.allSatisfy(\.isSettled) { try await watch?.lookIfNeeded() }
    if let (reason, after) = ends.unavailable {
      consecutiveFailures += 1
      let delay = after ?? RetryPolicy.unavailable.delay(after: consecutiveFailures)
      if ends.wasTried {
        logger.warning(
          "push service unavailable, retrying later",
          metadata: ["sendout": "\(sendout.key)", "reason": "\(reason)", "retryInSeconds": "\(delay / .seconds(1))"])
      }
      // The scan finds it again when the lane may be tried; a lane that refuses a broadcast would be due to it at once.
      return after == nil || !ends.refusals.isEmpty && !sendout.isStream ? .continue(after: delay) : .done
    }
    consecutiveFailures = 0
    if ends.refusals.allSatisfy(\.isSettled) { return try await finishOrWait(sendout.key, watch) }
    // The lanes that refuse a stream are closed, with their alarms raised; the scan finds it again when they may be tried.
    return sendout.isStream ? .done : try await halt(sendout, ends.refusals)
  }

  private enum LaneEvent: Sendable {
    case ended(Lane, DispatchResult)
    case woken
  }

  /// Sends what is due, each lane by itself: one whose push service is slow or away does not hold up another, nor one that becomes due
  /// meanwhile, as a fallback does.
  private func sendLanes(
    of sendout: Sendout, _ watch: FailureWatch?, _ task: SendoutTask, _ stop: StopSignal
  ) async throws -> LaneEnds {
    let limits = try await streamLimits(of: sendout)
    let plan = SendoutPlan(
      key: sendout.key,
      content: sendout.isStream ? .ofMessages(sendout.traits) : try sendout.said(),
      onUncertain: sendout.onUncertain, isTracked: sendout.idFields != nil, fallback: sendout.fallback,
      rules: limits?.rules ?? sendout.rules, endAt: sendout.endAt, places: limits?.places,
      watch: watch?.add)
    return try await withThrowingTaskGroup(of: LaneEvent.self) { group in
      var ends = LaneEnds()
      var running = try await startLanes(of: plan, task, stop, &group, except: ends)
      if running > 0 { group.addTask { await Self.wake(of: task) } }
      while running > 0, let event = try await group.next() {
        switch event {
        case .ended(let lane, let result):
          running -= 1
          ends.add(lane, result, settlesRefused: plan.hasFallback(besides: lane.app))
        case .woken where stop.isStopped: break
        case .woken:
          _ = task.takeWake()
          do {
            // The decision about variants, and the end, must not wait until everything due is sent.
            if let now = try await find(plan.key), now.nextAt != nil { _ = try await attend(to: now) }
            running += try await startLanes(of: plan, task, stop, &group, except: ends)
          } catch  where !Task.isCancelled {
            // Lanes that are being sent go on. The scan wakes the task again for what is due.
            logger.warning(
              "could not start further lanes of a sendout, trying again soon",
              metadata: ["sendout": "\(plan.key)", "error": "\(error)"])
          }
          group.addTask { await Self.wake(of: task) }
        }
      }
      group.cancelAll()
      return ends
    }
  }

  /// What decides about messages of a stream that are claimed here; nil for broadcasts, whose rules are fixed at their freeze. Nothing limits
  /// tests, and tracked messages were decided about when they were accepted.
  private func streamLimits(of sendout: Sendout) async throws -> StreamLimits? {
    guard sendout.isStream, sendout.testOf == nil, sendout.idFields == nil,
      let customer = try await Customers(pool).find(sendout.key.customer)
    else { return nil }
    return StreamLimits(CustomerLimits(customer.settings), for: sendout.purpose)
  }

  private static func wake(of task: SendoutTask) async -> LaneEvent {
    await task.sleepUntilWoken()
    return .woken
  }

  /// Starts the lanes that have something due and are not being sent.
  /// - Parameter ends: of this step; a lane that refused the app's credentials is not tried again in it.
  /// - Returns: how many it started.
  private func startLanes(
    of plan: SendoutPlan, _ task: SendoutTask, _ stop: StopSignal,
    _ group: inout ThrowingTaskGroup<LaneEvent, any Error>,
    except ends: LaneEnds
  ) async throws -> Int {
    let refused = Set(ends.refusals.map(\.lane))
    let lanes = try await Ledger(pool).lanes(plan.key).filter { $0.isDue && !refused.contains($0.lane) }.map(\.lane)
      .filter { !task.isSending($0) }
    guard !lanes.isEmpty else { return 0 }
    let apps = try await PushApps(pool, vault: vault).list(plan.key.customer)
    var ready: [(lane: Lane, readiness: Readiness)] = []
    for lane in lanes { ready.append((lane, try await appTarget(lane.app, among: apps))) }
    var started = 0
    for (lane, readiness) in ready where task.begin(lane) {
      started += 1
      group.addTask {
        defer { task.end(lane) }
        switch readiness {
        case .ready(let app): return .ended(lane, await dispatcher.dispatch(plan, to: app, lane, stop: stop))
        case .notPossible(let reason):
          do {
            return .ended(lane, try await dispatcher.refuse(plan, lane, reason: reason, stop: stop))
          } catch {
            // Other lanes go on.
            return .ended(lane, DispatchResult(end: .unavailable(reason: "\(error)", after: nil)))
          }
        }
      }
    }
    return started
  }

  /// Requeues batches of hubs that stopped without releasing them.
  private func requeueLost(_ sendout: Sendout) async throws {
    let lost = try await dispatcher.requeueLost(sendout.key, sendout.onUncertain, of: sendout.fallback)
    guard lost.batches > 0 else { return }
    logger.warning(
      "requeued batches of a hub that stopped",
      metadata: ["sendout": "\(sendout.key)", "batches": "\(lost.batches)", "uncertain": "\(lost.pushes)"])
  }

  private static let shortestWait = Duration.milliseconds(100)

  private func finishOrWait(_ key: SendoutKey, _ watch: FailureWatch?) async throws -> Next {
    let remaining = try await Ledger(pool).remainingWork(key)
    guard remaining.isDone else {
      // There may be too few outcomes in a step to look at them within it.
      try await watch?.lookIfNeeded()
      // A batch that is due and was not claimed is locked by somebody: asking again at once would find it so a thousand times.
      guard let due = remaining.nextClaim, due <= settings.checkEvery else { return .done }
      return .continue(after: max(due, Self.shortestWait))
    }
    let finished = try await pool.transaction(of: key.customer.rawValue) { database in
      let rows = try await database.query(SendoutQueries.finish, key.customer.rawValue, key.sendout.rawValue)
      if !rows.isEmpty { try await database.notify(.sendout, key.description) }
      return !rows.isEmpty
    }
    if finished { logger.info("sendout finished", metadata: ["sendout": "\(key)"]) }
    return .done
  }

  /// Pauses the broadcast and raises its apps' alarms, since every further push to them would be refused too. While other apps have
  /// something left, it goes on. A refusal from before the sendout was paused and resumed says nothing any more.
  private func halt(_ sendout: Sendout, _ refusals: [LaneEnds.Refusal]) async throws -> Next {
    let key = sendout.key
    let refused = Set(refusals.map(\.lane))
    let others = try await Ledger(pool).lanes(key).filter { !refused.contains($0.lane) }
    let hasOthers = !others.isEmpty
    let apps = try await PushApps(pool).list(key.customer)
    let reason = Self.haltReason(refusals, apps, of: sendout)
    let isOutdated = try await pool.transaction(of: key.customer.rawValue) { database in
      if !hasOthers {
        let halted = try await database.query(
          SendoutQueries.halt, key.customer.rawValue, key.sendout.rawValue, reason, sendout.stateChanges)
        if halted.isEmpty { return true }
        try await Ledger(database).hold(key)
        try await database.notify(.sendout, key.description)
      }
      for refusal in refusals {
        try await PushAppAlarms(database).raise(
          key.customer, refusal.lane.app, isSandbox: refusal.lane.isSandbox, reason: refusal.reason)
      }
      return false
    }
    if isOutdated { return .continue(after: .zero) }
    guard hasOthers else {
      logger.error(
        "sendout paused: nothing can be sent until the app is corrected",
        metadata: ["sendout": "\(key)", "reason": "\(reason)"])
      return .done
    }
    for refusal in refusals { _ = dispatcher.closeRefused(refusal.lane, of: key.customer, refusal.reason) }
    return .continue(after: RetryPolicy.refusedLane)
  }

  /// The reason alone where there is one app; else with the names of the apps.
  private static func haltReason(_ refusals: [LaneEnds.Refusal], _ apps: [PushApp], of sendout: Sendout) -> String {
    guard sendout.apps.count > 1 else { return refusals[0].reason }
    var reasons: [String] = []
    for app in apps {
      guard let refusal = refusals.first(where: { $0.lane.app == app.id }) else { continue }
      reasons.append("\(app.appID) (app type \(app.type.rawValue)): \(refusal.reason)")
    }
    return reasons.joined(separator: "; ")
  }

  // MARK: Targets

  private enum Readiness: Sendable {
    case ready(AppTarget)
    case notPossible(reason: String)
  }

  private func appTarget(_ id: PushAppID, among apps: [PushApp]) async throws -> Readiness {
    guard let app = apps.first(where: { $0.id == id }) else {
      return .notPossible(reason: "the app no longer exists")
    }
    let opened: PushServiceCredentials?
    do {
      opened = try await credentials.credentials(for: app)
    } catch RegistryError.sealed {
      return .notPossible(reason: "the app's credentials cannot be decrypted with the hub's master key")
    }
    guard let opened else { return .notPossible(reason: "the app has no \(app.missingCredential ?? "credentials")") }
    return .ready(dispatcher.target(for: app, opened))
  }
}

extension Sendout {
  /// What all pushes of a broadcast say.
  func content() throws -> MessageContent {
    let message = try message()
    var content = MessageContent(
      template: try MessageTemplate(message), sendout: fields(of: message), hasPage: template != nil,
      purpose: purpose)
    content.expiresAt = startedAt.flatMap { MessageContent.expiry(of: message.ttl, from: $0) }
    return content
  }

  /// What the messages of a stream have in common.
  var traits: StreamTraits {
    StreamTraits(sendout: key.sendout, name: name, hasPage: template != nil, purpose: purpose, idFields: idFields ?? [])
  }

  /// What templates can name of the sendout. A message cannot name its own alert and info.
  func fields(of message: MessageBody) -> SendoutFields {
    SendoutFields(id: key.sendout.rawValue, name: name, fields: message.fields ?? [:])
  }
}
