import FoundationEssentials
import Simulator
import Support
import Testing
import Wire

@testable import Providers

/// The table of FCM's `ErrorCode`, and of what comes without a code, written a second time.
@Suite struct FCMVerdictTests {
  private static let unregistered = Verdict.tokenInvalid(.unregistered, since: nil, reason: "UNREGISTERED")
  private static let badToken = Verdict.tokenInvalid(.unregistered, since: nil, reason: "INVALID_ARGUMENT")

  private static let table: [(response: FCMResponse, verdict: Verdict, recovery: Recovery)] = [
    (FCMResponse(status: 200), .accepted, .none),
    (
      FCMResponse(
        status: 400, errorCode: "INVALID_ARGUMENT",
        message: "The registration token is not a valid FCM registration token"), badToken, .none
    ),
    (FCMResponse(status: 400, errorCode: "INVALID_ARGUMENT", fields: ["message.token"]), badToken, .none),
    (FCMResponse(status: 400, rpcStatus: "INVALID_ARGUMENT", fields: ["message.token"]), badToken, .none),
    (
      FCMResponse(status: 400, errorCode: "INVALID_ARGUMENT", fields: ["message.data[0].value"]),
      .payloadRefused(reason: "INVALID_ARGUMENT"), .none
    ),
    // The text may name the token beside another field.
    (
      FCMResponse(
        status: 400, errorCode: "INVALID_ARGUMENT", message: "registration token and ttl",
        fields: ["message.android.ttl"]
      ), .payloadRefused(reason: "INVALID_ARGUMENT"), .none
    ),
    (
      FCMResponse(status: 400, rpcStatus: "INVALID_ARGUMENT", message: "Invalid JSON payload received."),
      .payloadRefused(reason: "INVALID_ARGUMENT"), .none
    ),
    (
      FCMResponse(status: 401, rpcStatus: "UNAUTHENTICATED"), .credentialsRefused(reason: "UNAUTHENTICATED"), .newToken
    ),
    (
      FCMResponse(status: 401, errorCode: "THIRD_PARTY_AUTH_ERROR", rpcStatus: "UNAUTHENTICATED"),
      .waitsForCorrection(reason: "THIRD_PARTY_AUTH_ERROR"), .none
    ),
    (FCMResponse(status: 401, errorCode: "APNS_AUTH_ERROR"), .waitsForCorrection(reason: "APNS_AUTH_ERROR"), .none),
    (
      FCMResponse(status: 403, errorCode: "SENDER_ID_MISMATCH", rpcStatus: "PERMISSION_DENIED"),
      .tokenInvalid(.wrongApp, since: nil, reason: "SENDER_ID_MISMATCH"), .none
    ),
    (
      FCMResponse(status: 403, rpcStatus: "PERMISSION_DENIED"), .credentialsRefused(reason: "PERMISSION_DENIED"), .none
    ),
    (FCMResponse(status: 404, errorCode: "UNREGISTERED", rpcStatus: "NOT_FOUND"), unregistered, .none),
    (FCMResponse(status: 404, rpcStatus: "NOT_FOUND"), .credentialsRefused(reason: "NOT_FOUND"), .none),
    (
      FCMResponse(status: 429, errorCode: "QUOTA_EXCEEDED"), .retry(after: nil, reason: "QUOTA_EXCEEDED"),
      .none
    ),
    (
      FCMResponse(status: 429, errorCode: "QUOTA_EXCEEDED", retryAfter: .seconds(90)),
      .retry(after: .seconds(90), reason: "QUOTA_EXCEEDED"), .none
    ),
    (
      FCMResponse(status: 429, rpcStatus: "RESOURCE_EXHAUSTED", retryAfter: .seconds(5)),
      .retry(after: .seconds(5), reason: "RESOURCE_EXHAUSTED"), .none
    ),
    (FCMResponse(status: 500, errorCode: "INTERNAL"), .retry(after: nil, reason: "INTERNAL"), .none),
    (
      FCMResponse(status: 503, errorCode: "UNAVAILABLE", retryAfter: .seconds(7)),
      .retry(after: .seconds(7), reason: "UNAVAILABLE", appliesToService: true), .none
    ),
    (
      FCMResponse(status: 500, errorCode: "UNSPECIFIED_ERROR"), .retry(after: nil, reason: "UNSPECIFIED_ERROR"), .none
    ),
    (FCMResponse(status: 400, errorCode: "BRAND_NEW"), .payloadRefused(reason: "BRAND_NEW"), .none),
    (FCMResponse(status: 503, errorCode: "BRAND_NEW"), .retry(after: nil, reason: "BRAND_NEW"), .none),
    // Proxies and front ends answer without JSON.
    (FCMResponse(status: 400), .payloadRefused(reason: "HTTP400"), .none),
    (FCMResponse(status: 401), .credentialsRefused(reason: "HTTP401"), .newToken),
    (FCMResponse(status: 403), .credentialsRefused(reason: "HTTP403"), .none),
    (FCMResponse(status: 404), .credentialsRefused(reason: "HTTP404"), .none),
    (FCMResponse(status: 408), .retry(after: nil, reason: "HTTP408"), .none),
    (FCMResponse(status: 413), .payloadRefused(reason: "HTTP413"), .none),
    (FCMResponse(status: 302), .retry(after: nil, reason: "HTTP302"), .none),
    (FCMResponse(status: 502, retryAfter: .seconds(3)), .retry(after: .seconds(3), reason: "HTTP502"), .none),
  ]

