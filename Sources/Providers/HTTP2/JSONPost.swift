import FoundationEssentials
public import Wire

extension PushServices {
  /// Posts JSON to an address that a customer named. It has to be where the rule for callbacks allows, and to answer within
  /// `PushServiceSettings.strangerTimeout`. No redirect is followed.
  /// - Returns: nil if it answered with 200 to 299; else why not, in a few words.
  public func post(_ json: [UInt8], to endpoint: PushEndpoint, of customer: CustomerID) async -> String? {
    if let problem = callbacks.problem(with: endpoint) { return problem }
    var headers = RequestHeaders()
    headers.add(":path", endpoint.path, .never)
    headers.add("content-type", "application/json")
    headers.add("content-length", String(json.count), .changing)
    let rule = callbacks
    let key = PoolKey(service: CallbackDescription.label, environment: .production, customer: customer)
    let outcomes = pools.send(
      [PushRequest(headers: headers, body: json, origin: ServiceAddress(endpoint))], toOriginsOf: key,
      where: { rule.isListed($0.host, $0.port) },
      { CallbackDescription(mayBePrivate: rule.isListed($0.host, $0.port)) }, while: { true })
    var answer: String? = "NoOutcome"
    for await outcome in outcomes.compactMap(\.first) {
      switch outcome.verdict {
      case .accepted: answer = nil
      case .retry(_, let reason), .tokenInvalid(_, _, let reason), .payloadRefused(let reason),
        .credentialsRefused(let reason), .unsent(let reason), .uncertain(let reason):
        answer = reason
      }
    }
    return answer
  }
}

/// What connections have to know about an address that a customer named.
private struct CallbackDescription: ServiceDescription {
  static let label = "callbacks"

  let mayBePrivate: Bool
  var name: String { "an address of a customer" }
  var label: String { Self.label }
  var startsWithOneStream: Bool { false }
  var http1Connections: Int { 4 }

  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization {
    .available(Authorization())
  }

  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification {
    (200..<300).contains(response.status)
      ? ResponseClassification(verdict: .accepted)
      : ResponseClassification(verdict: .retry(after: response.retryAfter, reason: "HTTP\(response.status)"))
  }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool { false }
  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}
