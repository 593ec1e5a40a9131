import FoundationEssentials
import Synchronization

/// The provider tokens of all keys: one at a time for each key, whichever of its connections asks.
final class ProviderTokens: Sendable {
  private let caches = Mutex<[APNsCredentials: ProviderTokenCache]>([:])
  let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The key's token. Minting happens under the lock, so that two who ask at once get the same one.
  func availableToken(for credentials: APNsCredentials) -> ProviderTokenCache.AvailableToken {
    withCache(credentials) { $0.availableToken(now: $1) }
  }

  /// See `ProviderTokenCache.expired`.
  func expired(_ token: ProviderToken, of credentials: APNsCredentials) {
    withCache(credentials) { $0.expired(token, now: $1) }
  }

  /// See `ProviderTokenCache.overused`.
  func overused(_ token: ProviderToken, of credentials: APNsCredentials) {
    withCache(credentials) { $0.overused(token, now: $1) }
  }

  /// Keeps the tokens of these keys only.
  func forget(except credentials: Set<APNsCredentials>) {
    caches.withLock { caches in caches = caches.filter { credentials.contains($0.key) } }
  }

  private func withCache<Answer: Sendable>(
    _ credentials: APNsCredentials, _ body: (inout ProviderTokenCache, Date) -> Answer
  ) -> Answer {
    let now = now()
    return caches.withLock { caches in
      body(&caches[credentials, default: ProviderTokenCache(credentials)], now)
    }
  }
}
