import FoundationEssentials
import Synchronization
import Wire

/// The access tokens of all service accounts. All pushes of an account share one, and one request fetches it.
final class AccessTokens: Sendable {
  private struct Account {
    var cache = AccessTokenCache()
    var waiting: [@Sendable () -> Void] = []
  }

  private let endpoint: GoogleTokenEndpoint
  private let pools: ConnectionPools
  private let accounts = Mutex<[GoogleServiceAccount: Account]>([:])

  init(_ endpoint: GoogleTokenEndpoint, _ pools: ConnectionPools) {
    self.endpoint = endpoint
    self.pools = pools
  }

  /// See `ServiceDescription.authorization`.
  func authorization(
    of credentials: GoogleServiceAccount, whenReady: @escaping @Sendable () -> Void
  ) -> AvailableAuthorization {
    let now = pools.now()
    let (available, mustFetch) = accounts.withLock { accounts in
      let (available, mustFetch) = accounts[credentials, default: Account()].cache.available(now: now)
      if available == .pending { accounts[credentials]?.waiting.append(whenReady) }
      return (available, mustFetch)
    }
    if mustFetch { Task { await fetch(credentials) } }
    switch available {
    case .authorization(let value): return .available(Authorization(value: value))
    case .pending: return .pending
    case .failed(let verdict): return .unusable(verdict)
    }
  }

  /// See `AccessTokenCache.refused`.
  func refused(_ authorization: String, of credentials: GoogleServiceAccount) {
    let now = pools.now()
    accounts.withLock { $0[credentials]?.cache.refused(authorization, now: now) }
  }

  /// Drops the tokens of all such accounts, unless one is being fetched.
  func removeAll(where isUnused: (GoogleServiceAccount) -> Bool) {
    accounts.withLock { accounts in
      accounts = accounts.filter { !isUnused($0.key) || !$0.value.waiting.isEmpty }
    }
  }

  private func fetch(_ credentials: GoogleServiceAccount) async {
    let verdict = await request(credentials)
    let now = pools.now()
    let waiting = accounts.withLock { accounts in
      // No effect if the response held a token.
      accounts[credentials]?.cache.failed(verdict, now: now)
      let waiting = accounts[credentials]?.waiting ?? []
      accounts[credentials]?.waiting = []
      return waiting
    }
    for ready in waiting { ready() }
  }

  private func request(_ credentials: GoogleServiceAccount) async -> Verdict {
    guard let request = try? endpoint.request(credentials, now: pools.now()) else {
      return .credentialsRefused(reason: "PrivateKeyUnusable")
    }
    let key = PoolKey(service: endpoint.label, environment: .production, credentials: .fcm(credentials))
    let description = GoogleTokenDescription(endpoint: endpoint) { [weak self] token in
      guard let self else { return }
      let now = pools.now()
      accounts.withLock { $0[credentials]?.cache.received(token, now: now) }
    }
    for await outcomes in pools.send([request], through: key, to: endpoint.address, description, while: { true }) {
      for outcome in outcomes { return outcome.verdict }
    }
    return .unsent(reason: "NoAccessToken")
  }
}
