import FoundationEssentials
import Synchronization

/// The provider tokens of all keys: one at a time for each key, whichever of its connections asks.
final class ProviderTokens: Sendable {
  private let shelves = Mutex<[APNsCredentials: TokenShelf]>([:])
  let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The key's token. Minting happens under the lock, so that two who ask at once get the same one.
  func supply(for credentials: APNsCredentials) -> TokenShelf.Supply {
    withShelf(credentials) { $0.supply(now: $1) }
  }

  /// See `TokenShelf.expired`.
  func expired(_ token: ProviderToken, of credentials: APNsCredentials) {
    withShelf(credentials) { $0.expired(token, now: $1) }
  }

  /// See `TokenShelf.overused`.
  func overused(_ token: ProviderToken, of credentials: APNsCredentials) {
    withShelf(credentials) { $0.overused(token, now: $1) }
  }

  /// Keeps the tokens of these keys only.
  func forget(except credentials: Set<APNsCredentials>) {
    shelves.withLock { shelves in shelves = shelves.filter { credentials.contains($0.key) } }
  }

  private func withShelf<Answer: Sendable>(
    _ credentials: APNsCredentials, _ body: (inout TokenShelf, Date) -> Answer
  ) -> Answer {
    let now = now()
    return shelves.withLock { shelves in
      body(&shelves[credentials, default: TokenShelf(credentials)], now)
    }
  }
}
