import FoundationEssentials
import Support
import Testing
import Wire

@testable import Providers
@testable import Simulator

/// Rules in JSON can bring about what the hub's tables tell apart.
@Suite struct ListedRefusalTests {
  private func responses<Refusal: ListedRefusal>(_ listed: [Refusal], body: (Refusal) -> String?) -> [ServiceResponse] {
    listed.map { ServiceResponse(status: $0.status, body: Array((body($0) ?? "").utf8)) }
  }

  @Test(arguments: PushServiceName.allCases.filter(\.takesAccessTokens))
  func `The rules of a service with access tokens have every reason that its table documents`(
    name: PushServiceName
  ) async throws {
    let kind = try #require(PushSimulator.kinds.first { $0.service == name })
    let request = PushRequest(headers: RequestHeaders(), body: [], recipients: [.init(token: [], index: 0)])
    try await withProvider(PushServiceSettings()) { services in
      let service = try #require(services.withAccessTokens[name])
      let reasons = Set(refusals(kind).compactMap { service.classify($0, request).reason })
      let documented = name.table.reasons.flatMap(\.reasons).map(\.name)
      #expect(!documented.isEmpty && reasons.isSuperset(of: documented), "\(reasons)")
    }
  }

  /// The responses that rules can bring about.
  private func refusals<Service: SteerableService>(_: Service.Type) -> [ServiceResponse] {
    (Service.Refusal.self as? any ListedRefusal.Type).map { responses($0) } ?? []
  }

  private func responses<Refusal: ListedRefusal>(_: Refusal.Type) -> [ServiceResponse] {
    Refusal.listed.map { refusal in
      let body = (refusal as? any TextRefusal)?.body ?? ""
      let headers = (refusal as? SimulatedWNS.Refusal)?.headers ?? [:]
      return ServiceResponse(status: refusal.status, body: Array(body.utf8), headers: headers)
    }
  }

  @Test func `FCM's rules have every code, both meanings of INVALID_ARGUMENT, and what comes without a code`() {
    let listed = responses(SimulatedFCM.Refusal.listed, body: \.body).map { FCMResponse($0) }
    #expect(Set(listed.compactMap(\.errorCode)) == Set(FCMErrorCode.allCases.map(\.rawValue)))
    let verdicts = listed.map { ResponseClassification($0).verdict }
    let word = FCMErrorCode.invalidArgument.rawValue
    #expect(verdicts.contains(.payloadRefused(reason: word)))
    #expect(verdicts.contains(.tokenInvalid(.unregistered, since: nil, reason: word)))
    #expect(listed.contains { $0.errorCode == word && $0.fields == ["message.token"] })
    #expect(
      Set(listed.filter { $0.errorCode == nil }.map { $0.rpcStatus ?? "\($0.status)" }) == [
        "INVALID_ARGUMENT", "UNAUTHENTICATED", "PERMISSION_DENIED", "NOT_FOUND", "RESOURCE_EXHAUSTED", "408", "413",
        "502",
      ])
  }

  @Test func `Push Kit's rules have every code but that of success, and statuses without one`() {
    let listed = responses(SimulatedHMS.Refusal.listed, body: \.body).map { HMSResponse($0) }
    #expect(Set(listed.compactMap(\.code)) == Set(HMSCode.allCases.filter { $0 != .success }.map(\.rawValue)))
    #expect(
      Set(listed.filter { $0.code == nil }.map(\.status)) == [200, 400, 401, 403, 404, 408, 429, 500, 502, 503])
  }

  @Test func `The rules of Web Push have every number and word, Google's sentence, and statuses without any`() {
    let listed = responses(SimulatedWebPush.Refusal.listed, body: \.body).map { WebPushResponse($0) }
    #expect(Set(listed.compactMap(\.errno)) == Set(MozillaErrno.allCases.map(\.rawValue)))
    #expect(Set(listed.compactMap(\.reason)) == Set(AppleWebPushReason.allCases.map(\.rawValue)))
    let mismatch = listed.filter { ResponseClassification($0).reason == AppleWebPushReason.keyMismatch.rawValue }
    #expect(mismatch.map(\.status) == [400, 403, 403])
    #expect(
      Set(listed.filter { $0.errno == nil && $0.reason == nil }.map(\.status))
        == [301, 302, 307, 308, 403, 406, 408, 410, 413, 429, 502])
  }

  @Test func `The rules of WNS have every status and word that it documents`() {
    let listed = SimulatedWNS.Refusal.listed
    #expect(listed.filter { $0.status == 200 }.map(\.reason) == ["dropped", "channelthrottled"])
    #expect(Set(listed.map(\.status)) == [200, 400, 401, 403, 404, 405, 406, 410, 413, 500, 503])
  }
}
