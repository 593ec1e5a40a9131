import CryptoExtras
import FoundationEssentials
import NIOHTTP1
import Simulator
import Support
import Locking
import Testing
import Wire

/// Google's token endpoint, as the simulated FCM serves it.
@Suite struct FCMSignInTests {
  @Test func `A signed JWT gets an access token, and the token opens its project`() async throws {
    try await withFCM(isSignedIn: false) { simulator, google in
      let answer = try await google.askForToken(try TestAssertion(google.account).form)
      #expect(answer.status == 200)
      #expect(answer.json["token_type"] == "Bearer")
      #expect(answer.json["expires_in"] == 3599)
      #expect(answer.header("content-type") == "application/json; charset=UTF-8")
      let token = try #require(answer.json.string("access_token"))
      #expect(try await google.send(authorization: "Bearer \(token)").status == 200)
      #expect(simulator.fcm.tokenRequests.map(\.client) == ["push@acme-shop.iam.gserviceaccount.com"])
      #expect(simulator.fcm.tokenRequestCount == 1)
      #expect(simulator.fcm.requests.first?.account == google.account.clientEmail)
    }
  }

  @Test func `Another key's signature is refused, and an unknown account too`() async throws {
    try await withFCM(isSignedIn: false) { simulator, google in
      let other = try SimulatedFCM.ServiceAccount(tokenURL: simulator.googleTokenURL, hasOwnKey: true)
      let invalid = "Invalid JWT Signature."
      var forged = TestAssertion(google.account)
      forged.privateKey = other.privateKey
      try await google.expect(forged, refusedAs: "invalid_grant", invalid)
      // The right key under a wrong name.
      let misnamed = TestAssertion(google.account).with(header: #"{"alg":"RS256","kid":"0000"}"#)
      try await google.expect(misnamed, refusedAs: "invalid_grant", invalid)
      let nameless = TestAssertion(google.account).with(header: #"{"alg":"RS256"}"#)
      _ = try await google.signIn(nameless)

      let unknown = TestAssertion(google.account).with("iss", "nobody@acme-shop.iam.gserviceaccount.com")
      try await google.expect(unknown, refusedAs: "invalid_grant", "Invalid grant: account not found")
      simulator.fcm.remove(clientEmail: google.account.clientEmail)
      try await google.expect(
        TestAssertion(google.account), refusedAs: "invalid_grant", "Invalid grant: account not found")
      // A new key of the same account.
      try simulator.fcm.register(other)
      try await google.expect(TestAssertion(google.account), refusedAs: "invalid_grant", invalid)
      _ = try await google.signIn(TestAssertion(other))
    }
  }

  @Test func `A JWT must live an hour at most, and now`() async throws {
    let now = Date(timeIntervalSince1970: 1_800_000_000)
    try await withFCM(now: { now }, isSignedIn: false) { _, google in
      func assertion(issued: Int64, expires: Int64) -> TestAssertion {
        TestAssertion(google.account)
          .with("iat", .integer(1_800_000_000 + issued)).with("exp", .integer(1_800_000_000 + expires))
      }
      for (issued, expires) in [(0, 3601), (301, 3600), (-3900, -300), (0, 0), (0, -1)] as [(Int64, Int64)] {
        try await google.expect(
          assertion(issued: issued, expires: expires), refusedAs: "invalid_grant",
          "Token must be a short-lived token (60 minutes) and in a reasonable timeframe")
      }
      for (issued, expires) in [(0, 3600), (300, 3900), (-3800, -299)] as [(Int64, Int64)] {
        _ = try await google.signIn(assertion(issued: issued, expires: expires))
      }
      for claim in ["iat", "exp"] {
        try await google.expect(
          TestAssertion(google.account, issued: now).with(claim, nil), refusedAs: "invalid_grant", "short-lived")
      }
    }
  }

  @Test func `Algorithm, audience and scope are checked`() async throws {
    try await withFCM(isSignedIn: false) { _, google in
      let good = TestAssertion(google.account)
      for algorithm in ["ES256", "HS256", "none", "rs256"] {
        try await google.expect(
          good.with(header: #"{"alg":"\#(algorithm)"}"#), refusedAs: "invalid_grant", "RS256")
      }
      for audience in ["http://localhost/token", "https://localhost/", "https://fcm.googleapis.com/"] {
        try await google.expect(
          good.with("aud", .string(audience)), refusedAs: "invalid_grant", "Failed audience check")
      }
      for scope in [nil, "", "https://www.googleapis.com/auth/cloud-platform"] as [JSONValue?] {
        try await google.expect(good.with("scope", scope), refusedAs: "invalid_scope", "Invalid OAuth scope")
      }
      _ = try await google.signIn(good.with("aud", "https://oauth2.googleapis.com/token"))
      _ = try await google.signIn(
        good.with("scope", "openid https://www.googleapis.com/auth/firebase.messaging"))
    }
  }

  @Test func `The form must be complete`() async throws {
    try await withFCM(isSignedIn: false) { simulator, google in
      let form = try TestAssertion(google.account).form
      let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
      for (body, error) in [
        ("", "invalid_request"), ("assertion=x", "invalid_request"), (grant, "invalid_request"),
        ("grant_type=refresh_token&assertion=x", "unsupported_grant_type"), ("\(grant)&assertion=", "invalid_grant"),
        ("\(grant)&assertion=a.b.c", "invalid_grant"), ("\(grant)&assertion=a.b", "invalid_grant"),
      ] {
        let answer = try await google.askForToken(body)
        #expect(answer.status == 400 && answer.json["error"] == .string(error), "\(body)")
      }
      for type in [nil, "application/json"] as [String?] {
        #expect(try await google.askForToken(form, contentType: type).json["error"] == "invalid_request")
      }
      #expect(
        try await google.askForToken(form, contentType: "application/x-www-form-urlencoded; charset=utf-8").status
          == 200)
      #expect(simulator.fcm.tokenRequestCount == 10)
      #expect(simulator.fcm.count == 0)
    }
  }

  @Test func `With unknown keys trusted, any account signs in, and a known account's signature is still checked`()
    async throws
  {
    try await withFCM(isSignedIn: false, configure: { $0.trustsUnknownKeys = true }) { simulator, google in
      let stranger = try SimulatedFCM.ServiceAccount(projectID: "elsewhere", tokenURL: "https://nowhere.test/token")
      let token = try await google.signIn(TestAssertion(stranger))
      #expect(try await google.send(authorization: "Bearer \(token)").status == 200)
      var forged = TestAssertion(google.account)
      forged.privateKey = try SimulatedFCM.ServiceAccount(tokenURL: "", hasOwnKey: true).privateKey
      try await google.expect(forged, refusedAs: "invalid_grant", "Invalid JWT Signature.")
      try await google.expect(
        TestAssertion(stranger).with("exp", 0), refusedAs: "invalid_grant", "short-lived")
    }
  }

  @Test func `Rules for the token endpoint decide after the checks`() async throws {
    try await withFCM(isSignedIn: false) { simulator, google in
      let form = try TestAssertion(google.account).form
      simulator.fcm.tokenRule(.any, .refuse(.invalidSignature), times: 1)
      simulator.fcm.tokenRule(.nth(2), .refuse(.unavailable(retryAfter: "7")))
      simulator.fcm.tokenRule(
        .prefix(google.account.clientEmail),
        .after(.milliseconds(1), .refuse(.oauth("unauthorized_client", "No.", status: 401))), times: 1)
      #expect(try await google.askForToken(form).json["error"] == "invalid_grant")
      let unavailable = try await google.askForToken(form)
      #expect(unavailable.status == 503 && unavailable.retryAfter == "7")
      let unauthorized = try await google.askForToken(form)
      #expect(unauthorized.status == 401 && unauthorized.json["error"] == "unauthorized_client")
      #expect(try await google.askForToken(form).status == 200)
      // Refused by a check, so no rule counts it.
      #expect(try await google.askForToken("").status == 400)
      let replies = await simulator.fcm.receivedTokenRequests(count: 5).map(\.reply)
      #expect(replies.first == .refuse(.invalidSignature) && replies[3] == .accept)
    }
  }

  @Test func `An account sends for its own project only, with a token that is valid`() async throws {
    let clock = Mutex(Date(timeIntervalSince1970: 1_800_000_000))
    try await withFCM(now: { clock.withLock { $0 } }) { simulator, google in
      #expect(try await google.send().status == 200)
      let foreign = try await google.send(to: "/v1/projects/other-shop/messages:send")
      #expect(foreign.status == 403 && foreign.name == "PERMISSION_DENIED")
      #expect(foreign.errorCode == nil)

      for authorization in ["Bearer nonsense", "Basic abc", "Bearer", "key=abc", google.accessToken ?? ""] {
        let answer = try await google.send(authorization: authorization)
        #expect(answer.status == 401 && answer.name == "UNAUTHENTICATED" && answer.errorCode == nil)
      }
      var nobody = google
      nobody.accessToken = nil
      let missing = try await nobody.send()
      #expect(missing.status == 401)
      #expect(missing.detail("google.rpc.ErrorInfo")?["reason"] == "CREDENTIALS_MISSING")

      clock.withLock { $0 += 3598 }
      #expect(try await google.send().status == 200)
      clock.withLock { $0 += 1 }
      let expired = try await google.send()
      #expect(expired.status == 401)
      #expect(expired.detail("google.rpc.ErrorInfo")?["reason"] == "ACCESS_TOKEN_EXPIRED")
      let fresh = try await google.signIn(TestAssertion(google.account, issued: clock.withLock { $0 }))
      #expect(try await google.send(authorization: "bearer \(fresh)").status == 200)
      simulator.fcm.revokeAccessTokens()
      #expect(try await google.send(authorization: "Bearer \(fresh)").status == 401)
    }
  }

  @Test func `A key file is complete, and what is none is refused`() async throws {
    try await withSimulator { simulator in
      let text = try simulator.issueServiceAccount(projectID: "acme-shop")
      let file = try JSONValue(json: Array(text.utf8))
      #expect(file["type"] == "service_account")
      #expect(file["project_id"] == "acme-shop")
      #expect(file["token_uri"] == .string(simulator.googleTokenURL))
      #expect(file["client_email"] == "push@acme-shop.iam.gserviceaccount.com")
      let pem = try #require(file.string("private_key"))
      #expect(pem.hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
      #expect(try _RSA.Signing.PrivateKey(pemRepresentation: pem).keySizeInBits == 2048)
      for name in ["private_key_id", "client_id", "auth_uri"] { #expect(file[name] != nil) }
      for bad in [
        "", "{}", text.replacing("service_account", with: "authorized_user"), text.replacing("MII", with: ""),
      ] {
        #expect(throws: (any Error).self) { try simulator.fcm.register(keyFile: bad) }
      }
    }
  }
}
