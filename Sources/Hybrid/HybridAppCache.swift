import FoundationEssentials
public import Postgres
public import Registry
import Wire

/// Finds apps by their keys, and remembers the answers for a few seconds. A change is noticed at once (`CacheRefresh`).
public final class HybridAppCache: Sendable {
  /// The channels of changes to what it remembers. An app's name is that of a push app.
  package static let channels: [ChangeChannel] = [.hybridApp, .pushApp]

  /// An app, and what opens its requests.
  struct Entry: Sendable {
    let app: HybridApp
    /// Or why none of the hub's master keys opens them, which matters to requests of phones alone.
    let secrets: Result<[Secret], any Error>
  }

  private let apps: HybridApps
  private let vault: Vault
  private let known: UntrustedKeyCache<UUID, Entry>
  /// Apps whose addresses get reports on messages without an app key.
  private let reporting: SharedCache<CustomerID, String?>

  /// - Parameters:
  ///   - timeToLive: how long an answer is used when no notification of a change comes.
  ///   - now: the clock, which tests steer.
  public init(
    _ database: any Querying, vault: Vault, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    apps = HybridApps(database)
    self.vault = vault
    known = UntrustedKeyCache(lifetime: timeToLive, now: now)
    reporting = SharedCache(capacity: 1000, lifetime: timeToLive, now: now)
  }

  /// The app of the customer that a key names; nil if there is none.
  func app(_ key: UUID, of customer: CustomerID) async throws -> HybridApp? {
    guard key.customerOfAppKey == customer else { return nil }
    return try await entry(key)?.app
  }

  /// The app whose address gets reports on messages that name none: the customer's first that has an address.
  func reportApp(_ customer: CustomerID) async throws -> String? {
    try await reporting.value(customer) { [apps] in try await apps.reporting(customer) }
  }

  func cachedEntry(_ key: UUID) -> Entry? { known.cached(key) }

  /// - Throws: `RegistryError.tooManyUnknownTokens` while too many unknown keys are looked up: anybody can make some up.
  func entry(_ key: UUID) async throws -> Entry? {
    guard key.customerOfAppKey != nil else { return nil }
    return try await known.find(key) { [apps, vault] in
      guard let app = try await apps.find(key: key) else { return nil }
      return Entry(app: app, secrets: Result { try app.secrets(vault) })
    }
  }

  /// Forgets every app.
  public func flush() {
    known.flush()
    reporting.flush()
  }
}

extension ChangeChannel {
  /// Apps of Hybrid Messaging: their settings and secrets.
  static let hybridApp = ChangeChannel("pushcart_hybrid_app")
}
