import Postgres
import Registry
import ServiceLifecycle
import Locking
import Web

/// Whether the hub can serve now. A result is kept for two seconds and concurrent callers share one check, so frequent probes
/// cost the database nothing.
///
/// A hub that shuts down is not ready, while it still answers requests on open connections.
final class Readiness: Service {
  private enum State: Sendable {
    case unknown
    case checking(Task<UnavailableReason?, Never>)
    case found(UnavailableReason?, until: ContinuousClock.Instant)
    case draining
  }

  private let pool: Pool
  private let migrator: Migrator
  /// A database that hangs must not make the probe hang.
  private let database: any Querying
  private let state = Mutex(State.unknown)

  /// - Parameter limit: how long the database may take to answer.
  init(_ pool: Pool, _ migrator: Migrator, limit: Duration = .seconds(2)) {
    self.pool = pool
    self.migrator = migrator
    database = pool.limited(to: limit)
  }

  func run() async throws {
    try? await gracefulShutdown()
    state.withLock { $0 = .draining }
  }

  /// Why the hub cannot serve; nil when it can.
  func unavailableReason() async -> UnavailableReason? {
    let check: Task<UnavailableReason?, Never>
    switch state.withLock({ next(&$0) }) {
    case .checking(let task): check = task
    case .found(let unavailableReason, _): return unavailableReason
    case .draining, .unknown: return .shuttingDown
    }
    let unavailableReason = await check.value
    state.withLock { state in
      if case .checking(check) = state { state = .found(unavailableReason, until: .now + .seconds(2)) }
    }
    return unavailableReason
  }

  /// Starts a check unless one runs or its result is still kept.
  private func next(_ state: inout State) -> State {
    switch state {
    case .checking, .draining: break
    case .found(_, let until) where until > .now: break
    case .found, .unknown: state = .checking(Task { await self.check() })
    }
    return state
  }

  private func check() async -> UnavailableReason? {
    guard pool.isReady else { return .databaseAway }
    do {
      try await migrator.check(on: database)
      return nil
    } catch MigrationError.pending {
      return .migrationsPending
    } catch MigrationError.unknown {
      return nil  // a newer release has migrated, and this one serves until it is replaced
    } catch is MigrationError {
      return .schemaUnknown
    } catch {
      return .databaseAway
    }
  }
}
