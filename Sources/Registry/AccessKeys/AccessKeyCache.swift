import Crypto
public import Postgres
public import Wire

/// Authenticates requests, remembering what each token opens for a few seconds.
///
/// A revoked key is refused as soon as this hub hears of it (`RegistryCaches`); should that word be lost, within `timeToLive`. Unknown tokens are remembered in a cache of their own, so that guessing cannot
/// push good tokens out.
public final class AccessKeyCache: Sendable {
  private let keys: AccessKeys
  private let known: ExpiringCache<SHA256Digest, Access>
  private let unknown: ExpiringCache<SHA256Digest, Bool>

  /// - Parameters:
  ///   - timeToLive: how long an answer is believed when no word of a change comes.
  ///   - now: the clock, which tests steer.
  public init(
    _ database: any Querying, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    keys = AccessKeys(database)
    known = ExpiringCache(timeToLive: timeToLive, capacity: 10_000, now: now)
    unknown = ExpiringCache(timeToLive: timeToLive, capacity: 1_000, now: now)
  }

  /// What a token opens, as `AccessKeys.authenticate` says; without a suspension when the answer is at hand.
  public func authenticate(_ token: String, for customer: CustomerID? = nil) async throws -> Access? {
    guard let token = AccessToken(token), customer == nil || customer == token.customer else { return nil }
    if let access = known.cached(token.hash) { return access }
    if unknown.cached(token.hash) != nil { return nil }
    do {
      return try await known.value(token.hash) { [keys] in
        guard let access = try await keys.authenticate(token) else { throw Unknown() }
        return access
      }
    } catch is Unknown {
      unknown.remember(token.hash, true)
      return nil
    }
  }

  /// The same, if it is at hand and the token opens anything.
  public func cached(_ token: String, for customer: CustomerID) -> Access? {
    guard let token = AccessToken(token), customer == token.customer else { return nil }
    return known.cached(token.hash)
  }

  private struct Unknown: Error {}

  /// Forgets everything.
  public func flush() {
    known.flush()
    unknown.flush()
  }
}
