import NIOHPACK

/// One client's connection as its service sees it: which reply a request gets, and in which form.
protocol ServiceConnection: SendableMetatype {
  /// What a response needs to know of its request, such as its text if it is accepted.
  associatedtype Request: Sendable
  /// A refusal in the service's own terms.
  associatedtype Refusal: Sendable, Hashable

  /// Most open streams at this moment. The client is told when it changes.
  var streamLimit: Int { get }

  /// The client presented a certificate, in DER, before its first request.
  mutating func present(_ certificate: [UInt8])

  /// Decides on a complete request, and logs it.
  mutating func receive(_ headers: HPACKHeaders, body: [UInt8], on stream: Int) -> (Request, SimulatedReply<Refusal>)

  /// The response that accepts a request, or refuses it.
  func response(to request: Request, refusal: Refusal?) -> SimulatedResponse

  /// The debug data of a GOAWAY.
  func debugData(_ reason: String) -> String
}

extension ServiceConnection {
  /// Most services ask for none.
  mutating func present(_ certificate: [UInt8]) {}

  func debugData(_ reason: String) -> String { reason }
}

/// A response's status, headers and body.
struct SimulatedResponse: Sendable {
  var status: Int
  var headers: [(name: String, value: String)] = []
  /// Nil for a response without a body.
  var body: String?
}

/// A refusal whose response is a text.
protocol TextRefusal {
  var status: Int { get }
  var body: String { get }
  var contentType: String { get }
  /// The header `retry-after`: seconds, or an HTTP date.
  var retryAfter: String? { get }
}

extension SimulatedResponse {
  /// The response that accepts a request with this text, or refuses it.
  init(accepted: String, contentType: String, refusal: (some TextRefusal)?) {
    self.init(status: refusal?.status ?? 200, body: refusal?.body ?? accepted)
    headers = [("content-type", refusal?.contentType ?? contentType)]
    if let retryAfter = refusal?.retryAfter { headers.append(("retry-after", retryAfter)) }
  }
}
