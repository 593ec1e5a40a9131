public import Postgres
public import Wire

/// Resolves appIds for requests, remembering the answers for a few seconds; a change is heard of at once (`CacheRefresh`).
public final class PushAppCache: Sendable {
  private struct Key: Hashable {
    let customer: CustomerID
    let appID: String
  }

  private let database: any Querying
  private let known: SharedCache<Key, [PushApp]>
  private let ofCustomers: SharedCache<CustomerID, [PushApp]>

  /// - Parameters:
  ///   - timeToLive: how long an answer is believed when no word of a change comes.
  ///   - now: the clock, which tests steer.
  public init(
    _ database: any Querying, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    self.database = database
    known = SharedCache(capacity: 10_000, lifetime: timeToLive, now: now)
    ofCustomers = SharedCache(capacity: 1_000, lifetime: timeToLive, now: now)
  }

  /// The app that an appId stands for, as `PushApps.resolve` says; without a suspension when the answer is at hand.
  public func resolve(_ customer: CustomerID, appID: String, type: AppType? = nil) async throws -> PushApp {
    try await apps(customer, appID: appID).choose(appID: appID, type: type)
  }

  /// The customer's apps of that appId, one per platform; empty if there is none, which is not remembered.
  public func apps(_ customer: CustomerID, appID: String) async throws -> [PushApp] {
    try await known.find(Key(customer: customer, appID: appID)) { [database] in
      let apps = try await PushApps.apps(database, customer, appID)
      return apps.isEmpty ? nil : apps
    } ?? []
  }

  /// All apps of the customer: the strictest of them says what device keys may do.
  public func all(_ customer: CustomerID) async throws -> [PushApp] {
    try await ofCustomers.value(customer) { [database] in try await PushApps(database).list(customer) }
  }

  /// What `apps` says, if it is at hand.
  public func cached(_ customer: CustomerID, appID: String) -> [PushApp]? {
    known.cached(Key(customer: customer, appID: appID))
  }

  /// What `all` says, if it is at hand.
  public func cachedAll(_ customer: CustomerID) -> [PushApp]? { ofCustomers.cached(customer) }

  /// Forgets everything.
  public func flush() {
    known.flush()
    ofCustomers.flush()
  }
}
