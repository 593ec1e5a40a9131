import Crypto
import FoundationEssentials
import Synchronization
import Wire

/// A JWT that authenticates a team to APNs: ES256, header `kid`, claims `iss` and `iat` (a number), and nothing else.
struct ProviderToken: Hashable, Sendable {
  /// The header `authorization`, ready to send; never logged.
  let authorization: String
  /// The claim `iat`.
  let issuedAt: Date

  /// ECDSA is randomized: each call gives another token, and APNs counts them.
  init(_ credentials: APNsCredentials, key: P256.Signing.PrivateKey, now: Date) throws {
    let iat = Int64(now.timeIntervalSince1970)
    let header = try Self.encode(["alg": "ES256", "kid": credentials.keyID])
    let claims = try Self.encode(Claims(iss: credentials.teamID, iat: iat))
    let signed = header + "." + claims
    let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
    authorization = "bearer \(signed).\(Base64URL.text(Array(signature)))"
    issuedAt = Date(timeIntervalSince1970: Double(iat))
  }

  private struct Claims: Encodable {
    var iss: String
    var iat: Int64
  }

  private static func encode(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    return Base64URL.text(Array(try encoder.encode(value)))
  }
}

/// One key's provider token, and when to create a new one (Apple: at most every 20 minutes, and at least every 60).
struct ProviderTokenCache: Sendable {
  /// The token to send with, if there is one.
  enum AvailableToken: Hashable, Sendable {
    case token(ProviderToken)
    /// None that APNs would accept before then.
    case none(until: Date)
    /// The signing key is no P-256 key in PEM.
    case keyUnusable
  }

  /// Age at which it is renewed, ten minutes before APNs refuses it; in seconds.
  static let lifetime: TimeInterval = 50 * 60
  /// Age at which APNs refuses it; in seconds.
  static let hardLifetime: TimeInterval = 60 * 60
  /// Least time between two tokens; in seconds.
  static let leastInterval: TimeInterval = 20 * 60

  private let credentials: APNsCredentials
  private let key: P256.Signing.PrivateKey?
  private var current: ProviderToken?
  private var previous: ProviderToken?
  /// No new token before then, because APNs said that there were too many.
  private var blockedUntil: Date?
  /// When a token was last created because APNs reported the previous one as expired.
  private var renewedAt: Date?

  init(_ credentials: APNsCredentials) {
    self.credentials = credentials
    key = try? P256.Signing.PrivateKey(pemRepresentation: credentials.signingKey)
  }

  /// The token to send with now. It is created if there is none, if it is 50 minutes old, and if the clock was set back to before
  /// its creation.
  mutating func availableToken(now: Date) -> AvailableToken {
    guard let key else { return .keyUnusable }
    if let blockedUntil, now < blockedUntil {
      guard let current, now.timeIntervalSince(current.issuedAt) < Self.hardLifetime else {
        return .none(until: blockedUntil)
      }
      return .token(current)
    }
    blockedUntil = nil
    if let current, (-60..<Self.lifetime).contains(now.timeIntervalSince(current.issuedAt)) { return .token(current) }
    return create(with: key, now: now)
  }

  /// APNs reported a token as expired. It is replaced, unless that was done within the last 20 minutes: then the clock is wrong, and
  /// no token helps.
  mutating func expired(_ authorization: String, now: Date) {
    guard let key, current?.authorization == authorization, blockedUntil == nil else { return }
    if let renewedAt, abs(now.timeIntervalSince(renewedAt)) < Self.leastInterval { return }
    renewedAt = now
    _ = create(with: key, now: now)
    previous = nil
  }

  /// APNs reported too many tokens before this one. The previous one is used again while it is less than an hour old.
  /// None is created for 20 minutes.
  mutating func overused(_ authorization: String, now: Date) {
    guard current?.authorization == authorization else { return }
    blockedUntil = now.addingTimeInterval(Self.leastInterval)
    current = previous
    previous = nil
  }

  private mutating func create(with key: P256.Signing.PrivateKey, now: Date) -> AvailableToken {
    guard let token = try? ProviderToken(credentials, key: key, now: now) else { return .keyUnusable }
    previous = current
    current = token
    return .token(token)
  }
}

/// The provider tokens of all keys; all connections of a key share one.
final class ProviderTokens: Sendable {
  private let caches = Mutex<[APNsCredentials: ProviderTokenCache]>([:])
  let now: @Sendable () -> Date

  init(now: @escaping @Sendable () -> Date) { self.now = now }

  /// The key's token. It is created under the lock, so that concurrent callers get the same one.
  func availableToken(for credentials: APNsCredentials) -> ProviderTokenCache.AvailableToken {
    withCache(credentials) { $0.availableToken(now: $1) }
  }

  /// See `ProviderTokenCache.expired`.
  func expired(_ authorization: String, of credentials: APNsCredentials) {
    withCache(credentials) { $0.expired(authorization, now: $1) }
  }

  /// See `ProviderTokenCache.overused`.
  func overused(_ authorization: String, of credentials: APNsCredentials) {
    withCache(credentials) { $0.overused(authorization, now: $1) }
  }

  /// Drops the tokens of all such keys.
  func removeAll(where isUnused: (APNsCredentials) -> Bool) {
    caches.withLock { caches in caches = caches.filter { !isUnused($0.key) } }
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
