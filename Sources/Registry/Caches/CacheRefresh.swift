package import Logging
package import Postgres
public import ServiceLifecycle

/// Keeps what this hub remembers of the database up to date: another hub, or the command line, may change it.
public struct CacheRefresh: Service {
  /// Something that is remembered.
  package struct Cache: Sendable {
    let channels: [ChangeChannel]
    let refresh: @Sendable () async throws -> Void

    /// - Parameters:
    ///   - channels: on which hubs notify each other of its changes.
    ///   - refresh: forgets what may have changed, or reads it again.
    package init(on channels: [ChangeChannel], _ refresh: @escaping @Sendable () async throws -> Void) {
      self.channels = channels
      self.refresh = refresh
    }
  }

  private let pool: Pool
  private let caches: [Cache]
  private let logger: Logger

  package init(_ pool: Pool, _ caches: [Cache], logger: Logger) {
    self.pool = pool
    self.caches = caches
    self.logger = logger
  }

  /// Listens until the service group, or the task, ends. Each cache is refreshed by itself, so that one that reads holds up no other.
  public func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for cache in caches { group.addTask { try await listen(for: cache) } }
      while try await group.next() != nil {}
    }
  }

  private func listen(for cache: Cache) async throws {
    let channels = cache.channels.map(\.name)
    // A notification that may have been missed counts like any other.
    for try await event in pool.notifications(on: channels).cancelOnGracefulShutdown() {
      do {
        try await cache.refresh()
      } catch {
        guard !Task.isCancelled else { return }
        // `mayHaveMissed` follows once the database answers again.
        logger.error(
          "could not read what has changed, this hub goes by what it knew before",
          metadata: ["channels": "\(channels)", "cause": "\(event)", "error": "\(error)"])
      }
    }
  }
}

/// A channel on which hubs notify each other of changes. Payloads are the customer's number where it says no other.
package struct ChangeChannel: Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  package static let accessKey = ChangeChannel("pushcart_access_key")
  package static let pushApp = ChangeChannel("pushcart_push_app")
  /// The address where a customer's provider of SMS posts status reports.
  package static let smsStatus = ChangeChannel("pushcart_sms_status")
  /// The keys that sign page links, or a customer's settings; the payload is empty for the keys.
  package static let links = ChangeChannel("pushcart_links")
}

/// Notifies every hub that something it may have cached has changed.
///
/// A statement of its own, as it names no table: on Citus one that did would run, and notify, on a worker.
enum NotificationQueries {
  static let notify = Statement("notification.send", .write, "SELECT pg_notify($1::text, $2::text)")

  static let all: [Statement] = [notify]
}

extension Querying {
  /// Inside a transaction the word goes out with its commit; outside at once.
  package func notify(_ channel: ChangeChannel, _ payload: String) async throws {
    try await query(NotificationQueries.notify, channel.name, payload)
  }

  /// Runs `body`, turning the violation of a named constraint into what it means to the caller.
  package func mapViolations<Answer>(
    _ constraints: [String: RegistryError], _ body: (any Querying) async throws -> Answer
  ) async throws -> Answer {
    do {
      return try await body(self)
    } catch let error as PostgresError {
      throw error.constraint.flatMap { constraints[$0] } ?? error
    }
  }
}
