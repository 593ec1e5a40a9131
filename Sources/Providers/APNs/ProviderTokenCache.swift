import Retrying
import Crypto
import FoundationEssentials
import Wire

/// A customer's signing key, ready to sign.
struct TokenSigner: Sendable {
  /// The key's name for all hubs.
  let name: String
  private let credentials: APNsCredentials
  private let key: P256.Signing.PrivateKey

  /// - Returns: `nil` if it is no P-256 key in PEM.
  init?(_ credentials: APNsCredentials) {
    guard let key = try? P256.Signing.PrivateKey(pemRepresentation: credentials.signingKey) else { return nil }
    let hash = SHA256.hash(data: key.publicKey.x963Representation).map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    self.credentials = credentials
    self.key = key
    name = "\(credentials.teamID)/\(credentials.keyID)/\(hash.joined())"
  }

  /// A JWT that authenticates the team to APNs: ES256, header `kid`, claims `iss` and `iat` (a number), and nothing else.
  ///
  /// ECDSA is randomized: each call gives another token, and APNs counts them.
  func token(issuedAt: Date) throws -> ProviderToken {
    let iat = Int64(issuedAt.timeIntervalSince1970)
    let header = try Self.encode(["alg": "ES256", "kid": credentials.keyID])
    let claims = try Self.encode(Claims(iss: credentials.teamID, iat: iat))
    let signed = header + "." + claims
    let signature = try key.signature(for: Data(signed.utf8)).rawRepresentation
    return ProviderToken(
      text: "\(signed).\(Base64URL.text(Array(signature)))", issuedAt: Date(timeIntervalSince1970: Double(iat)))
  }

  private struct Claims: Encodable {
    var iss: String
    var iat: Int64
  }

  private static func encode(_ value: some Encodable) throws -> String {
    Base64URL.text(try JSONCoding.encode(value))
  }
}

/// When a provider token is used and replaced (Apple: at most one new token in 20 minutes, and none older than 60).
enum ProviderTokenAge {
  /// From this age on it is replaced, ten minutes before APNs refuses it.
  static let renewal = Duration.seconds(50 * 60)
  /// From this age on APNs refuses it.
  static let expiry = Duration.seconds(60 * 60)
  /// Least time between two tokens.
  static let leastInterval = Duration.seconds(20 * 60)
  /// The clock that all hubs share may step back so far.
  private static let leastAge = Duration.seconds(-60)

  /// Whether a token of that age is to be used, and no other is to be made yet.
  /// - Parameter isRefused: whether APNs said that it has expired.
  static func serves(_ age: Duration, isRefused: Bool) -> Bool {
    age >= leastAge && age < (isRefused ? leastInterval : renewal)
  }
}

/// This hub's copy of the provider token that all hubs share. It fetches nothing itself, and says when somebody has to.
struct ProviderTokenCache: Sendable {
  /// A token, and when it was issued by this hub's monotonic clock. The clock of the day can be wrong, and can be set.
  struct Held: Hashable, Sendable {
    /// The header `authorization`, ready to send; never logged.
    let authorization: String
    let issued: ContinuousClock.Instant

    init(_ token: ProviderToken, issued: ContinuousClock.Instant) {
      authorization = "bearer " + token.text
      self.issued = issued
    }
  }

  /// The token to send with, if there is one.
  enum Available: Hashable, Sendable {
    case token(Held)
    /// It is being fetched.
    case pending
    /// None that APNs would accept before then.
    case blocked(until: ContinuousClock.Instant)
    /// It could not be fetched.
    case unknown
  }

  private var current: Held?
  private var previous: Held?
  private var isAsking = false
  private var failedUntil: ContinuousClock.Instant?
  /// Nothing new is used before then, because APNs said that there were too many tokens.
  private var blockedUntil: ContinuousClock.Instant?
  /// The last token that APNs reported as expired.
  private(set) var refused: String?

  /// The token to send with now, and whether somebody has to ask for one, which nobody is doing yet.
  mutating func available(now: ContinuousClock.Instant) -> (Available, mustAsk: Bool) {
    if let blockedUntil {
      if isBlocked(now: now) { return (.blocked(until: blockedUntil), mustAsk: false) }
      if now < blockedUntil, let current { return (.token(current), mustAsk: false) }
      self.blockedUntil = nil
      current = nil
    }
    if let current, now - current.issued < ProviderTokenAge.renewal { return (.token(current), mustAsk: false) }
    if isAsking { return (.pending, mustAsk: false) }
    if let failedUntil, now < failedUntil { return (.unknown, mustAsk: false) }
    isAsking = true
    return (.pending, mustAsk: true)
  }

  /// Whether nothing can be sent because APNs said that there were too many tokens.
  func isBlocked(now: ContinuousClock.Instant) -> Bool {
    guard let blockedUntil, now < blockedUntil else { return false }
    return current.map { now - $0.issued >= ProviderTokenAge.expiry } ?? true
  }

  /// The token that all hubs share.
  mutating func received(_ token: Held) {
    isAsking = false
    failedUntil = nil
    guard token.authorization != current?.authorization else { return }
    previous = current?.authorization == refused ? nil : current
    current = token
  }

  /// The token could not be fetched.
  mutating func failed(now: ContinuousClock.Instant) {
    guard isAsking else { return }
    isAsking = false
    failedUntil = now + RetryPolicy.providerTokens
  }

  /// APNs reported a token as expired. It is asked for anew, unless it is so young that no hub may make another: then the shared
  /// clock is wrong, and no token helps.
  mutating func expired(_ authorization: String, now: ContinuousClock.Instant) {
    guard let current, current.authorization == authorization, blockedUntil == nil,
      now - current.issued >= ProviderTokenAge.leastInterval
    else { return }
    refused = authorization
    previous = nil
    self.current = nil
  }

  /// APNs reported too many tokens before this one. The one before it is used again while APNs accepts it. In 20 minutes the shared
  /// one may be used again.
  mutating func overused(_ authorization: String, now: ContinuousClock.Instant) {
    guard current?.authorization == authorization else { return }
    blockedUntil = now + ProviderTokenAge.leastInterval
    current = previous
    previous = nil
  }
}
