public import FoundationEssentials
import Logging
import Locking
public import Wire

/// Keeps the provider token that all hubs share, one for each signing key of a customer.
public protocol ProviderTokenStore: Sendable {
  /// The key's token, if there is one less than an hour old, and what time it is for all hubs.
  func find(_ key: ProviderTokenKey) async throws -> (token: ProviderToken?, now: Date)

  /// Keeps a new token in place of the one that was found, if that is still there.
  /// - Parameter seen: when the token that was found was issued; `nil` if there was none.
  /// - Returns: `false` if another hub was quicker: then its token is the shared one.
  func replace(_ seen: Date?, with token: ProviderToken, for key: ProviderTokenKey) async throws -> Bool
}

/// Whose token: apps of a customer with the same key share it.
struct TokenOwner: Hashable, Sendable {
  let customer: CustomerID
  let credentials: APNsCredentials
}

/// The provider tokens of all keys; all connections of a key share one, on this hub and on others.
///
/// A token's age goes by the store's clock, and from then on by this hub's monotonic one. So a hub whose clock is wrong neither makes a
/// second token nor sends with one that has expired. While the store is away, the token at hand is used until it is 50 minutes old.
final class ProviderTokens: Sendable {
  private struct Account {
    /// `nil` if the key cannot sign.
    let signer: TokenSigner?
    var cache = ProviderTokenCache()
    var waiting: [@Sendable () -> Void] = []
  }

  private let store: any ProviderTokenStore
  private let logger: Logger
  let clock: @Sendable () -> ContinuousClock.Instant
  private let accounts = Mutex<[TokenOwner: Account]>([:])

  init(_ store: any ProviderTokenStore, logger: Logger, clock: @escaping @Sendable () -> ContinuousClock.Instant) {
    self.store = store
    self.logger = logger
    self.clock = clock
  }

  /// See `ServiceDescription.authorization`.
  func authorization(of owner: TokenOwner, whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    let now = clock()
    let (available, signer) = accounts.withLock { accounts -> (ProviderTokenCache.Available?, TokenSigner?) in
      var account = accounts[owner] ?? Account(signer: TokenSigner(owner.credentials))
      defer { accounts[owner] = account }
      guard let signer = account.signer else { return (nil, nil) }
      let (available, mustAsk) = account.cache.available(now: now)
      if available == .pending { account.waiting.append(whenReady) }
      return (available, mustAsk ? signer : nil)
    }
    if let signer { Task { await ask(owner, signer) } }
    switch available {
    case .token(let token): return .available(Authorization(value: token.authorization))
    case .pending: return .pending
    case .unknown: return .unusable(.unsent(reason: .hub(.providerTokenUnknown)))
    case .blocked(let until):
      let wait = Duration.seconds(max(1, Int64(((until - now) / .seconds(1)).rounded(.up))))
      return .unusable(.retry(after: wait, reason: APNsReason.tooManyProviderTokenUpdates.rawValue))
    case nil: return .unusable(.credentialsRefused(reason: .hub(.signingKeyUnusable)))
    }
  }

  /// See `ProviderTokenCache.expired`.
  func expired(_ authorization: String, of owner: TokenOwner) {
    let now = clock()
    accounts.withLock { $0[owner]?.cache.expired(authorization, now: now) }
  }

  /// See `ProviderTokenCache.overused`.
  /// - Returns: whether there is another token to send with.
  func overused(_ authorization: String, of owner: TokenOwner) -> Bool {
    let now = clock()
    return accounts.withLock { accounts in
      accounts[owner]?.cache.overused(authorization, now: now)
      return accounts[owner]?.cache.isBlocked(now: now) == false
    }
  }

  /// Drops the tokens of all such keys, unless one is being asked for.
  func removeAll(where isUnused: (APNsCredentials) -> Bool) {
    accounts.withLock { accounts in
      accounts = accounts.filter { !isUnused($0.key.credentials) || !$0.value.waiting.isEmpty }
    }
  }

  private func ask(_ owner: TokenOwner, _ signer: TokenSigner) async {
    let refused = accounts.withLock { $0[owner]?.cache.refused }
    var held: ProviderTokenCache.Held?
    do {
      held = try await sharedToken(ProviderTokenKey(customer: owner.customer, signingKey: signer.name), signer, refused)
    } catch {
      logger.warning(
        "could not ask for the provider token that all hubs share, retrying",
        metadata: ["account": "\(owner.credentials)", "error": "\(error)"])
    }
    let now = clock()
    let waiting = accounts.withLock { accounts in
      if let held { accounts[owner]?.cache.received(held) } else { accounts[owner]?.cache.failed(now: now) }
      let waiting = accounts[owner]?.waiting ?? []
      accounts[owner]?.waiting = []
      return waiting
    }
    for ready in waiting { ready() }
  }

  /// The token in the store; a new one if it is too old, or if APNs refuses it and the last one is 20 minutes old.
  private func sharedToken(
    _ key: ProviderTokenKey, _ signer: TokenSigner, _ refused: String?
  ) async throws -> ProviderTokenCache.Held? {
    // Another hub may be quicker: its token is there at the second look.
    for _ in 1...2 {
      let asked = clock()
      let (found, now) = try await store.find(key)
      func held(_ token: ProviderToken) -> ProviderTokenCache.Held {
        ProviderTokenCache.Held(token, issued: asked - .seconds(now.timeIntervalSince(token.issuedAt)))
      }
      if let found {
        let age = Duration.seconds(now.timeIntervalSince(found.issuedAt))
        if ProviderTokenAge.serves(age, isRefused: held(found).authorization == refused) { return held(found) }
      }
      let token = try signer.token(issuedAt: now)
      if try await store.replace(found?.issuedAt, with: token, for: key) { return held(token) }
    }
    return nil
  }
}

/// The tokens of a process that shares them with no other, such as one that asks about a key of its own making.
final class UnsharedTokens: ProviderTokenStore {
  private let tokens = Mutex<[ProviderTokenKey: ProviderToken]>([:])
  private let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  func find(_ key: ProviderTokenKey) async -> (token: ProviderToken?, now: Date) {
    (tokens.withLock { $0[key] }, now())
  }

  func replace(_ seen: Date?, with token: ProviderToken, for key: ProviderTokenKey) async -> Bool {
    tokens.withLock { tokens in
      guard tokens[key]?.issuedAt == seen else { return false }
      tokens[key] = token
      return true
    }
  }
}
