import FoundationEssentials
import Wire

/// A customer's webhooks: addresses of back ends, which get what a phone's app would get as a JSON object.
///
/// There is no service in between that would sign in, so nothing can be checked, and no address says anything of another.
struct WebhookAccount: PushAccount {
  let customer: CustomerID
  /// The value of `X-webcom-webhook-token`.
  let token: String?
  let rule: EndpointRule
  let pools: ConnectionPools

  /// Most bytes of a body.
  static let limit = 65_536

  var service: String { WebhookDescription.name }
  var environments: [PushEnvironment] { [.production] }
  var outageEvidence: OutageEvidence { .none }

  /// - Parameter push: its token is the address.
  func prepare(_ push: OutgoingPush) -> PreparedPush {
    guard let endpoint = try? PushEndpoint(url: push.token), rule.problem(with: endpoint) == nil else {
      return .refused(.payloadRefused(reason: "HostNotAllowed"))
    }
    let body = push.message.literalData?.json ?? push.message.fieldsAsJSON
    guard body.count <= Self.limit else { return .refused(.payloadRefused(reason: "MessageTooBig")) }
    var headers = RequestHeaders()
    headers.add(":path", endpoint.path, .never)
    headers.add("content-type", "application/json")
    headers.add("content-length", String(body.count), .changing)
    if let token { headers.add("x-webcom-webhook-token", token, .never) }
    return .request(PushRequest(headers: headers, body: body, origin: ServiceAddress(endpoint)))
  }

  func preview(_ request: PushRequest, to environment: PushEnvironment) -> RequestPreview {
    request.preview(authorization: "none", size: request.body.count, limit: Self.limit)
  }

  func send(
    _ requests: [PushRequest], to environment: PushEnvironment, while isWanted: @escaping @Sendable () -> Bool
  ) -> AsyncStream<[PushOutcome]> {
    let key = PoolKey(
      service: WebhookDescription.label, environment: .production, customer: customer, credentials: nil)
    return pools.send(
      requests, toOriginsOf: key, places: .paths,
      { [rule] in WebhookDescription(mayBePrivate: rule.isListed($0.host, $0.port)) }, while: isWanted)
  }

  func check(_ environment: PushEnvironment) async -> CredentialVerdict {
    .unasked(reason: "webhooks have no credentials")
  }
}

/// What connections have to know about one origin of webhooks.
struct WebhookDescription: ServiceDescription {
  static let name = "Webhook"
  static let label = "webhook"

  let mayBePrivate: Bool

  var name: String { Self.name }
  var label: String { Self.label }
  /// One webhook of an origin that does not answer must not keep the others waiting.
  var startsWithOneStream: Bool { false }
  var http1Connections: Int { 64 }
  var opensAnotherWhenFull: Bool { true }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    .available(Authorization(value: nil))
  }

  /// Any 2xx takes the notification. It is sent again after 408, 429 and 5xx.
  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    let word = "HTTP\(response.status)"
    return switch response.status {
    case 200..<300: ResponseClassification(verdict: .accepted)
    case 408, 429, 500...: ResponseClassification(verdict: .putOff(word, by: response))
    default: ResponseClassification(verdict: .payloadRefused(reason: word))
    }
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool { false }
  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}
