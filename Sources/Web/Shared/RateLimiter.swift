import Locking
import Operations

/// Token buckets, one for each key. The table of them is bounded.
///
/// A bucket is kept as the moment when it will be full again (the generic cell rate algorithm). A key without an entry
/// has a full one, so full buckets are forgotten.
struct RateLimiter<Key: Hashable & Sendable>: Sendable {
  typealias Instant = ContinuousClock.Instant

  /// Time in which one token comes back.
  private let interval: Duration
  /// Time in which an empty bucket fills up.
  private let burst: Duration
  private let capacity: Int
  private var fullAt: [Key: Instant] = [:]

  /// - Parameters:
  ///   - rate: tokens a second that come back; also the size of the buckets, so that a second's worth may come at once.
  ///   - capacity: most keys that are remembered.
  init(rate: Int, capacity: Int = 65_536) {
    interval = .seconds(1) / rate
    burst = .seconds(1)
    self.capacity = capacity
  }

  /// Keys that are remembered.
  var count: Int { fullAt.count }

  /// Takes a token.
  /// - Returns: nil, or how long it takes until there is one.
  mutating func take(_ key: Key, at now: Instant) -> Duration? {
    let full = max(fullAt[key] ?? now, now) + interval
    let wait = now.duration(to: full) - burst
    guard wait <= .zero else { return wait }
    if fullAt.count >= capacity, fullAt[key] == nil { forget(at: now) }
    fullAt[key] = full
    return nil
  }

  /// Makes room: for a quarter of all keys at least, so that this is seldom done.
  private mutating func forget(at now: Instant) {
    fullAt = fullAt.filter { $0.value > now }
    let surplus = fullAt.count - capacity * 3 / 4
    if surplus > 0 { for key in Array(fullAt.keys.prefix(surplus)) { fullAt[key] = nil } }
  }
}

/// A rate that all who ask share.
final class RateLimit<Key: Hashable & Sendable>: Sendable {
  private let limiter: Mutex<RateLimiter<Key>>?

  /// - Parameter rate: tokens a second; 0 for any number.
  init(_ rate: Int) { limiter = rate > 0 ? Mutex(RateLimiter(rate: rate)) : nil }

  /// - Returns: nil, or the refusal of a request that comes too soon.
  func refusal(of key: Key) -> HTTPErrorResponse? {
    guard let wait = limiter?.withLock({ $0.take(key, at: .now) }) else { return nil }
    return .tooManyRequests(after: wait)
  }
}
