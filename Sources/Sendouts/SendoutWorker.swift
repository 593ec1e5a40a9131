import Content
import Delivery
import Logging
import Postgres
import Registry
import Wire

/// Brings one sendout a step on, from the table it stands in.
struct SendoutWorker: Sendable {
  /// What to do after a step.
  enum Next: Sendable, Equatable {
    /// Look again, at the latest after that time.
    case look(after: Duration)
    /// Nothing is left to do for this hub.
    case done
  }

  let pool: Pool
  let dispatcher: Dispatcher
  let vault: Vault
  let credentials: SigningCredentialVault
  let settings: RunnerSettings
  let semaphore: AsyncSemaphore
  let logger: Logger

  /// - Parameter consecutiveFailures: how often in a row its pushes could not be sent.
  func step(_ active: ActiveSendout, consecutiveFailures: inout Int) async throws -> Next {
    guard let sendout = try await find(active.key) else { return .done }
    switch sendout.state {
    case .freezing:
      return try await freeze(sendout.key) ? .look(after: .zero) : .look(after: settings.lookEvery)
    case .running: return try await send(sendout, active, &consecutiveFailures)
    case .draft, .paused, .cancelled, .finished:
      try await takeBack(sendout)
      return .done
    }
  }

  func find(_ key: SendoutKey) async throws -> Sendout? {
    try await pool.query(SendoutQueries.find, key.customer.rawValue, key.sendout.rawValue).first.map(Sendout.init)
  }

  // MARK: Freezing

  /// Writes the audience into the ledger, all of it or, when this hub dies, nothing of it.
  /// - Returns: `false` if another hub is about it.
  private func freeze(_ key: SendoutKey) async throws -> Bool {
    try await pool.transaction(limit: Ledger.wholeSendoutLimit) { database in
      guard
        let row = try await database.query(SendoutQueries.freezable, key.customer.rawValue, key.sendout.rawValue).first
      else { return false }
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
      logger.info("frozen", metadata: ["sendout": "\(key)", "audience": "\(count)"])
      return true
    }
  }

  // MARK: Sending

  private func send(_ sendout: Sendout, _ active: ActiveSendout, _ consecutiveFailures: inout Int) async throws -> Next
  {
    try await takeBack(sendout)
    let end = try await semaphore.pass {
      switch try await order(for: sendout) {
      case .order(let order): await active.dispatching { await dispatcher.dispatch(order, stop: $0) }
      case .impossible(let reason): DispatchEnd.halted(reason: reason)
      }
    }
    switch end {
    case .halted(let reason):
      try await halt(sendout, reason)
      return .done
    case .putOff(let reason):
      consecutiveFailures += 1
      let delay = min(Duration.seconds(1 << min(consecutiveFailures - 1, 5)), .seconds(30))
      logger.warning(
        "cannot send for now",
        metadata: ["sendout": "\(sendout.key)", "reason": "\(reason)", "againInSeconds": "\(delay / .seconds(1))"])
      return .look(after: delay)
    case .stopped: return .look(after: .zero)
    case .drained:
      consecutiveFailures = 0
      return try await finishOrWait(sendout.key)
    }
  }

  /// Takes back what dead hubs had in hand.
  private func takeBack(_ sendout: Sendout) async throws {
    let lost = try await Ledger(pool).requeueLost(sendout.key, sendout.onUncertain)
    guard lost.batches > 0 else { return }
    logger.warning(
      "took back what a hub left behind",
      metadata: ["sendout": "\(sendout.key)", "batches": "\(lost.batches)", "uncertain": "\(lost.pushes)"])
  }

  private func finishOrWait(_ key: SendoutKey) async throws -> Next {
    let outlook = try await Ledger(pool).outlook(key)
    guard outlook.isDone else {
      let due = [outlook.nextClaim, outlook.nextLeaseEnd, settings.lookEvery].compactMap(\.self).min()
      return .look(after: due ?? settings.lookEvery)
    }
    let finished = try await pool.transaction { database in
      let rows = try await database.query(SendoutQueries.finish, key.customer.rawValue, key.sendout.rawValue)
      if !rows.isEmpty { try await database.query(SendoutQueries.notify, key.description) }
      return !rows.isEmpty
    }
    if finished { logger.info("finished", metadata: ["sendout": "\(key)"]) }
    return .done
  }

  /// Pauses the sendout and raises the app's alarm: what was refused for one push would be for all.
  private func halt(_ sendout: Sendout, _ reason: String) async throws {
    let key = sendout.key
    logger.error("halted", metadata: ["sendout": "\(key)", "reason": "\(reason)"])
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
    case impossible(reason: String)
  }

  private func order(for sendout: Sendout) async throws -> Readiness {
    guard let app = try await PushApps(pool, vault: vault).find(sendout.key.customer, sendout.app) else {
      return .impossible(reason: "the app is gone")
    }
    let signing: SigningCredentials?
    do {
      signing = try await credentials.credentials(for: app)
    } catch RegistryError.sealed {
      return .impossible(reason: "the app's signing key does not open under the hub's master key")
    }
    guard let signing else { return .impossible(reason: "the app has no signing key") }
    let message = try sendout.message()
    return .order(
      SendoutOrder(
        key: sendout.key, app: app.id, appFields: AppFields(appId: app.appID, name: app.name), topic: app.appID,
        credentials: signing, message: try MessageTemplate(message), sendoutFields: sendout.fields(of: message),
        hasPage: sendout.template != nil, onUncertain: sendout.onUncertain))
  }
}

extension Sendout {
  /// What templates can say of the sendout. In a message, its own alert and info are not among it.
  func fields(of message: MessageBody) -> SendoutFields {
    SendoutFields(id: key.sendout.rawValue, name: name, fields: message.fields ?? [:])
  }
}
