import Crypto
public import FoundationEssentials
public import Postgres
import Locking
public import Wire

/// Authenticates requests, remembering for a while what each token opens.
///
/// A revoked key is refused as soon as this hub hears of it (`CacheRefresh`); should that notification be lost, within
/// `timeToLive`. An expired key is refused at once. Unknown tokens are remembered longer, since none ever becomes valid, and in a
/// cache of their own, so that guesses push no valid token out. Few tokens that were never valid here are looked up at a time, so
/// that made-up ones take no more of the database than that.
public final class AccessKeyCache: Sendable {
  /// Notes which keys are used, and writes it now and then.
  public let usage: AccessKeyUsage
  private let keys: AccessKeys
  private let known: ExpiringCache<SHA256Digest, Access>
  private let unknown: ExpiringCache<SHA256Digest, Bool>
  /// Tokens that were valid here within a day: looking them up anew never waits behind made-up ones.
  private let proven: ExpiringCache<SHA256Digest, Bool>
  private let unprovenLookups = Mutex(0)
  private let date: @Sendable () -> Date
  /// Most tokens in look-up that were not valid here within a day.
  package static let maximumUnprovenLookups = 16

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
    known = ExpiringCache(timeToLive: timeToLive, capacity: 10_000, now: now)
    unknown = ExpiringCache(timeToLive: .seconds(60), capacity: 4_096, now: now)
    proven = ExpiringCache(timeToLive: .seconds(86_400), capacity: 10_000, now: now)
    self.date = date
  }

  /// What a token opens, as `AccessKeys.authenticate` says; without a suspension when the answer is cached.
  /// - Throws: `RegistryError.tooManyUnknownTokens`.
  public func authenticate(_ token: String, for customer: CustomerID? = nil) async throws -> Access? {
    guard let token = AccessToken(token), customer == nil || customer == token.customer else { return nil }
    if let access = known.cached(token.hash) { return valid(access) }
    if unknown.cached(token.hash) != nil { return nil }
    let isProven = proven.cached(token.hash) != nil
    do {
      return valid(
        try await known.value(token.hash) { [self] in
          if !isProven { try beginUnprovenLookup() }
          defer { if !isProven { unprovenLookups.withLock { $0 -= 1 } } }
          guard let access = try await keys.authenticate(token) else { throw Unknown() }
          // Often enough: a key in use is looked up anew each time the cache's answer has expired.
          usage.note(access, at: date())
          proven.remember(token.hash, true)
          return access
        })
    } catch is Unknown {
      unknown.remember(token.hash, true)
      return nil
    }
  }

  /// The same, if it is cached and the token opens anything.
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

  private func beginUnprovenLookup() throws {
    try unprovenLookups.withLock { lookups in
      guard lookups < Self.maximumUnprovenLookups else { throw RegistryError.tooManyUnknownTokens }
      lookups += 1
    }
  }

  private struct Unknown: Error {}

  /// Forgets every valid token.
  public func flush() { known.flush() }
}
