import Postgres
import Locking

/// A cache whose keys anybody can make up, such as the tokens of requests.
///
/// A key that stands for nothing is remembered for a minute, since none ever begins to stand for something. Such keys are kept apart, so
/// that guesses push no answer out. Keys that were never found here are looked up a few at a time, so that made-up ones cost the database
/// little.
package final class UntrustedKeyCache<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private let known: SharedCache<Key, Value>
  private let unknown: SharedCache<Key, Bool>
  /// Keys that were found within a day: looking them up anew never waits behind made-up ones.
  private let proven: SharedCache<Key, Bool>
  private let unprovenLookups = Mutex(0)

  /// - Parameters:
  ///   - lifetime: how long an answer is believed when no word of a change comes.
  ///   - now: the clock, which tests steer.
  package init(
    lifetime: Duration, now: @escaping @Sendable () -> ContinuousClock.Instant = { ContinuousClock.now }
  ) {
    known = SharedCache(capacity: 10_000, lifetime: lifetime, now: now)
    unknown = SharedCache(capacity: 4_096, lifetime: .seconds(60), now: now)
    proven = SharedCache(capacity: 10_000, lifetime: .seconds(86_400), now: now)
  }

  /// The answer that is there and fresh.
  package func cached(_ key: Key) -> Value? { known.cached(key) }

  /// The answer that is there and fresh, or else what `load` finds; `nil` for a key that stands for nothing.
  /// - Throws: `RegistryError.tooManyUnknownTokens`.
  package func find(_ key: Key, load: @escaping @Sendable () async throws -> Value?) async throws -> Value? {
    if let value = known.cached(key) { return value }
    guard unknown.cached(key) == nil else { return nil }
    let isProven = proven.cached(key) != nil
    return try await known.find(key) { [self] in
      if !isProven { try beginUnprovenLookup() }
      defer { if !isProven { unprovenLookups.withLock { $0 -= 1 } } }
      let value = try await load()
      (value == nil ? unknown : proven).keep(key, true)
      return value
    }
  }

  private func beginUnprovenLookup() throws {
    try unprovenLookups.withLock { lookups in
      guard lookups < UnprovenLookups.most else { throw RegistryError.tooManyUnknownTokens }
      lookups += 1
    }
  }

  /// Forgets every answer, but not which keys stand for nothing.
  package func flush() { known.flush() }
}

/// The bound of `UntrustedKeyCache`.
package enum UnprovenLookups {
  /// Most keys in look-up that were not found here within a day.
  package static let most = 16
}
