import NIOHPACK

/// One client's connection as its service sees it: which reply a request gets, and in which form.
protocol ServiceConnection: SendableMetatype {
  /// What a response needs to know of its request.
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
}

/// A response's status, headers and body.
struct SimulatedResponse: Sendable {
  var status: Int
  var headers: [(name: String, value: String)] = []
  /// Nil for a response without a body.
  var body: String?
}
