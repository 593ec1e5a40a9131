import Crypto
import FoundationEssentials

/// One key's provider tokens: when to mint and when not to (Apple: not more often than every 20 minutes, not more seldom
/// than every 60).
struct ProviderTokenCache: Sendable {
  /// What there is to send with.
  enum AvailableToken: Hashable, Sendable {
    case token(ProviderToken)
    /// None that APNs would take before then.
    case none(until: Date)
    /// The signing key is no P-256 key in PEM.
    case keyUnusable
  }

  /// Ten minutes before APNs would refuse it.
  static let lifetime: TimeInterval = 50 * 60
  /// Age at which APNs refuses it.
  static let hardLifetime: TimeInterval = 60 * 60
  static let leastInterval: TimeInterval = 20 * 60

  private let credentials: APNsCredentials
  private let key: P256.Signing.PrivateKey?
  private var current: ProviderToken?
  private var former: ProviderToken?
  /// No minting before then, because APNs said that there were too many.
  private var frozenUntil: Date?
  /// When a token was last minted because APNs found the one before expired.
  private var renewedAt: Date?

  init(_ credentials: APNsCredentials) {
    self.credentials = credentials
    key = try? P256.Signing.PrivateKey(pemRepresentation: credentials.signingKey)
  }

  /// The token to send with now; minted when there is none, at the age of 50 minutes, and when the clock was set back
  /// behind its birth.
  mutating func availableToken(now: Date) -> AvailableToken {
    guard let key else { return .keyUnusable }
    if let frozenUntil, now < frozenUntil {
      guard let current, now.timeIntervalSince(current.mintedAt) < Self.hardLifetime else {
        return .none(until: frozenUntil)
      }
      return .token(current)
    }
    frozenUntil = nil
    if let current, (-60..<Self.lifetime).contains(now.timeIntervalSince(current.mintedAt)) { return .token(current) }
    return mint(with: key, now: now)
  }

  /// APNs says that `token` is expired. Puts a new one in its place, unless that was done within the last 20 minutes: then
  /// it is the clock that is wrong, and no token helps.
  mutating func expired(_ token: ProviderToken, now: Date) {
    guard let key, current == token, frozenUntil == nil else { return }
    if let renewedAt, abs(now.timeIntervalSince(renewedAt)) < Self.leastInterval { return }
    renewedAt = now
    _ = mint(with: key, now: now)
    former = nil
  }

  /// APNs says that there were too many tokens before `token`: goes back to the former one while it is less than an hour
  /// old, and mints none for 20 minutes.
  mutating func overused(_ token: ProviderToken, now: Date) {
    guard current == token else { return }
    frozenUntil = now.addingTimeInterval(Self.leastInterval)
    current = former
    former = nil
  }

  private mutating func mint(with key: P256.Signing.PrivateKey, now: Date) -> AvailableToken {
    guard let token = try? ProviderToken(credentials, key: key, now: now) else { return .keyUnusable }
    former = current
    current = token
    return .token(token)
  }
}
