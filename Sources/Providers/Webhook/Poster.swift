public import Wire

/// JSON for an address that a customer named.
public struct JSONPost: Sendable {
  public var address: String
  public var body: [UInt8]
  /// Beside those of every post, such as a signature; their names in lower case.
  public var headers: [(name: String, value: String)]
  /// Most bytes of the body.
  public var limit: Int

  public init(
    to address: String, _ body: [UInt8], headers: [(name: String, value: String)] = [], limit: Int = Poster.limit
  ) {
    self.address = address
    self.body = body
    self.headers = headers
    self.limit = limit
  }
}

/// Posts JSON to addresses that customers named: all HTTP that goes out to them.
///
/// An address has to be where the rule for webhooks allows, and to answer within `PushServiceSettings.untrustedTimeout`. No redirect is
/// followed. A customer has a number of places at such addresses, and fewer at each of them (`Quotas`). So one that is slow delays no other
/// customer, and no other address.
public struct Poster: Sendable {
  let rule: EndpointRule
  let pools: ConnectionPools

  /// Most bytes of a body that does not say otherwise.
  public static let limit = 65_536

  /// The request that a post becomes.
  func prepare(_ post: JSONPost) -> PreparedPush {
    guard let endpoint = try? PushEndpoint(url: post.address), rule.problem(with: endpoint) == nil else {
      return .refused(.payloadRefused(reason: .hub(.hostNotAllowed)))
    }
    guard post.body.count <= post.limit else { return .refused(.payloadRefused(reason: .hub(.messageTooBig))) }
    var headers = RequestHeaders()
    headers.add(":path", endpoint.path, .never)
    headers.add("content-type", "application/json")
    headers.add("content-length", String(post.body.count), .changing)
    for header in post.headers { headers.add(name: header.name, header.value, .never) }
    return .request(PushRequest(headers: headers, body: post.body, origin: ServiceAddress(endpoint)))
  }

  /// - Parameter isWanted: called just before each leaves; once it returns false, the rest do not leave.
  func send(
    _ requests: [PushRequest], of customer: CustomerID, while isWanted: @escaping @Sendable () -> Bool = { true }
  ) -> AsyncStream<[PushOutcome]> {
    pools.send(
      requests, toOriginsOf: PoolKey(service: WebhookDescription.label, environment: .production, customer: customer),
      places: .paths, { [rule] in WebhookDescription(mayBePrivate: rule.isListed($0.host, $0.port)) }, while: isWanted)
  }

  /// Posts once. It is taken by any answer of 200 to 299.
  public func post(_ post: JSONPost, of customer: CustomerID) async -> Verdict {
    switch prepare(post) {
    case .refused(let verdict): return verdict
    case .request(let request):
      for await outcomes in send([request], of: customer) {
        if let outcome = outcomes.first { return outcome.verdict }
      }
      return .unsent(reason: .hub(.noOutcome))
    }
  }
}

/// What connections have to know about one origin of webhooks.
struct WebhookDescription: ServiceDescription {
  static let name = "Webhook"
  static let label = "webhook"

  let mayBePrivate: Bool

  var name: String { Self.name }
  var label: String { Self.label }
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
}
