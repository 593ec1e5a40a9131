import FoundationEssentials
public import Postgres
public import Registry
import Wire

/// Finds apps by their keys, remembering the answers for a few seconds.
///
/// A change counts on other hubs once what they remember is older than `timeToLive`. Keys that name nothing are remembered longer, and
/// apart, so that made-up ones push no app out.
public final class HybridAppCache: Sendable {
  /// An app, and what opens its requests.
  struct Entry: Sendable {
    let app: HybridApp
    /// Or why none of the hub's master keys opens them, which matters to requests of phones alone.
    let secrets: Result<[Secret], any Error>
  }

  private let apps: HybridApps
  private let vault: Vault
  private let known: ExpiringCache<UUID, Entry>
  private let unknown: ExpiringCache<UUID, Bool>

  public init(
    _ database: any Querying, vault: Vault, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    apps = HybridApps(database)
    self.vault = vault
    known = ExpiringCache(timeToLive: timeToLive, capacity: 1000, now: now)
    unknown = ExpiringCache(timeToLive: .seconds(60), capacity: 4096, now: now)
  }

  /// The app of the customer that a key names; nil if there is none.
  func app(_ key: UUID, of customer: CustomerID) async throws -> HybridApp? {
    guard key.customerOfAppKey == customer else { return nil }
    return try await entry(key)?.app
  }

  func cachedEntry(_ key: UUID) -> Entry? { known.cached(key) }

  func entry(_ key: UUID) async throws -> Entry? {
    guard key.customerOfAppKey != nil, unknown.cached(key) == nil else { return nil }
    do {
      return try await known.value(key) { [apps, vault] in
        guard let app = try await apps.find(key: key) else { throw Unknown() }
        return Entry(app: app, secrets: Result { try app.secrets(vault) })
      }
    } catch is Unknown {
      unknown.remember(key, true)
      return nil
    }
  }

  private struct Unknown: Error {}

  /// Forgets every app.
  public func flush() { known.flush() }
}
