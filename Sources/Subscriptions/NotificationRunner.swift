import Retrying
public import Delivery
import FoundationEssentials
public import Logging
import Outbox
public import Postgres
public import Registry
public import ServiceLifecycle
import Locking
public import Wire

/// The service that notifies subscriptions of changes; any number of hubs can run it.
///
/// It learns of writes by notifications of `ChangeChannel.dataTree`, and asks every second what is due. On graceful shutdown it claims nothing
/// more and waits for what is on its way. When its task is cancelled it drops everything, as if the hub had been killed.
public struct NotificationRunner: Service {
  private let pool: Pool
  private let dispatcher: Dispatcher
  private let sender: DirectSender
  private let vault: Vault
  private let credentials: PushCredentialVault
  private let settings: Settings
  private let logger: Logger

  /// How the runner works. The defaults are for production; tests choose smaller values.
  public struct Settings: Sendable {
    /// How often the database is asked what is due. That also finds what a lost notification was about.
    public var scanEvery: Duration = .seconds(1)
    /// Most notifications that are claimed at once.
    public var groupSize = 1000
    /// How long a claim is valid without being extended. After it, any hub may send the notifications of a killed one again.
    public var lease: Duration = .seconds(20)

    public init() {}
  }

  public init(
    _ pool: Pool, dispatcher: Dispatcher, vault: Vault, settings: Settings = Settings(), logger: Logger
  ) {
    self.pool = pool
    self.dispatcher = dispatcher
    self.vault = vault
    self.settings = settings
    self.logger = logger
    sender = DirectSender(dispatcher)
    credentials = PushCredentialVault(pool, vault: vault)
  }

  public func run() async throws {
    let runner = LaneRunner(scanEvery: settings.scanEvery, logger: logger) {
      try await newQueue().due()
    } send: { lane, mayGoOn in
      await send(lane, while: mayGoOn)
    }
    await runner.run(wokenBy: pool, on: [ChangeChannel.dataTree.name, ChangeChannel.pushApp.name]) { event in
      // New credentials, or an accepted check of them: the lane need not wait.
      if case .notification(ChangeChannel.pushApp.name, let customer) = event, let customer = CustomerID(customer) {
        sender.reopen(customer)
      }
    }
  }

  /// Deletes lines of the log that are older than 30 days.
  public static func forgetExpired(_ customer: CustomerID, in database: any Querying) async throws {
    try await database.deleteInPortions(NotificationQueue.pruneLog, customer.rawValue)
  }

  // MARK: Sending

  /// Sends what is due in a lane.
  /// - Returns: whether there may be more.
  private func send(_ lane: NotificationQueue.Lane, while mayGoOn: @Sendable () -> Bool) async -> Bool {
    do {
      repeat {
        let isSent =
          lane.webhook == nil ? try await sendToService(lane, while: mayGoOn) : try await sendToWebhook(lane)
        guard isSent else { return false }
      } while mayGoOn()
      return true
    } catch PostgresError.server(let error) where error.sqlState == ServerError.lockNotAvailable {
      // A large write has the tree for itself. What is due is found again.
    } catch {
      if !Task.isCancelled {
        logger.warning(
          "could not send notifications, retrying",
          metadata: ["customer": "\(lane.customer)", "app": "\(lane.app)", "error": "\(error)"])
      }
    }
    return false
  }

  /// Sends what is due to an app's phones. Once a group has all its capacity in the window, the next one is claimed. Claims follow each other:
  /// each shares the app's row, and a write of the tree comes in between.
  /// - Returns: whether there may be more.
  private func sendToService(
    _ lane: NotificationQueue.Lane, while mayGoOn: @Sendable () -> Bool
  ) async throws -> Bool {
    guard let first = try await target(of: lane) else { return false }
    return try await sender.withRun(to: first) { run in
      await withTaskGroup(of: Void.self) { tasks in
        var isSent = false
        do {
          repeat {
            guard let target = try await target(of: lane) else { break }
            let limit = sender.capacity(for: target, upTo: settings.groupSize)
            guard limit > 0 else { break }
            let queue = newQueue()
            let type = MessagingService(rawValue: lane.service)?.appType
            let group = try await queue.take(
              lane, upTo: limit, from: pool, vault: vault,
              suppressions: target.app.flatMap { app in
                type.map { .init(key: dispatcher.suppressions, app: app, type: $0) }
              })
            guard !group.items.isEmpty else { break }
            isSent = true
            let (capacity, hasCapacity) = AsyncStream.makeStream(of: Bool.self)
            tasks.addTask {
              await send(
                group, of: lane, to: target, in: run, queue,
                hasCapacity: { mayGoOn in
                  hasCapacity.yield(mayGoOn)
                  hasCapacity.finish()
                })
              hasCapacity.finish()
            }
            guard group.items.count == settings.groupSize else { break }
            var mayHaveMore = true
            for await answer in capacity { mayHaveMore = answer }
            // A run that was turned away gets no more capacity.
            guard mayHaveMore else { break }
          } while mayGoOn()
        } catch {
          // What is on its way goes on.
          return Result<Bool, any Error>.failure(error)
        }
        return .success(isSent)
      }
    }.get()
  }

