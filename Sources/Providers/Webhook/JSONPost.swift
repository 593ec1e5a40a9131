import FoundationEssentials
public import Wire

extension PushServices {
  /// Posts JSON to an address that a customer named. It has to be where the rule for webhooks allows, and to answer within
  /// `PushServiceSettings.strangerTimeout`. No redirect is followed.
  /// - Returns: nil if it answered with 200 to 299; else why not, in a few words.
  public func post(_ json: [UInt8], to endpoint: PushEndpoint, of customer: CustomerID) async -> String? {
    if let problem = webhooks.problem(with: endpoint) { return problem }
    var headers = RequestHeaders()
    headers.add(":path", endpoint.path, .never)
    headers.add("content-type", "application/json")
    headers.add("content-length", String(json.count), .changing)
    let rule = webhooks
    let key = PoolKey(service: WebhookDescription.label, environment: .production, customer: customer)
    let outcomes = pools.send(
      [PushRequest(headers: headers, body: json, origin: ServiceAddress(endpoint))], toOriginsOf: key,
      places: .paths,
      { WebhookDescription(mayBePrivate: rule.isListed($0.host, $0.port)) }, while: { true })
    var answer: String? = "NoOutcome"
    for await outcome in outcomes.compactMap(\.first) {
      switch outcome.verdict {
      case .accepted: answer = nil
      case .retry(_, let reason, _), .tokenInvalid(_, _, let reason), .payloadRefused(let reason),
        .credentialsRefused(let reason), .waitsForCorrection(let reason), .unsent(let reason),
        .uncertain(let reason, _):
        answer = reason
      }
    }
    return answer
  }
}
