import Crypto
import FoundationEssentials
import JWTKit
import Support
import Testing
import Wire

@testable import Providers

/// When provider tokens are used and asked for, by a clock that the test sets.
@Suite struct ProviderTokenCacheTests {
  private let start = ContinuousClock.now
  private let noon = Date(timeIntervalSince1970: 1_800_000_000)

  private func held(_ text: String, issuedAfter seconds: Int) -> ProviderTokenCache.Held {
    ProviderTokenCache.Held(ProviderToken(text: text, issuedAt: noon), issued: start + .seconds(seconds))
  }

  /// A cache with one token, issued at the start.
  private func cache(_ token: ProviderTokenCache.Held) -> ProviderTokenCache {
    var cache = ProviderTokenCache()
    #expect(cache.available(now: start) == (.pending, true))
    cache.received(token)
    return cache
  }

  private struct Claims: JWTPayload {
    var iss: String
    var iat: Int
    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  @Test func `A token is ES256, has key, team and time, and a valid signature`() async throws {
    let credentials = APNsCredentials.sample
    let token = try #require(TokenSigner(credentials)).token(issuedAt: noon.addingTimeInterval(0.9))
    #expect(token.issuedAt == noon)
    // Read and verified by another implementation.
    let keys = JWTKeyCollection()
    await keys.add(
      ecdsa: try ES256PublicKey(
        pem: P256.Signing.PrivateKey(pemRepresentation: credentials.signingKey).publicKey.pemRepresentation))
    let claims = try await keys.verify(token.text, as: Claims.self)
    #expect(claims.iss == credentials.teamID)
    #expect(claims.iat == 1_800_000_000)
    let header = try #require(token.text.split(separator: ".").first)
    let padded = String(header) + String(repeating: "=", count: (4 - header.utf8.count % 4) % 4)
    let json = try #require(Data(base64Encoded: padded))
    #expect(String(decoding: json, as: UTF8.self) == #"{"alg":"ES256","kid":"\#(credentials.keyID)"}"#)
    #expect(!"\(token)".contains(token.text))
  }

  @Test func `A key's name tells keys of the same ids apart, and not how the file is written`() throws {
    let key = APNsCredentials.sample
    let rewritten = APNsCredentials(
      teamID: key.teamID, keyID: key.keyID, signingKey: "\n" + key.signingKey + "\n")
    let name = try #require(TokenSigner(key)).name
    let (same, other) = (try #require(TokenSigner(rewritten)).name, try #require(TokenSigner(.fresh())).name)
    #expect(name == same && name != other)
    #expect(name.hasPrefix("TEAM123456/KEY1234567/"))
  }

  @Test(arguments: ["", "not a key", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"])
  func `What is no signing key signs nothing`(_ pem: String) {
    #expect(TokenSigner(APNsCredentials(teamID: "T", keyID: "K", signingKey: pem)) == nil)
  }

  @Test func `A token is used for fifty minutes, then one caller asks for another`() {
    let first = held("a", issuedAfter: 0)
    var cache = cache(first)
    #expect(cache.available(now: start + .seconds(2999)) == (.token(first), false))
    #expect(cache.available(now: start + .seconds(3000)) == (.pending, true))
    #expect(cache.available(now: start + .seconds(3000)) == (.pending, false))
    let second = held("b", issuedAfter: 3000)
    cache.received(second)
    #expect(cache.available(now: start + .seconds(5999)) == (.token(second), false))
  }

  @Test func `When nobody can say which token is shared, none older than fifty minutes is used`() {
    var cache = cache(held("a", issuedAfter: 0))
    #expect(cache.available(now: start + .seconds(3000)) == (.pending, true))
    cache.failed(now: start + .seconds(3001))
    #expect(cache.available(now: start + .seconds(3002)) == (.unknown, false))
    #expect(cache.available(now: start + .seconds(3003)) == (.pending, true))
  }

  @Test func `An expired token is asked for anew once it is twenty minutes old`() {
    let first = held("a", issuedAfter: 0)
    var cache = cache(first)
    cache.expired(first.authorization, now: start + .seconds(1199))
    #expect(cache.available(now: start + .seconds(1199)) == (.token(first), false))
    cache.expired(first.authorization, now: start + .seconds(1200))
    #expect(cache.refused == first.authorization)
    #expect(cache.available(now: start + .seconds(1200)) == (.pending, true))
    let second = held("b", issuedAfter: 1200)
    cache.received(second)
    // A late response to the first one says nothing about the second.
    cache.expired(first.authorization, now: start + .seconds(2400))
    #expect(cache.available(now: start + .seconds(2400)) == (.token(second), false))
  }

  @Test func `After too many tokens the previous one is used while APNs accepts it`() {
    let (first, second) = (held("a", issuedAfter: 0), held("b", issuedAfter: 3000))
    var cache = cache(first)
    #expect(cache.available(now: start + .seconds(3000)) == (.pending, true))
    cache.received(second)
    cache.overused(second.authorization, now: start + .seconds(3000))
    #expect(cache.available(now: start + .seconds(3599)) == (.token(first), false))
    let end = start + .seconds(3000 + 1200)
    #expect(cache.available(now: start + .seconds(3600)) == (.blocked(until: end), false))
    #expect(cache.available(now: start + .seconds(4199)) == (.blocked(until: end), false))
    // The shared one again: another would be one too many once more.
    #expect(cache.available(now: end) == (.pending, true))
    cache.received(second)
    #expect(cache.available(now: end) == (.token(second), false))
  }

  @Test func `Without a previous token there is none for twenty minutes`() {
    let only = held("a", issuedAfter: 0)
    var cache = cache(only)
    cache.overused(only.authorization, now: start)
    let end = start + .seconds(1200)
    #expect(cache.isBlocked(now: start))
    #expect(cache.available(now: start) == (.blocked(until: end), false))
    // Neither does an expired one give rise to another.
    cache.expired(only.authorization, now: start)
    #expect(cache.available(now: start) == (.blocked(until: end), false))
    #expect(cache.available(now: end) == (.pending, true))
  }

  @Test func `Credentials never print their key`() {
    let credentials = APNsCredentials.sample
    var dumped = ""
    dump(credentials, to: &dumped)
    for text in ["\(credentials)", String(reflecting: credentials), dumped] {
      #expect(!text.contains("PRIVATE KEY"))
      #expect(text.contains(credentials.keyID))
    }
  }
}
