import Retrying
import FoundationEssentials
import Wire

/// An account's access token, and when to fetch a new one. It fetches nothing: it says when somebody has to.
struct AccessTokenCache: Sendable {
  struct AccessToken: Hashable, Sendable {
    /// The header `authorization`, ready to send; never logged.
    var authorization: String
    /// In seconds.
    var lifetime: TimeInterval
  }

  enum Available: Hashable, Sendable {
    case authorization(String)
    /// One is being fetched.
    case pending
    /// It could not be fetched; this is the verdict on what was to be sent.
    case failed(Verdict)
  }

  /// How long before its end a token is replaced, while it still serves; in seconds.
  static let renewal: TimeInterval = 5 * 60

  private var current: (authorization: String, receivedAt: Date, renewAt: Date, end: Date)?
  private var isFetching = false
  private var failure: (verdict: Verdict, end: Date)?
  /// When a token was last dropped because the push service refused it.
  private var refusedAt: Date?

  /// What to send with now, and whether a token has to be fetched, which nobody is doing yet.
  mutating func available(now: Date) -> (Available, mustFetch: Bool) {
    if let failure, now >= failure.end { self.failure = nil }
    // A clock that was set back would keep a token for too long.
    if let current, now >= current.end || now.timeIntervalSince(current.receivedAt) < -60 { self.current = nil }
    if let current {
      return (.authorization(current.authorization), mustFetch: now >= current.renewAt && beginFetching())
    }
    if isFetching { return (.pending, mustFetch: false) }
    if let failure {
      return (.failed(failure.verdict.postponed(by: failure.end.timeIntervalSince(now))), mustFetch: false)
    }
    return (.pending, mustFetch: beginFetching())
  }

  private mutating func beginFetching() -> Bool {
    guard !isFetching, failure == nil else { return false }
    isFetching = true
    return true
  }

  /// A token was fetched.
  mutating func received(_ token: AccessToken, now: Date) {
    isFetching = false
    failure = nil
    let end = now.addingTimeInterval(token.lifetime)
    let renewAt = end.addingTimeInterval(-min(Self.renewal, token.lifetime / 2))
    current = (token.authorization, now, renewAt, end)
  }

  /// No token was fetched: the verdict on the request for one. What is waiting for the token has not left.
  mutating func failed(_ verdict: Verdict, now: Date) {
    guard isFetching else { return }
    isFetching = false
    var delay = RetryPolicy.accessTokens
    if case .retry(let after?, _, _) = verdict { delay = max(delay, .seconds(after.components.seconds)) }
    failure = (verdict.ofWaiting, now.addingTimeInterval(delay / .seconds(1)))
  }

  /// The account was refused, and may be corrected by now: the next token is fetched at once. A service that is away is not asked sooner.
  mutating func forgetRefusal() {
    if case .credentialsRefused = failure?.verdict { failure = nil }
  }

  /// The push service refused a token, so that it is replaced; unless the last one was refused too, within a minute: then no token helps.
  mutating func refused(_ authorization: String, now: Date) {
    guard current?.authorization == authorization else { return }
    if let refusedAt, abs(now.timeIntervalSince(refusedAt)) < RetryPolicy.renewals / .seconds(1) { return }
    refusedAt = now
    current = nil
  }
}

extension Verdict {
  /// The verdict on a push that waits for the token, from that on the request for the token.
  fileprivate var ofWaiting: Verdict {
    switch self {
    case .uncertain(let reason, _): .unsent(reason: reason)
    case .accepted: .retry(after: nil, reason: .hub(.noAccessToken))
    case .retry, .tokenInvalid, .payloadRefused, .credentialsRefused, .waitsForCorrection, .unsent: self
    }
  }

  /// The verdict, where a retry waits for so many seconds.
  fileprivate func postponed(by seconds: TimeInterval) -> Verdict {
    guard case .retry(_, let reason, let appliesToService) = self else { return self }
    return .retry(
      after: .seconds(Int64(seconds.rounded(.up))), reason: reason, appliesToService: appliesToService)
  }
}
