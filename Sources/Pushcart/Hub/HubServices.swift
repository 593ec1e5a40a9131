import Audience
import DataInOut
import Delivery
import Hybrid
import Logging
import Outbox
import Postgres
import Registry
import Sendouts
import ServiceLifecycle
import Subscriptions
import Wire

/// Makes partitions and counts what happened by day every five minutes. Hourly it deletes what is too old, customer by customer and in portions.
/// It looks as often at the ends of push certificates, and warns of them daily. Once a day it counts devices.
struct Housekeeping: Service {
  private let customers: Customers
  private let replies: IdempotentReplies
  private let messages: Messages
  private let retention: Retention
  private let retentionDays: Int32?
  private var sessions: Sessions
  private let pool: Pool
  private let logger: Logger

  /// - Parameter isByProviderOnly: whether sessions that began with a password have ended.
  init(_ pool: Pool, vault: Vault, retentionDays: Int32?, isByProviderOnly: Bool = false, logger: Logger) {
    customers = Customers(pool)
    replies = IdempotentReplies(pool, vault: vault)
    messages = Messages(pool)
    retention = Retention(pool, days: retentionDays, logger: logger)
    self.retentionDays = retentionDays
    sessions = Sessions(pool)
    sessions.isByProviderOnly = isByProviderOnly
    self.pool = pool
    self.logger = logger
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      var rounds = 0
      var certificates = CertificateWatch(pool, logger: logger)
      while !Task.isCancelled {
        await makePartitions()
        await attempt("count days") { try await countDays() }
        if rounds % 12 == 0 {
          await attempt("list customers") { try await tidy() }
          await attempt("delete ended sessions") { try await sessions.forgetExpired() }
          await attempt("delete what is past its retention") { try await retention.run() }
          await attempt("count devices") { try await countDevices() }
          await attempt("look at push certificates") { try await certificates.check(isLogged: rounds % 288 == 0) }
        }
        rounds += 1
        try? await Task.sleep(for: .seconds(300))
      }
    }
  }

  /// Makes the partitions that will be needed. A hub that has not run for months does so before it serves.
  func makePartitions() async { await attempt("make partitions") { try await retention.makePartitions() } }

  /// Counts each customer's devices by app, once a day. What fails for one customer holds up nothing else.
  /// - Throws: as `tidy`.
  func countDevices() async throws {
    try await customers.forEach("count the devices", logger: logger) { customer in
      try await pool.transaction(limit: Ledger.wholeSendoutLimit) {
        try await DeviceCounts($0).countDay(customer.id)
      }
    }
  }

  /// Counts what has come to each customer's days. What fails for one customer holds up nothing else; the next round counts it.
  /// - Throws: as `tidy`.
  func countDays() async throws {
    try await customers.forEach("count the days", logger: logger) { try await DayCounts(pool).count($0.id) }
  }

  /// If the database is away, the next round does it.
  private func attempt(_ what: String, _ body: () async throws -> Void) async {
    do {
      try await body()
    } catch {
      guard !Task.isCancelled else { return }
      logger.warning("could not \(what), trying again later", metadata: ["error": "\(error)"])
    }
  }

  /// Deletes what is too old and has no retention of its own. What fails for one customer holds up nothing else; the next round tries again.
  /// - Throws: when the customers cannot be listed, and `CancellationError`.
  func tidy() async throws {
    try await customers.forEach("delete the expired replies", logger: logger) {
      try await replies.forgetExpired($0.id)
    }
    try await customers.forEach("delete the expired idempotency keys", logger: logger) {
      try await messages.forgetExpiredKeys($0.id)
    }
    try await customers.forEach("delete the old registrations of phones", logger: logger) {
      let days = [retentionDays, $0.settings.retentionDays].compactMap(\.self).min()
      try await PhoneRegistrations.forgetExpired($0.id, eventsAfterDays: days, in: pool)
    }
    try await customers.forEach("delete the old rows of the outbox", logger: logger) {
      try await PostQueue(pool).forgetExpired($0.id)
    }
    try await customers.forEach("delete the old events of webhooks", logger: logger) {
      try await EventWebhooks.forgetExpired($0.id, in: pool)
    }
    try await customers.forEach("delete the old lines of notifications", logger: logger) {
      try await NotificationRunner.forgetExpired($0.id, in: pool)
    }
    try await customers.forEach("delete the old counts of segments", logger: logger) {
      try await SegmentCounts.forgetOld($0.id, in: pool)
    }
    try await customers.forEach("delete the devices of removed apps", logger: logger) {
      try await PushApps(pool).removeOrphans(of: $0.id)
    }
    try await customers.forEach("delete the suppressions that have ended", logger: logger) {
      try await Suppressions.forgetEnded($0.id, in: pool)
    }
    try await customers.forEach("delete what old imports have of people", logger: logger) {
      try await Imports.forgetExpired($0.id, in: pool)
    }
    try await customers.forEach("delete the records of old erasures", logger: logger) {
      try await Erasures.forgetExpired($0.id, in: pool)
    }
    try await customers.forEach("delete the old counts of days", logger: logger) {
      try await DayCounts(pool).forgetOld($0.id)
    }
    try await customers.forEach("delete the old counts of caps", logger: logger) {
      try await CapCounts.forgetOld($0.id, in: pool)
    }
  }
}

/// Services that stop at the same moment. A `ServiceGroup` would stop one after the other, each waiting for the one before.
///
/// The first that fails, or ends before the hub is stopped, cancels the others: a hub without its web server is none.
struct ConcurrentServices: Service {
  let members: [any Service]

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for member in members {
        group.addTask {
          try await member.run()
          guard Task.isCancelled || Task.isShuttingDownGracefully else {
            throw CommandFailure("The service \(type(of: member)) has ended unexpectedly.")
          }
        }
      }
      // `waitForAll` would keep an error until every member has ended.
      while try await group.next() != nil {}
    }
  }
}

/// Limits the graceful shutdown of a service. After the limit the service is cancelled, which is not an error.
struct ShutdownTimeout<Limited: Service>: Service {
  let service: Limited
  let limit: Duration

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await service.run() }
      group.addTask {
        try await gracefulShutdown()
        try await Task.sleep(for: limit)
      }
      try await group.next()
      group.cancelAll()
      while await group.nextResult() != nil {}
    }
  }
}
