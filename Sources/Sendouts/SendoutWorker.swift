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
  let credentials: SigningCredentialVault
  let settings: RunnerSettings
  let semaphore: AsyncSemaphore
  let logger: Logger

  /// - Parameter consecutiveFailures: how often in a row the push service was unavailable.
  func step(_ task: SendoutTask, consecutiveFailures: inout Int) async throws -> Next {
    guard let sendout = try await find(task.key) else { return .done }
    switch sendout.state {
    case .freezing:
      return try await freeze(sendout.key) ? .continue(after: .zero) : .continue(after: settings.checkEvery)
    case .running: return try await send(sendout, task, &consecutiveFailures)
    case .draft, .paused, .cancelled, .finished:
      try await requeueLost(sendout)
      return .done
    }
  }

  func find(_ key: SendoutKey) async throws -> Sendout? {
    try await pool.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue).first.map(Sendout.init)
  }

  // MARK: Freezing

  /// Writes the audience into the ledger, in one transaction.
  /// - Returns: `false` if another hub is doing it.
  private func freeze(_ key: SendoutKey) async throws -> Bool {
    let frozen: Int? = try await pool.transaction(limit: Ledger.wholeSendoutLimit) { database in
      guard
        let row = try await database.query(SendoutQueries.freezable, key.customer.rawValue, key.sendout.rawValue).first
      else { return nil }
      let sendout = try Sendout(row)
      let audience = try sendout.audience()
      var unknown: Int32?
      if case .originalIds(let ids) = audience {
        unknown = Int32(try await Audiences(database).unknownOriginalIDs(key.customer, among: ids))
      }
      let count = try await Ledger(database).freeze(
        key, app: sendout.app, audience: audience, batchSize: settings.batchSize)
      try await database.query(SendoutQueries.frozen, key.customer.rawValue, key.sendout.rawValue, unknown)
      try await database.query(SendoutQueries.notify, key.description)
      return count
    }
    guard let frozen else { return false }
    logger.info("audience frozen, sending starts", metadata: ["sendout": "\(key)", "audience": "\(frozen)"])
    do {
      try await Ledger(pool).refreshStatistics(afterFreezing: frozen)
    } catch {
      logger.info(
        "could not refresh the planner's statistics, autovacuum will",
        metadata: ["sendout": "\(key)", "error": "\(error)"])
    }
    return true
  }

  // MARK: Sending

  private func send(_ sendout: Sendout, _ task: SendoutTask, _ consecutiveFailures: inout Int) async throws -> Next {
    try await requeueLost(sendout)
    let end = try await semaphore.withPermit {
      switch try await order(for: sendout) {
      case .order(let order): await task.dispatching { await dispatcher.dispatch(order, stop: $0) }
      case .notPossible(let reason): DispatchEnd.refused(reason: reason)
      }
    }
    switch end {
    case .refused(let reason):
      try await halt(sendout, reason)
      return .done
    case .unavailable(let reason):
      consecutiveFailures += 1
      let delay = min(Duration.seconds(1 << min(consecutiveFailures - 1, 5)), .seconds(30))
      logger.warning(
        "push service unavailable, retrying later",
        metadata: ["sendout": "\(sendout.key)", "reason": "\(reason)", "retryInSeconds": "\(delay / .seconds(1))"])
      return .continue(after: delay)
    case .stopped: return .continue(after: .zero)
    case .drained:
      consecutiveFailures = 0
      return try await finishOrWait(sendout.key)
    }
  }

  /// Requeues batches of hubs that stopped without releasing them.
  private func requeueLost(_ sendout: Sendout) async throws {
    let lost = try await Ledger(pool).requeueLost(sendout.key, sendout.onUncertain)
    guard lost.batches > 0 else { return }
    logger.warning(
      "requeued batches of a hub that stopped",
      metadata: ["sendout": "\(sendout.key)", "batches": "\(lost.batches)", "uncertain": "\(lost.pushes)"])
  }

  private static let shortestWait = Duration.milliseconds(100)

  private func finishOrWait(_ key: SendoutKey) async throws -> Next {
    let remaining = try await Ledger(pool).remainingWork(key)
    guard remaining.isDone else {
      // A batch that is due and was not claimed is locked by somebody: asking again at once would find it so a thousand times.
      let due = [remaining.nextClaim, remaining.nextLeaseEnd, settings.checkEvery].compactMap(\.self).min()
      return .continue(after: max(due ?? settings.checkEvery, Self.shortestWait))
    }
    let finished = try await pool.transaction { database in
      let rows = try await database.query(SendoutQueries.finish, key.customer.rawValue, key.sendout.rawValue)
      if !rows.isEmpty { try await database.query(SendoutQueries.notify, key.description) }
      return !rows.isEmpty
    }
    if finished { logger.info("sendout finished", metadata: ["sendout": "\(key)"]) }
    return .done
  }

  /// Pauses the sendout and raises the app's alarm, since every further push would be refused too.
  private func halt(_ sendout: Sendout, _ reason: String) async throws {
    let key = sendout.key
    logger.error(
      "sendout paused: nothing can be sent until the app is corrected",
      metadata: ["sendout": "\(key)", "reason": "\(reason)"])
    try await pool.transaction { database in
      guard
        try await !database.query(SendoutQueries.halt, key.customer.rawValue, key.sendout.rawValue, reason).isEmpty
      else { return }
      try await Ledger(database).hold(key)
      try await PushAppAlarms(database).raise(key.customer, sendout.app, reason: reason)
      try await database.query(SendoutQueries.notify, key.description)
    }
  }

  // MARK: The order

  private enum Readiness {
    case order(SendoutOrder)
    case notPossible(reason: String)
  }

  private func order(for sendout: Sendout) async throws -> Readiness {
    guard let app = try await PushApps(pool, vault: vault).find(sendout.key.customer, sendout.app) else {
      return .notPossible(reason: "the app no longer exists")
    }
    let signing: SigningCredentials?
    do {
      signing = try await credentials.credentials(for: app)
    } catch RegistryError.sealed {
      return .notPossible(reason: "the app's signing key cannot be decrypted with the hub's master key")
    }
    guard let signing else { return .notPossible(reason: "the app has no signing key") }
    let message = try sendout.message()
    return .order(
      SendoutOrder(
        key: sendout.key, app: app.id, appFields: AppFields(appId: app.appID, name: app.name), topic: app.appID,
        credentials: signing, message: try MessageTemplate(message), sendoutFields: sendout.fields(of: message),
        hasPage: sendout.template != nil, onUncertain: sendout.onUncertain))
  }
}

extension Sendout {
  /// What templates can name of the sendout. A message cannot name its own alert and info.
  func fields(of message: MessageBody) -> SendoutFields {
    SendoutFields(id: key.sendout.rawValue, name: name, fields: message.fields ?? [:])
  }
}