  @Test(arguments: table.indices)
  func `A response means what the table says`(_ row: Int) {
    let (response, verdict, recovery) = Self.table[row]
    let classification = ResponseClassification(response)
    #expect(classification.verdict == verdict)
    #expect(classification.recovery == recovery)
  }

  /// Each row has an account of its own, since a new access token is not fetched again soon.
  @Test func `Every row leads to its verdict when FCM answers so, after a new access token where that may help`()
    async throws
  {
    try await withAPNs { simulator, services in
      let fcm = simulator.fcm
      for (row, (response, verdict, recovery)) in Self.table.enumerated() where response.status != 200 {
        let account = try services.firebase(simulator, clientEmail: "push\(row)@acme-shop.iam.gserviceaccount.com")
        let (sent, tokens) = (fcm.count, fcm.tokenRequestCount)
        try fcm.rule(.any, .refuse(SimulatedFCM.Refusal(response)))
        #expect(await account.verdicts(["phone-1:x"]) == [verdict], "\(response)")
        fcm.removeRules()
        let attempts = recovery == .newToken ? 2 : 1
        #expect(fcm.count - sent == attempts, "\(response)")
        #expect(await account.verdicts(["phone-1:x"]) == [.accepted], "\(response)")
        #expect(fcm.tokenRequestCount - tokens == attempts, "\(response)")
      }
    }
  }

  @Test func `The table has every code`() {
    #expect(
      Set(FCMErrorCode.allCases.map(\.rawValue)).isSubset(of: Set(Self.table.compactMap(\.response.errorCode))))
  }

  @Test func `A code that FCM has not documented is no dimension of a metric`() {
    #expect(ResponseClassification(FCMResponse(status: 400, errorCode: "BRAND_NEW")).reason == "other")
    #expect(ResponseClassification(FCMResponse(status: 503, errorCode: "UNAVAILABLE")).reason == "UNAVAILABLE")
  }

  @Test func `An error is read from the details of its body`() {
    let body = """
      {"error":{"code":400,"message":"Bad","status":"INVALID_ARGUMENT","details":[
      {"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"X","domain":"googleapis.com"},
      {"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"INVALID_ARGUMENT"},
      {"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"message.token","description":"d"}]}
      ]}}
      """
    let response = FCMResponse(ServiceResponse(status: 400, body: Array(body.utf8), retryAfter: .seconds(2)))
    #expect(
      response
        == FCMResponse(
          status: 400, errorCode: "INVALID_ARGUMENT", rpcStatus: "INVALID_ARGUMENT", message: "Bad",
          fields: ["message.token"], retryAfter: .seconds(2)))
  }

  @Test(arguments: ["", "<html>", "[]", #"{"error":"text"}"#, #"{"error":{"details":[1]}}"#])
  func `A body of another form says nothing`(_ body: String) {
    #expect(FCMResponse(ServiceResponse(status: 502, body: Array(body.utf8))) == FCMResponse(status: 502))
  }

  @Test(arguments: [
    (Verdict.accepted, CredentialVerdict.accepted), (unregistered, .accepted), (badToken, .accepted),
    (.credentialsRefused(reason: "PERMISSION_DENIED"), .refused(reason: "PERMISSION_DENIED")),
    (.payloadRefused(reason: "INVALID_ARGUMENT"), .unreachable(reason: "INVALID_ARGUMENT")),
    (.retry(after: nil, reason: "UNAVAILABLE"), .unreachable(reason: "UNAVAILABLE")),
    (.unsent(reason: "ConnectTimeout"), .unreachable(reason: "ConnectTimeout")),
  ])
  func `Only a response that depends on the account accepts it`(_ verdict: Verdict, _ check: CredentialVerdict) {
    #expect(CredentialVerdict(dryRun: verdict) == check)
  }
}

extension SimulatedFCM.Refusal {
  /// The response as FCM writes it; a page where it says nothing.
  fileprivate init(_ response: FCMResponse) throws {
    var error: [UTF8String: JSONValue] = [:]
    error["status"] = response.rpcStatus.map(JSONValue.string)
    error["message"] = response.message.map(JSONValue.string)
    var details: [JSONValue] = []
    if let code = response.errorCode {
      details.append(["@type": "type.googleapis.com/google.firebase.fcm.v1.FcmError", "errorCode": .string(code)])
    }
    if !response.fields.isEmpty {
      let violations = response.fields.map { ["field": .string($0), "description": "…"] as JSONValue }
      details.append(["@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": .array(violations)])
    }
    if !details.isEmpty { error["details"] = .array(details) }
    let json = JSONValue.object(["error": .object(error)]).json
    self.init(
      status: response.status, body: error.isEmpty ? "<html>" : String(decoding: json, as: UTF8.self),
      retryAfter: response.retryAfter.map { "\($0.components.seconds)" })
  }
}
