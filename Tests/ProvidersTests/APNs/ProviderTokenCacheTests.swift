import Crypto
import FoundationEssentials
import JWTKit
import Support
import Testing

@testable import Providers

/// When provider tokens are created, by a clock that the test sets.
@Suite struct TokenShelfTests {
  private let start = Date(timeIntervalSince1970: 1_800_000_000)

  private func token(_ availableToken: ProviderTokenCache.AvailableToken) throws -> ProviderToken {
    guard case .token(let token) = availableToken else { throw Failure.noToken }
    return token
  }

  private enum Failure: Error { case noToken }

  private struct Claims: JWTPayload {
    var iss: String
    var iat: Int
    func verify(using algorithm: some JWTAlgorithm) throws {}
  }

  @Test func `A token is ES256, has key, team and time, and a valid signature`() async throws {
    let credentials = APNsCredentials.sample
    var shelf = ProviderTokenCache(credentials)
    let authorization = try token(shelf.availableToken(now: start)).authorization
    let jwt = try #require(authorization.split(separator: "bearer ").last)
    // Read and verified by another implementation.
    let keys = JWTKeyCollection()
    await keys.add(
      ecdsa: try ES256PublicKey(
        pem: P256.Signing.PrivateKey(pemRepresentation: credentials.signingKey).publicKey.pemRepresentation))
    let claims = try await keys.verify(String(jwt), as: Claims.self)
    #expect(claims.iss == credentials.teamID)
    #expect(claims.iat == 1_800_000_000)
    let header = try #require(jwt.split(separator: ".").first)
    let padded = String(header) + String(repeating: "=", count: (4 - header.utf8.count % 4) % 4)
    let json = try #require(Data(base64Encoded: padded))
    #expect(String(decoding: json, as: UTF8.self) == #"{"alg":"ES256","kid":"\#(credentials.keyID)"}"#)
  }

  @Test func `A token is used for fifty minutes`() throws {
    var shelf = ProviderTokenCache(.sample)
    let first = try token(shelf.availableToken(now: start))
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(2999))) == first)
    let second = try token(shelf.availableToken(now: start.addingTimeInterval(3000)))
    #expect(second != first)
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(5999))) == second)
  }

  @Test func `A clock set back by more than a minute creates a new token`() throws {
    var shelf = ProviderTokenCache(.sample)
    let first = try token(shelf.availableToken(now: start))
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(-60))) == first)
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(-61))) != first)
  }

  @Test func `An expired token is replaced once, however many responses report it`() throws {
    var shelf = ProviderTokenCache(.sample)
    let first = try token(shelf.availableToken(now: start))
    shelf.expired(first.authorization, now: start)
    let second = try token(shelf.availableToken(now: start))
    #expect(second != first)
    shelf.expired(first.authorization, now: start)
    #expect(try token(shelf.availableToken(now: start)) == second)
    // The new one is expired too: it is the clock.
    shelf.expired(second.authorization, now: start.addingTimeInterval(1199))
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(1199))) == second)
    shelf.expired(second.authorization, now: start.addingTimeInterval(1200))
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(1200))) != second)
  }

  @Test func `After too many tokens the previous one is used while it is valid`() throws {
    var shelf = ProviderTokenCache(.sample)
    let first = try token(shelf.availableToken(now: start))
    let later = start.addingTimeInterval(3000)
    let second = try token(shelf.availableToken(now: later))
    shelf.overused(second.authorization, now: later)
    #expect(try token(shelf.availableToken(now: later)) == first)
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(3599))) == first)
    // It is an hour old now, and none is minted before twenty minutes are over.
    #expect(shelf.availableToken(now: start.addingTimeInterval(3600)) == .none(until: later.addingTimeInterval(1200)))
    #expect(shelf.availableToken(now: later.addingTimeInterval(1199)) == .none(until: later.addingTimeInterval(1200)))
    #expect(try token(shelf.availableToken(now: later.addingTimeInterval(1200))) != second)
  }

  @Test func `Without a previous token there is none for twenty minutes`() throws {
    var shelf = ProviderTokenCache(.sample)
    let only = try token(shelf.availableToken(now: start))
    shelf.overused(only.authorization, now: start)
    #expect(shelf.availableToken(now: start) == .none(until: start.addingTimeInterval(1200)))
    // Neither does an expired one give rise to another.
    shelf.expired(only.authorization, now: start)
    #expect(shelf.availableToken(now: start) == .none(until: start.addingTimeInterval(1200)))
    #expect(try token(shelf.availableToken(now: start.addingTimeInterval(1200))) != only)
  }

  @Test(arguments: ["", "not a key", "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"])
  func `What is no signing key mints nothing`(_ pem: String) {
    var shelf = ProviderTokenCache(APNsCredentials(teamID: "T", keyID: "K", signingKey: pem))
    #expect(shelf.availableToken(now: start) == .keyUnusable)
  }

  @Test func `Concurrent callers get the same token`() async throws {
    let tokens = ProviderTokens(now: { [start] in start })
    let supplied = await withTaskGroup(of: ProviderTokenCache.AvailableToken.self) { group in
      for _ in 0..<100 { group.addTask { tokens.availableToken(for: .sample) } }
      return await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(supplied.count == 1)
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
