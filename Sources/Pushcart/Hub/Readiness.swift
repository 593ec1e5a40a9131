import Postgres
import Registry
import ServiceLifecycle
import Synchronization
import Web

/// Whether the hub can serve now; what it found is believed for two seconds, and all that ask meanwhile wait for one look, so
/// that asking often costs the database nothing.
///
/// It hears of a shutdown when all others do: from then on the hub is not ready, while the requests that are in flight, or still
/// arrive on connections that are open, are answered.
final class Readiness: Service {
  private enum State: Sendable {
    /// Nothing is known, or nothing that is still believed.
    case unknown
    case looking(Task<UnavailableReason?, Never>)
    case found(UnavailableReason?, until: ContinuousClock.Instant)
    case draining
  }

  private let pool: Pool
  private let migrator: Migrator
  /// A database that hangs must not make the probe hang.
  private let database: any Querying
  private let state = Mutex(State.unknown)

  init(_ pool: Pool, _ migrator: Migrator) {
    self.pool = pool
    self.migrator = migrator
    database = pool.limited(to: .seconds(2))
  }

  func run() async throws {
    try? await gracefulShutdown()
    state.withLock { $0 = .draining }
  }

  /// Why the hub cannot serve; nil when it can.
  func unavailableReason() async -> UnavailableReason? {
    let look: Task<UnavailableReason?, Never>
    switch state.withLock({ next(&$0) }) {
    case .looking(let task): look = task
    case .found(let unavailableReason, _): return unavailableReason
    case .draining, .unknown: return .shuttingDown
    }
    let unavailableReason = await look.value
    state.withLock { state in
      if case .looking(look) = state { state = .found(unavailableReason, until: .now + .seconds(2)) }
    }
    return unavailableReason
  }

  /// Begins to look unless it is known, or somebody looks already.
  private func next(_ state: inout State) -> State {
    switch state {
    case .looking, .draining: break
    case .found(_, let until) where until > .now: break
    case .found, .unknown: state = .looking(Task { await self.look() })
    }
    return state
  }

  private func look() async -> UnavailableReason? {
    guard pool.isReady else { return .databaseAway }
    do {
      try await migrator.check(on: database)
      return nil
    } catch MigrationError.pending {
      return .migrationsPending
    } catch MigrationError.unknown {
      return nil  // a newer release migrates first and then replaces this one, which serves until then
    } catch is MigrationError {
      return .schemaUnknown
    } catch {
      return .databaseAway
    }
  }
}
