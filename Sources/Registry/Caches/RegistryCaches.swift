public import Logging
public import Postgres
public import ServiceLifecycle

/// Keeps the caches of this hub honest: forgets what another hub, or the command line, has changed.
public struct RegistryCaches: Service {
  private let pool: Pool
  private let accessKeys: AccessKeyCache
  private let pushApps: PushAppCache
  private let smsAddresses: SMSStatusAddresses
  private let logger: Logger

  public init(
    _ pool: Pool, accessKeys: AccessKeyCache, pushApps: PushAppCache, smsAddresses: SMSStatusAddresses, logger: Logger
  ) {
    self.pool = pool
    self.accessKeys = accessKeys
    self.pushApps = pushApps
    self.smsAddresses = smsAddresses
    self.logger = logger
  }

  /// Listens until the service group, or the task, ends. When a word may have been missed, everything is forgotten.
  public func run() async throws {
    let channels = [RegistryChannel.accessKey, .pushApp, .smsStatus]
    let notifications = pool.notifications(on: channels.map(\.rawValue))
    for try await event in notifications.cancelOnGracefulShutdown() {
      switch event {
      case .mayHaveMissed:
        accessKeys.flush()
        pushApps.flush()
        await refreshAddresses()
      case .notification(RegistryChannel.accessKey.rawValue, _): accessKeys.flush()
      case .notification(RegistryChannel.pushApp.rawValue, _): pushApps.flush()
      case .notification(RegistryChannel.smsStatus.rawValue, _): await refreshAddresses()
      case .notification: break
      }
    }
  }

  /// While the database does not answer, addresses stay as they are; the next event comes once it does.
  private func refreshAddresses() async {
    do { try await smsAddresses.refresh(from: pool) } catch {
      logger.error(
        "addresses for status reports of SMS could not be read, one that was renewed may still be open on this hub",
        metadata: ["error": "\(error)"])
    }
  }
}

/// Tells every hub that something it may have cached has changed.
///
/// A statement of its own, as it names no table: on Citus one that did would run, and notify, on a worker.
enum NotificationQueries {
  static let notify = Statement("notification.send", .write, "SELECT pg_notify($1::text, $2::text)")

  static let all: [Statement] = [notify]
}

/// The channels on which hubs tell each other of changes in this room; payloads are the customer's number.
package enum RegistryChannel: String, CaseIterable, Sendable {
  case accessKey = "pushcart_access_key"
  case pushApp = "pushcart_push_app"
  /// The address where a customer's provider of SMS posts status reports.
  case smsStatus = "pushcart_sms_status"
  /// The keys that sign page links, or how long a customer's links live; the payload is empty for the keys.
  case links = "pushcart_links"
}

extension Querying {
  /// Inside a transaction the word goes out with its commit; outside at once.
  func notify(_ channel: RegistryChannel, _ payload: String) async throws {
    try await query(NotificationQueries.notify, channel.rawValue, payload)
  }

  /// Runs `body`, turning the violation of a named constraint into what it means to the caller.
  func mapViolations<Answer>(
    _ constraints: [String: RegistryError], _ body: (any Querying) async throws -> Answer
  ) async throws -> Answer {
    do {
      return try await body(self)
    } catch let error as PostgresError {
      throw error.constraint.flatMap { constraints[$0] } ?? error
    }
  }
}
