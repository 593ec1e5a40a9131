import Crypto
public import FoundationEssentials
public import Postgres
public import Wire

/// Authenticates requests, remembering for a while what each token opens.
///
/// A revoked key is refused as soon as this hub hears of it (`CacheRefresh`); should that notification be lost, within
/// `timeToLive`. An expired key is refused at once.
public final class AccessKeyCache: Sendable {
  /// Notes which keys are used, and writes it now and then.
  public let usage: AccessKeyUsage
  private let keys: AccessKeys
  private let known: UntrustedKeyCache<SHA256Digest, Access>
  private let date: @Sendable () -> Date

  /// - Parameters:
  ///   - timeToLive: how long a valid token is believed without a notification; an unknown one for 60 seconds.
  ///   - now: the monotonic clock, which tests steer.
  ///   - date: the wall clock, which tests steer.
  public init(
    _ database: any Querying, timeToLive: Duration = .seconds(5),
    now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now },
    date: @escaping @Sendable () -> Date = { Date() }
  ) {
    keys = AccessKeys(database)
    usage = AccessKeyUsage(database)
    known = UntrustedKeyCache(lifetime: timeToLive, now: now)
    self.date = date
  }

  /// What a token opens, as `AccessKeys.authenticate` says; without a suspension when the answer is cached.
  /// - Throws: `RegistryError.tooManyUnknownTokens`.
  public func authenticate(_ token: String, for customer: CustomerID? = nil) async throws -> Access? {
    guard let token = AccessToken(token), customer == nil || customer == token.customer else { return nil }
    return try await known.find(token.hash) { [keys, usage, date] in
      guard let access = try await keys.authenticate(token) else { return nil }
      // Often enough: a key in use is looked up anew each time the cache's answer has expired.
      usage.note(access, at: date())
      return access
    }.flatMap(valid)
  }

  /// What a token opens, if that is cached.
  public func cached(_ token: String, for customer: CustomerID? = nil) -> Access? {
    guard let token = AccessToken(token, checked: false), customer == nil || customer == token.customer else {
      return nil
    }
    return known.cached(token.hash).flatMap(valid)
  }

  private func valid(_ access: Access) -> Access? {
    guard let expiry = access.expiresAt else { return access }
    return expiry > date() ? access : nil
  }

  /// Forgets every valid token.
  public func flush() { known.flush() }
}