  private func newQueue() -> NotificationQueue { NotificationQueue(database: pool, run: UUID(), lease: settings.lease) }

  /// Most notifications to a webhook that are claimed at once. A customer has 128 places at addresses that it named, and its others are to
  /// find some free while one does not answer.
  private static let mostOfWebhook = 16

  /// Sends what is due to one of an app's webhooks.
  /// - Returns: whether there may be more.
  private func sendToWebhook(_ lane: NotificationQueue.Lane) async throws -> Bool {
    let queue = newQueue()
    let group = try await queue.take(lane, upTo: Self.mostOfWebhook, from: pool, vault: vault)
    guard !group.items.isEmpty else { return false }
    guard let destination = group.webhook, destination.enabled else {
      try await queue.settle(
        group.items.map { Self.unsent($0.claimed, isDisabled: group.webhook != nil) }, of: lane)
      return true
    }
    let target = dispatcher.webhooks(of: lane.customer, token: destination.headers?.values.first)
    // Where the customer's other webhooks have all places, what else is due here waits, too.
    return await sender.withRun(to: target) { run in
      await send(group, of: lane, to: target, in: run, queue) { claimed in
        destination.destinationUris[claimed.attempts % destination.destinationUris.count].uri
      }
    }
  }

  /// What becomes of a notification to a webhook that is disabled, or that there is none of any more.
  private static func unsent(
    _ claimed: NotificationQueue.Claimed, isDisabled: Bool
  ) -> NotificationQueue.Settlement {
    guard isDisabled else {
      return .init(id: claimed.id, next: .remove, outcome: "revoked", reason: "destination_removed")
    }
    // Of one that has ended there is nothing more to wait for.
    if claimed.hasEnded { return .init(id: claimed.id, next: .remove, outcome: "failed", reason: "disabled") }
    return .init(id: claimed.id, next: .retry, delay: RetryPolicy.disabledWebhook, outcome: "retry", reason: "disabled")
  }

  /// The app's account at the lane's service; nil if there is none now, and its alarm says so.
  private func target(of lane: NotificationQueue.Lane) async throws -> DirectTarget? {
    guard let service = MessagingService(rawValue: lane.service) else { return nil }
    let apps = try await PushApps(pool).list(lane.customer)
    guard let app = apps.first(where: { $0.appID == lane.app && $0.type == service.appType }) else { return nil }
    guard let opened = try? await credentials.credentials(for: app) else { return nil }
    return dispatcher.target(app, opened)
  }

  /// What the tasks that send a group share.
  private struct ClaimState {
    /// Afterwards another hub may send the group.
    var end: ContinuousClock.Instant
    /// Whether a push could not be tried.
    var isBlocked = false
  }

  /// - Parameter hasCapacity: called once all have their capacity, or will not get any; `mayGoOn` says which.
  /// - Returns: whether all could be tried.
  @discardableResult
  private func send(
    _ group: NotificationQueue.Group, of lane: NotificationQueue.Lane, to target: DirectTarget,
    in run: DirectSender.Run,
    _ queue: NotificationQueue, address: (NotificationQueue.Claimed) -> String = \.target,
    hasCapacity: (_ mayGoOn: Bool) -> Void = { _ in }
  ) async -> Bool {
    let (pushes, items, unsent) = prepare(group, of: lane, queue, address)
    await write(unsent, of: lane, queue)
    let claim = Mutex(ClaimState(end: group.leaseEnd))
    let moveEnd = { @Sendable (end: ContinuousClock.Instant) in claim.withLock { $0.end = end } }
    await withTaskGroup(of: Void.self) { tasks in
      tasks.addTask {
        let ids = items.map(\.claimed.id)
        while (try? await Task.sleep(for: settings.lease / 4)) != nil {
          let asked = ContinuousClock.now
          guard let isHeld = try? await queue.extend(ids, of: lane) else { continue }
          moveEnd(isHeld ? asked + settings.lease : asked)
        }
      }
      await sender.send(
        pushes, to: target, in: run, while: { claim.withLock(\.end) > .now },
        hasCapacity: { hasCapacity(claim.withLock { !$0.isBlocked }) }
      ) {
        outcomes in
        if outcomes.contains(where: \.isBlocked) { claim.withLock { $0.isBlocked = true } }
        await settle(outcomes.map { ($0, items[$0.index].claimed, items[$0.index].events) }, of: lane, queue)
      }
      tasks.cancelAll()
    }
    return claim.withLock { !$0.isBlocked }
  }

