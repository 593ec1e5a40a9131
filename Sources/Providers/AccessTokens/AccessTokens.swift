import FoundationEssentials
import Locking
import Wire

/// The access tokens of all accounts at a push service. All pushes of an account share one, and one request fetches it.
final class AccessTokens: Sendable {
  private struct Account {
    var cache = AccessTokenCache()
    var waiting: [@Sendable () -> Void] = []
  }

  private let endpoint: any AccessTokenEndpoint
  private let pools: ConnectionPools
  private let accounts = Mutex<[PushServiceCredentials: Account]>([:])

  init(_ endpoint: any AccessTokenEndpoint, _ pools: ConnectionPools) {
    self.endpoint = endpoint
    self.pools = pools
  }

  /// See `ServiceDescription.authorization`.
  func authorization(
    of credentials: PushServiceCredentials, whenReady: @escaping @Sendable () -> Void
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
  func refused(_ authorization: String, of credentials: PushServiceCredentials) {
    let now = pools.now()
    accounts.withLock { $0[credentials]?.cache.refused(authorization, now: now) }
  }

  /// Lets such accounts sign in at once that were refused a moment ago.
  func forgetRefusals(where isMeant: (PushServiceCredentials) -> Bool = { _ in true }) {
    accounts.withLock { accounts in
      for credentials in accounts.keys where isMeant(credentials) { accounts[credentials]?.cache.forgetRefusal() }
    }
  }

  /// Drops the tokens of all such accounts, unless one is being fetched.
  func removeAll(where isUnused: (PushServiceCredentials) -> Bool) {
    accounts.withLock { accounts in
      accounts = accounts.filter { !isUnused($0.key) || !$0.value.waiting.isEmpty }
    }
  }

  /// Asks the endpoint for a token, whatever is at hand.
  func check(_ credentials: PushServiceCredentials) async -> Verdict { await request(credentials) }

  private func fetch(_ credentials: PushServiceCredentials) async {
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

  private func request(_ credentials: PushServiceCredentials) async -> Verdict {
    let grant: AccessTokenGrant
    do {
      grant = try endpoint.grant(to: credentials, now: pools.now())
    } catch {
      return .credentialsRefused(reason: .hub(.privateKeyUnusable))
    }
    let receive: @Sendable (AccessTokenCache.AccessToken) -> Void = { [weak self] token in
      guard let self else { return }
      let now = pools.now()
      accounts.withLock { $0[credentials]?.cache.received(token, now: now) }
    }
    guard case .request(let request) = grant else {
      if case .token(let token) = grant { receive(token) }
      return .accepted
    }
    let description = AccessTokenDescription(endpoint: endpoint, receive: receive)
    // A token lasts for an hour, and nothing else is asked of the endpoint meanwhile.
    let verdict = await pools.answer { question in
      let key = PoolKey(
        service: endpoint.label, environment: .production, credentials: credentials, question: question)
      return pools.send([request], through: key, to: endpoint.address(for: credentials), description, while: { true })
    }
    return verdict ?? .unsent(reason: .hub(.noAccessToken))
  }
}
