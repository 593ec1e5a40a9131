import FoundationEssentials
import Providers
import Simulator
import Support
import Testing

/// Invalid provider tokens.
@Suite struct ProviderTokenTests {
  @Test func `A token signed with another key is refused, even after a valid one`() async throws {
    try await withRequests { _, requests in
      let forged = TestToken(key: APNsCredentials.fresh().signingKey)
      try await requests.expect(TestRequest(forged.authorization), 403, "InvalidProviderToken")
      try await requests.expect(TestRequest(), 200)
      try await requests.expect(TestRequest(forged.authorization), 403, "InvalidProviderToken")
    }
  }

  @Test func `Claims with another token's signature are refused`() async throws {
    try await withRequests { _, requests in
      let honest = TestToken().text.split(separator: ".")
      let other = TestToken(team: "OTHERTEAM0").text.split(separator: ".")
      let mixed = "bearer \(honest[0]).\(other[1]).\(honest[2])"
      try await requests.expect(TestRequest(mixed), 403, "InvalidProviderToken")
    }
  }

  @Test(arguments: [
    #"{"alg":"none","kid":"KEY1234567"}"#, #"{"alg":"HS256","kid":"KEY1234567"}"#, #"{"alg":"ES256"}"#,
    #"{"alg":"ES256","kid":"UNKNOWN000"}"#, "{}", "",
  ])
  func `A header that names no known key and ES256 is refused`(_ header: String) async throws {
    try await withRequests { _, requests in
      try await requests.expect(TestRequest(TestToken(header: header).authorization), 403, "InvalidProviderToken")
    }
  }

  @Test(arguments: [
    #"{"iss":"TEAM123456"}"#, #"{"iat":1}"#, #"{"iss":"TEAM123456","iat":"soon"}"#, #"{"iss":7,"iat":1}"#, "[]",
  ])
  func `Claims without team or time are refused`(_ claims: String) async throws {
    try await withRequests { _, requests in
      try await requests.expect(TestRequest(TestToken(claims: claims).authorization), 403, "InvalidProviderToken")
    }
  }

  @Test(arguments: ["", "bearer", "bearer a.b", "bearer a.b.c", "bearer ..", "basic abc", "bearer a.b.c.d"])
  func `What is no token is refused`(_ authorization: String) async throws {
    try await withRequests { _, requests in
      try await requests.expect(TestRequest(authorization), 403, "InvalidProviderToken")
    }
  }

  @Test func `A token from the future is invalid, and one older than an hour is expired`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withRequests(now: { now }) { _, requests in
      func request(age: TimeInterval) -> TestRequest {
        TestRequest(TestToken(issuedAt: now.addingTimeInterval(-age)).authorization)
      }
      try await requests.expect(request(age: 3601), 403, "ExpiredProviderToken")
      try await requests.expect(request(age: -301), 403, "InvalidProviderToken")
      try await requests.expect(request(age: 3600), 200)
    }
  }

  @Test func `A connection accepts one team only`() async throws {
    try await withRequests { simulator, requests in
      let other = APNsCredentials.fresh(teamID: "OTHERTEAM0")
      try simulator.apns.trust(teamID: other.teamID, keyID: other.keyID, signingKey: other.signingKey)
      let theirs = TestToken(team: other.teamID, key: other.signingKey)
      try await requests.expect(TestRequest(), 200)
      try await requests.expect(TestRequest(theirs.authorization), 403, "InvalidProviderToken")
      // Another connection is theirs.
      try await requests.expect(TestRequest(theirs.authorization), sandbox: true, 200)
    }
  }

  @Test func `A connection accepts one key only`() async throws {
    try await withRequests { simulator, requests in
      let second = APNsCredentials.fresh(keyID: "SECONDKEY0")
      try simulator.apns.trust(teamID: second.teamID, keyID: second.keyID, signingKey: second.signingKey)
      let token = TestToken(header: #"{"alg":"ES256","kid":"SECONDKEY0"}"#, key: second.signingKey)
      try await requests.expect(TestRequest(), 200)
      try await requests.expect(TestRequest(token.authorization), 403, "UnrelatedKeyIdInToken")
    }
  }

  @Test func `A connection accepts a new token every twenty minutes`() async throws {
    try await withRequests { _, requests in
      let start = Date(timeIntervalSinceNow: -3000)
      func request(after minutes: Double) -> TestRequest {
        TestRequest(TestToken(issuedAt: start.addingTimeInterval(minutes * 60)).authorization)
      }
      try await requests.expect(request(after: 0), 200)
      // Signing the same again gives another token.
      try await requests.expect(request(after: 0), 429, "TooManyProviderTokenUpdates")
      try await requests.expect(request(after: 19), 429, "TooManyProviderTokenUpdates")
      try await requests.expect(request(after: 20), 200)
      try await requests.expect(request(after: 50), 200)
    }
  }

  @Test func `A key can be limited to topics and environments`() async throws {
    try await withRequests { simulator, requests in
      let key = APNsCredentials.sample
      try simulator.apns.trust(
        teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey, topics: ["com.acme.app"],
        environments: [.production])
      try await requests.expect(TestRequest(), 200)
      try await requests.expect(TestRequest().with("apns-topic", "com.acme.apple"), 400, "TopicDisallowed")
      try await requests.expect(TestRequest(), sandbox: true, 403, "BadEnvironmentKeyIdInToken")
    }
  }

  @Test func `With unknown keys trusted, a known key's signature is still checked`()
    async throws
  {
    try await withRequests(configure: { $0.trustsUnknownKeys = true }) { _, requests in
      let unknown = TestToken(team: "NOBODY0000", key: APNsCredentials.fresh().signingKey)
      try await requests.expect(TestRequest(unknown.authorization), 200)
      let forged = TestToken(key: APNsCredentials.fresh().signingKey)
      try await requests.expect(TestRequest(forged.authorization), sandbox: true, 403, "InvalidProviderToken")
    }
  }
}