  /// - Returns: the pushes of a group, the notification and the events of each, and the outcomes of those that nothing is sent for.
  private func prepare(
    _ group: NotificationQueue.Group, of lane: NotificationQueue.Lane, _ queue: NotificationQueue,
    _ address: (NotificationQueue.Claimed) -> String
  ) -> (
    pushes: [DirectPush], items: [(claimed: NotificationQueue.Claimed, events: [DataTreeEvent])],
    unsent: [NotificationQueue.Settlement]
  ) {
    var pushes: [DirectPush] = []
    var messages = NotificationMessages(lane: lane, vault: vault)
    var items: [(claimed: NotificationQueue.Claimed, events: [DataTreeEvent])] = []
    var unsent: [NotificationQueue.Settlement] = []
    for (one, event) in group.items {
      guard let event else {
        unsent.append(.init(id: one.id, next: .done))
        continue
      }
      guard !group.stopped.contains(one.id) else {
        unsent.append(
          .init(
            id: one.id, next: one.hasEnded ? .remove : .done, event: event.name, outcome: "failed",
            reason: .hub(.suppressed)))
        continue
      }
      do {
        let (forms, rendered) = try messages.forms(of: event, for: one)
        pushes.append(
          DirectPush(
            token: address(one), id: queue.pushID(of: one.id), forms: rendered, attempts: one.attempts,
            isToDeadToken: one.revoked != nil))
        items.append((one, forms))
      } catch {
        // The hub cannot open the subscription's key, so later ones would fail, too.
        unsent.append(
          .init(
            id: one.id, next: one.hasEnded ? .remove : .done, event: event.name, outcome: "failed",
            reason: "EncryptionKeySealed"))
      }
    }
    return (pushes, items, unsent)
  }

  private func settle(
    _ outcomes: [(DirectOutcome, NotificationQueue.Claimed, [DataTreeEvent])], of lane: NotificationQueue.Lane,
    _ queue: NotificationQueue
  ) async {
    let dead = outcomes.compactMap { outcome, claimed, _ -> (String, Date)? in
      guard claimed.revoked == nil, case .tokenDead(_, _, let since) = outcome.result else { return nil }
      return (claimed.target, since)
    }
    await write(outcomes.map { Self.settlement(of: $0, $1, $2) }, of: lane, queue, dead: dead)
  }

  /// Writes outcomes, however long the database is away. What is not written by then is sent again by whoever finds it.
  /// - Parameter dead: tokens whose subscriptions end, but those that were made after the moment.
  private func write(
    _ settlements: [NotificationQueue.Settlement], of lane: NotificationQueue.Lane, _ queue: NotificationQueue,
    dead: [(token: String, since: Date)] = []
  ) async {
    var failures = 0
    while !Task.isCancelled {
      do {
        try await queue.settle(settlements, of: lane)
        for (token, since) in dead {
          try await queue.revoke(token, of: lane, reason: "unregistered_device", before: since)
        }
        return
      } catch {
        guard DatabaseUnavailable(error) != nil else {
          logger.error(
            "failed to write outcomes of notifications, which may be sent again", metadata: ["error": "\(error)"])
          return
        }
        failures += 1
        try? await Task.sleep(for: RetryPolicy.outage.delay(after: failures))
      }
    }
  }

  private static func settlement(
    of outcome: DirectOutcome, _ claimed: NotificationQueue.Claimed, _ events: [DataTreeEvent]
  ) -> NotificationQueue.Settlement {
    let event = events[outcome.form].name
    let isLast = claimed.hasEnded
    // An end is sent once more at most, and never dropped without the subscription.
    func mayTryAgain(after delay: Duration) -> Bool {
      !isLast || claimed.attempts < 1 && delay <= RetryPolicy.notifications.giveUpAfter
    }
    var settlement = NotificationQueue.Settlement(id: claimed.id, next: isLast ? .remove : .done, event: event)
    switch outcome.result {
    case .accepted: settlement.outcome = "accepted"
    case .refused(let reason): (settlement.outcome, settlement.reason) = ("failed", reason)
    case .retry(let delay, let reason):
      (settlement.outcome, settlement.reason) = ("retry", reason)
      if mayTryAgain(after: delay) { (settlement.next, settlement.delay) = (.retry, delay) }
    case .uncertain(let delay, let reason):
      (settlement.outcome, settlement.reason) = ("uncertain", reason)
      if mayTryAgain(after: delay) { (settlement.next, settlement.delay) = (.retry, delay) }
    case .tokenDead(let reason, let delay, let since):
      (settlement.outcome, settlement.reason) = (isLast ? "failed" : "revoked", isLast ? reason : "unregistered_device")
      settlement.next = isLast ? .remove : .revoke
      (settlement.delay, settlement.since) = (delay, since)
    case .blocked(let delay, let reason):
      // Nothing was tried. Where a lane is closed, its alarm says why.
      (settlement.next, settlement.delay) = (.blocked, delay)
      settlement.reason = reason
    }
    return settlement
  }
}
