import FoundationEssentials
import Simulator
import Support
import Testing

@testable import Providers

/// The table of Apple's "Handling notification responses", written a second time.
@Suite struct VerdictTests {
  private enum Expected {
    case payload, credentials
    case token(InvalidTokenCause), retry(Int?)

    func verdict(_ reason: String, since: Date? = nil) -> Verdict {
      switch self {
      case .payload: .payloadRefused(reason: reason)
      case .token(let cause): .tokenInvalid(cause, since: since, reason: reason)
      case .credentials: .credentialsRefused(reason: reason)
      case .retry(let seconds): .retry(after: seconds.map { .seconds($0) }, reason: reason)
      }
    }
  }

  private static let table: [(status: Int, reason: String, verdict: Expected, recovery: Recovery)] = [
    (400, "BadCollapseId", .payload, .none),
    (400, "BadExpirationDate", .payload, .none),
    (400, "BadMessageId", .payload, .none),
    (400, "BadPriority", .payload, .none),
    (400, "InvalidPushType", .payload, .none),
    (400, "PayloadEmpty", .payload, .none),
    (400, "DuplicateHeaders", .payload, .none),
    (400, "BadDeviceToken", .token(.wrongEnvironment), .none),
    (400, "DeviceTokenNotForTopic", .token(.wrongApp), .none),
    (400, "MissingDeviceToken", .token(.unregistered), .none),
    (400, "BadTopic", .credentials, .none),
    (400, "MissingTopic", .credentials, .none),
    (400, "TopicDisallowed", .credentials, .newConnection),
    (400, "IdleTimeout", .retry(1), .reopen),
    (403, "BadCertificate", .credentials, .none),
    (403, "BadCertificateEnvironment", .credentials, .none),
    (403, "ExpiredProviderToken", .credentials, .newToken),
    (403, "InvalidProviderToken", .credentials, .none),
    (403, "MissingProviderToken", .credentials, .none),
    (403, "BadEnvironmentKeyIdInToken", .credentials, .none),
    (403, "BadEnvironmentKeyInToken", .credentials, .none),
    (403, "UnrelatedKeyIdInToken", .credentials, .newConnection),
    (403, "Forbidden", .credentials, .newConnection),
    (404, "BadPath", .payload, .none),
    (405, "MethodNotAllowed", .payload, .none),
    (410, "Unregistered", .token(.unregistered), .none),
    (410, "ExpiredToken", .token(.unregistered), .none),
    (413, "PayloadTooLarge", .payload, .none),
    (429, "TooManyRequests", .retry(60), .none),
    (429, "TooManyProviderTokenUpdates", .retry(1200), .previousToken),
    (500, "InternalServerError", .retry(900), .none),
    (503, "ServiceUnavailable", .retry(900), .none),
    (503, "Shutdown", .retry(1), .reopen),
  ]

  @Test func `The table has every reason`() {
    #expect(Set(Self.table.map(\.reason)) == Set(APNsReason.allCases.map(\.rawValue)))
  }

