import FoundationEssentials
import Testing

@testable import Providers

/// When access tokens are fetched, by a clock that the test sets.
@Suite struct AccessTokenCacheTests {
  private let start = Date(timeIntervalSince1970: 1_800_000_000)

  private func token(_ name: String, lifetime: TimeInterval = 3600) -> AccessTokenCache.AccessToken {
    .init(authorization: "Bearer \(name)", lifetime: lifetime)
  }

  private func after(_ seconds: TimeInterval) -> Date { start.addingTimeInterval(seconds) }

  /// A cache with the token `first`.
  private func filled(lifetime: TimeInterval = 3600) -> AccessTokenCache {
    var cache = AccessTokenCache()
    _ = cache.available(now: start)
    cache.received(token("first", lifetime: lifetime), now: start)
    return cache
  }

  @Test func `The first who asks fetches, and all wait`() {
    var cache = AccessTokenCache()
    #expect(cache.available(now: start) == (.pending, true))
    #expect(cache.available(now: start) == (.pending, false))
    cache.received(token("first"), now: start)
    #expect(cache.available(now: start) == (.authorization("Bearer first"), false))
  }

  @Test func `A token is replaced five minutes before its end, and serves meanwhile`() {
    var cache = filled()
    #expect(cache.available(now: after(3299)) == (.authorization("Bearer first"), false))
    #expect(cache.available(now: after(3300)) == (.authorization("Bearer first"), true))
    #expect(cache.available(now: after(3301)) == (.authorization("Bearer first"), false))
    cache.received(token("second"), now: after(3302))
    #expect(cache.available(now: after(3600)) == (.authorization("Bearer second"), false))
  }

  @Test func `At its end a token serves no more`() {
    var cache = filled()
    #expect(cache.available(now: after(3600)) == (.pending, true))
  }

  @Test func `A short-lived token is replaced after half of its life`() {
    var cache = filled(lifetime: 60)
    #expect(cache.available(now: after(29)) == (.authorization("Bearer first"), false))
    #expect(cache.available(now: after(30)) == (.authorization("Bearer first"), true))
  }

  @Test func `A clock set back by more than a minute fetches another token`() {
    var cache = filled()
    #expect(cache.available(now: after(-60)) == (.authorization("Bearer first"), false))
    #expect(cache.available(now: after(-61)) == (.pending, true))
  }

  @Test func `A failure is everybody's verdict for ten seconds`() {
    var cache = AccessTokenCache()
    _ = cache.available(now: start)
    cache.failed(.credentialsRefused(reason: "invalid_grant"), now: start)
    #expect(cache.available(now: after(9)) == (.failed(.credentialsRefused(reason: "invalid_grant")), false))
    #expect(cache.available(now: after(10)) == (.pending, true))
  }

  @Test func `A failure lasts as long as the service asks for`() {
    var cache = AccessTokenCache()
    _ = cache.available(now: start)
    cache.failed(.retry(after: .seconds(90), reason: "HTTP503"), now: start)
    #expect(cache.available(now: start) == (.failed(.retry(after: .seconds(90), reason: "HTTP503")), false))
    #expect(cache.available(now: after(60)) == (.failed(.retry(after: .seconds(30), reason: "HTTP503")), false))
    #expect(cache.available(now: after(90)) == (.pending, true))
  }

  @Test func `What waits for a token that was asked for without an answer has not left`() {
    var cache = AccessTokenCache()
    _ = cache.available(now: start)
    cache.failed(.uncertain(reason: "RequestTimeout"), now: start)
    #expect(cache.available(now: start) == (.failed(.unsent(reason: "RequestTimeout")), false))
  }

  @Test func `A failed renewal leaves the token, and is tried again`() {
    var cache = filled()
    #expect(cache.available(now: after(3300)) == (.authorization("Bearer first"), true))
    cache.failed(.unsent(reason: "ConnectionRefused"), now: after(3300))
    #expect(cache.available(now: after(3309)) == (.authorization("Bearer first"), false))
    #expect(cache.available(now: after(3310)) == (.authorization("Bearer first"), true))
  }

  @Test func `A refused token is replaced once, however many responses report it`() {
    var cache = filled()
    cache.refused("Bearer first", now: after(10))
    #expect(cache.available(now: after(10)) == (.pending, true))
    cache.received(token("second"), now: after(11))
    cache.refused("Bearer first", now: after(12))
    #expect(cache.available(now: after(12)) == (.authorization("Bearer second"), false))
    // The new one is refused too: no token helps.
    cache.refused("Bearer second", now: after(69))
    #expect(cache.available(now: after(69)) == (.authorization("Bearer second"), false))
    cache.refused("Bearer second", now: after(70))
    #expect(cache.available(now: after(70)) == (.pending, true))
  }
}
