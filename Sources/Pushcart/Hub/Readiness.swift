import Postgres
import ServiceLifecycle
import Synchronization

/// Whether the hub can serve now; what it found is believed for two seconds, so that asking often costs the database nothing.
///
/// It hears of a shutdown when all others do: from then on the hub is not ready, while the requests that are in flight, or still
/// arrive on connections that are open, are answered.
final class Readiness: Service {
  private enum Finding {
    case never
    case found(String?, until: ContinuousClock.Instant)
    case draining
  }

  private let pool: Pool
  private let migrator: Migrator
  private let finding = Mutex(Finding.never)

  init(_ pool: Pool, _ migrator: Migrator) {
    self.pool = pool
    self.migrator = migrator
  }

  func run() async throws {
    try? await gracefulShutdown()
    finding.withLock { $0 = .draining }
  }

  /// Why the hub cannot serve, in one sentence; nil when it can.
  func obstacle() async -> String? {
    switch finding.withLock({ $0 }) {
    case .draining: return "The hub is shutting down."
    case .found(let obstacle, let until) where until > .now: return obstacle
    case .found, .never: break
    }
    let obstacle = await look()
    finding.withLock {
      if case .draining = $0 { return }
      $0 = .found(obstacle, until: .now + .seconds(2))
    }
    return obstacle
  }

  private func look() async -> String? {
    guard pool.isReady else { return "The database cannot be reached." }
    do {
      try await migrator.check()
      return nil
    } catch MigrationError.pending {
      return "Migrations are pending; run `pushcart migrate`."
    } catch MigrationError.unknown {
      return nil  // a newer release migrates first and then replaces this one, which serves until then
    } catch is MigrationError {
      return "The schema is not the one this release knows; see `pushcart check`."
    } catch {
      return "The database cannot be reached."
    }
  }
}
