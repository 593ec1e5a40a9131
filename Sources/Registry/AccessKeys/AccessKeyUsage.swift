import FoundationEssentials
import Postgres
public import ServiceLifecycle
import Locking
import Wire

/// Writes when access keys were last used: one statement a customer and minute, never while a request waits.
public final class AccessKeyUsage: Service {
  private let database: any Querying
  private let used = Mutex<[CustomerID: [AccessKeyID: Date]]>([:])

  init(_ database: any Querying) { self.database = database }

  func note(_ access: Access, at moment: Date) {
    used.withLock { $0[access.customer, default: [:]][access.key] = moment }
  }

  /// Writes what was noted since the last time. What cannot be written now is tried again with the next.
  package func write() async {
    let noted: [CustomerID: [AccessKeyID: Date]] = used.withLock { used in
      defer { used = [:] }
      return used
    }
    for (customer, keys) in noted {
      do {
        try await database.query(
          AccessKeyQueries.noteUse, customer.rawValue, keys.keys.map(\.rawValue), Array(keys.values),
          Array(keys.values).map { $0.addingTimeInterval(-60) })
      } catch {
        used.withLock { $0[customer, default: [:]].merge(keys) { later, earlier in max(later, earlier) } }
      }
    }
  }

  /// Writes once a minute until the service group, or the task, ends, and once more then.
  public func run() async throws {
    await cancelWhenGracefulShutdown {
      while !Task.isCancelled {
        try? await Task.sleep(for: .seconds(60))
        if !Task.isCancelled { await self.write() }
      }
    }
    await write()
  }
}