  @Test(arguments: table.indices)
  func `A reason means what the table says`(_ row: Int) {
    let (status, reason, expected, recovery) = Self.table[row]
    let classification = ResponseClassification(APNsResponse(status: status, reason: reason))
    #expect(
      classification
        == ResponseClassification(verdict: expected.verdict(reason), recovery: recovery, reason: reason))
  }

  /// A reason that Apple has not documented, with statuses of each class.
  private static let unknown: [(status: Int, reason: String, verdict: Expected, recovery: Recovery)] = [
    (302, "BrandNew", .retry(nil), .none), (400, "BrandNew", .payload, .none), (403, "BrandNew", .payload, .none),
    (410, "BrandNew", .payload, .none), (418, "BrandNew", .payload, .none), (429, "BrandNew", .payload, .none),
    (500, "BrandNew", .retry(nil), .none), (503, "BrandNew", .retry(nil), .none),
  ]

  /// Each row has a key of its own, since what APNs says of a token or a connection counts for the key's next pushes, too.
  @Test func `Every reason leads to its verdict when APNs gives it, and is tried again where that may help`()
    async throws
  {
    try await withAPNs { simulator, services in
      let apns = simulator.apns
      for (row, (status, reason, expected, recovery)) in (Self.table + Self.unknown).enumerated() {
        let key = APNsCredentials.fresh(keyID: "KEY\(1000 + row)")
        try apns.trust(teamID: key.teamID, keyID: key.keyID, signingKey: key.signingKey)
        let (sent, opened) = (apns.count, apns.connectionsOpened)
        let since = status == 410 ? Date(timeIntervalSince1970: 1_700_000_000.5) : nil
        apns.rule(.any, .refuse(status: status, reason: reason, since: since))
        let verdict = expected.verdict(reason, since: since)
        #expect(await services.verdicts([.sample()], as: key) == [verdict], "\(status) \(reason)")
        let isTriedAgain = recovery == .newToken || recovery == .newConnection
        #expect(apns.count - sent == (isTriedAgain ? 2 : 1), "\(status) \(reason)")
        apns.removeRules()
        // Without a previous token, nothing is sent for a while.
        let next: Verdict = recovery == .previousToken ? verdict : .accepted
        #expect(await services.verdicts([.sample()], as: key) == [next], "\(status) \(reason)")
        let isOnAnother = isTriedAgain || recovery == .reopen
        #expect(apns.connectionsOpened - opened == (isOnAnother ? 2 : 1), "\(status) \(reason)")
      }
    }
  }

  @Test func `Status 200 is accepted whatever the body says`() {
    #expect(ResponseClassification(APNsResponse(status: 200)) == ResponseClassification(verdict: .accepted))
  }

  @Test func `An invalid token has the date of the response, to the millisecond`() {
    let answer = APNsResponse(
      ServiceResponse(status: 410, body: Array(#"{"reason":"Unregistered","timestamp":1454948015990}"#.utf8)))
    let since = Date(timeIntervalSince1970: 1_454_948_015.990)
    #expect(
      ResponseClassification(answer).verdict == .tokenInvalid(.unregistered, since: since, reason: "Unregistered"))
  }

  @Test(arguments: [
    (APNsResponse(status: 400, reason: "BrandNew"), Verdict.payloadRefused(reason: "BrandNew")),
    (APNsResponse(status: 503, reason: "BrandNew"), .retry(after: nil, reason: "BrandNew")),
    (APNsResponse(status: 404), .payloadRefused(reason: "HTTP404")),
    (APNsResponse(status: 502, retryAfter: .seconds(7)), .retry(after: .seconds(7), reason: "HTTP502")),
    (APNsResponse(status: 302), .retry(after: nil, reason: "HTTP302")),
  ])
  func `An unknown reason is classified by its status`(_ answer: APNsResponse, _ verdict: Verdict) {
    let classification = ResponseClassification(answer)
    #expect(classification.verdict == verdict)
    // Reasons that Apple has not documented would give a metric any number of dimensions.
    #expect(classification.reason == answer.reason.map { _ in "other" })
  }

  @Test func `What 503 asks for applies to the service, and Apple's advice to the push alone`() {
    let advised = ResponseClassification(APNsResponse(status: 503, reason: "ServiceUnavailable"))
    #expect(advised.verdict == .retry(after: .seconds(900), reason: "ServiceUnavailable"))
    let asked = APNsResponse(status: 503, reason: "ServiceUnavailable", retryAfter: .seconds(1000))
    #expect(
      ResponseClassification(asked).verdict
        == .retry(after: .seconds(1000), reason: "ServiceUnavailable", appliesToService: true))
  }

  @Test(arguments: [(30, 60), (90, 90)])
  func `The longer wait wins`(_ asked: Int, _ waited: Int) {
    let answer = APNsResponse(status: 429, reason: "TooManyRequests", retryAfter: .seconds(asked))
    #expect(
      ResponseClassification(answer).verdict == .retry(after: .seconds(waited), reason: "TooManyRequests"))
  }

  @Test(arguments: [
    ("120", 120), ("0", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 37), ("Sun, 06 Nov 1994 08:48:00 GMT", 0),
    ("Tue, 29 Feb 2000 00:00:00 GMT", 167_670_660),
  ])
  func `Retry-After is seconds or a date`(_ value: String, _ seconds: Int) {
    let now = Date(timeIntervalSince1970: 784_111_740)
    #expect(RetryAfter.duration(value, now: now) == .seconds(seconds))
  }

  @Test(arguments: [
    "", "-1", "soon", "1.5", "Sun, 06 Nov 1994 08:49:37", "Sun, 99 Nov 1994 08:49:37 GMT",
    "Thu, 31 Nov 1994 08:49:37 GMT", "Wed, 29 Feb 1995 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT",
  ])
  func `What is neither is no wait`(_ value: String) {
    #expect(RetryAfter.duration(value, now: Date()) == nil)
  }
}
