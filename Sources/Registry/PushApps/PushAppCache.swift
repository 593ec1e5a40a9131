public import Postgres
public import Wire

/// Resolves appIds for requests, remembering the answers for a few seconds; a change is heard of at once (`RegistryCaches`).
public final class PushAppCache: Sendable {
  /// - Parameters:
  ///   - timeToLive: how long an answer is believed when no word of a change comes.
  ///   - now: the clock, which tests steer.
  public init(
    _ database: any Querying, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
  }

  /// The app that an appId stands for, as `PushApps.resolve` says; without a suspension when the answer is at hand.
  public func resolve(_ customer: CustomerID, appID: String, type: AppType? = nil) async throws -> PushApp {
    fatalError()
  }

  /// The customer's apps of that appId, one per platform; empty if there is none.
  public func apps(_ customer: CustomerID, appID: String) async throws -> [PushApp] {
    fatalError()
  }

  /// Forgets everything.
  public func flush() {
  }
}
