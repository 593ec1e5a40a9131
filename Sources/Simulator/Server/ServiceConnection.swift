/// One client's connection as its service sees it.
protocol ServiceConnection: SendableMetatype {
  /// A refusal in the service's own terms.
  associatedtype Refusal: Sendable, Hashable

  /// Most open streams at this moment. A SETTINGS frame says so when it changes.
  var streamLimit: Int { get }

  /// The client presented a certificate, in DER, before its first request.
  mutating func present(_ certificate: [UInt8])

  /// Decides on a complete request, and logs it.
  mutating func receive(_ request: IncomingRequest) -> SimulatedAnswer<Refusal>

  /// The debug data of a GOAWAY.
  func debugData(_ reason: String) -> String
}

extension ServiceConnection {
  /// Most services ask for none.
  mutating func present(_ certificate: [UInt8]) {}

  func debugData(_ reason: String) -> String { reason }
}

/// What a service decided on a request.
struct SimulatedAnswer<Refusal: Sendable & Hashable>: Sendable {
  let reply: SimulatedReply<Refusal>
  /// The response that refuses the request; given nil, the one that accepts it.
  let response: @Sendable (Refusal?) -> SimulatedResponse
}

/// A connection to a service that remembers nothing of it.
struct PlainConnection<Plain: PlainService>: ServiceConnection {
  let service: Plain

  var streamLimit: Int { service.traffic.streamLimit }

  func receive(_ request: IncomingRequest) -> SimulatedAnswer<Plain.Refusal> { service.answer(request) }
}

/// A response's status, headers and body.
struct SimulatedResponse: Sendable {
  var status = 200
  var headers: [(name: String, value: String)] = []
  /// Nil for a response without a body.
  var body: String?
}

extension SimulatedResponse {
  init(status: Int = 200, _ body: String, contentType: String) {
    self.init(status: status, headers: [("content-type", contentType)], body: body)
  }
}

/// A refusal whose response is a text.
protocol TextRefusal {
  var status: Int { get }
  var body: String { get }
  var contentType: String { get }
  /// The header `retry-after`: seconds, or an HTTP date.
  var retryAfter: String? { get }
}

extension TextRefusal {
  var response: SimulatedResponse {
    var response = SimulatedResponse(status: status, body, contentType: contentType)
    if let retryAfter { response.headers.append(("retry-after", retryAfter)) }
    return response
  }
}
