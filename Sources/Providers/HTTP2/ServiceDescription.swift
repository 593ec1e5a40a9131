/// What a pool of connections has to know about the service behind it. Each service's folder has one.
protocol ServiceDescription: Sendable {
  /// The service's name for people, such as `APNs`.
  var name: String { get }
  /// The dimension `service` of its metrics.
  var label: String { get }
  /// Whether a connection sends one request at a time until an answer shows that the service takes its credentials.
  var startsWithOneStream: Bool { get }
  /// Most connections of a pool that speak HTTP/1.1, which takes one request at a time; 0 if the service is to speak HTTP/2.
  var http1Connections: Int { get }
  /// Whether another connection is opened once what waits finds no capacity: where one receiver behind an origin may not answer, and the others
  /// do.
  var opensAnotherWhenFull: Bool { get }
  /// The headers of responses, in lower case, that its table has to know beside `retry-after`.
  var responseHeaders: [String] { get }
  /// Most bytes of a response's body that are kept; of a longer one nothing is.
  var longestBody: Int { get }
  /// Whether its address may be a private one: not if clients name it.
  var mayBePrivate: Bool { get }

  /// The authorization to send with now.
  /// - Parameter whenReady: called once, from any thread, after `pending` was returned and asking again is worthwhile.
  func authorization(whenReady: @escaping @Sendable () -> Void) -> AvailableAuthorization

  /// What the response to a request means: the service's table.
  func classification(of response: ServiceResponse, to request: PushRequest) -> ResponseClassification

  /// A request was refused for its authorization, and `recovery` asks for another.
  /// - Returns: whether there is another one, or soon will be.
  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool

  /// The reason in the debug data of a GOAWAY; nil if there is none.
  func goAwayReason(_ debugData: [UInt8]) -> String?

  /// The verdict on requests that a GOAWAY with this reason turned back; nil if they are to be sent again.
  func verdict(onGoAway reason: String) -> Verdict?
}

extension ServiceDescription {
  var startsWithOneStream: Bool { false }
  var http1Connections: Int { 0 }
  var opensAnotherWhenFull: Bool { false }
  var responseHeaders: [String] { [] }
  var mayBePrivate: Bool { true }
  /// Reasons and access tokens are short.
  var longestBody: Int { 16 << 10 }

  func replace(_ authorization: Authorization, _ recovery: Recovery) -> Bool { false }
  func goAwayReason(_ debugData: [UInt8]) -> String? { nil }
  func verdict(onGoAway reason: String) -> Verdict? { nil }
}

/// The header `authorization` of a request; never logged. A request without one has nil.
struct Authorization: Hashable, Sendable {
  var value: String?
}

/// Whether requests can be sent.
enum AvailableAuthorization: Sendable {
  case available(Authorization)
  /// It is being fetched; requests wait for it.
  case pending
  /// There is none now; all waiting requests get this verdict.
  case unusable(Verdict)
}

/// A response as it came.
struct ServiceResponse: Hashable, Sendable, StatusBearing {
  var status: Int
  var body: [UInt8] = []
  /// The header `retry-after`.
  var retryAfter: Duration?
  /// Those of `ServiceDescription.responseHeaders` that it has.
  var headers: [String: String] = [:]
}

/// What a response means: the verdict on the push, and what the pool does first.
struct ResponseClassification: Hashable, Sendable {
  var verdict: Verdict
  var recovery: Recovery = .none
  /// Verdicts on single recipients, by their place in `PushRequest.recipients`; the others get `verdict`.
  var exceptions: [Int: Verdict] = [:]
  /// The service's own word, if it is a documented one: a metric's dimension, which must not take any number of values. It also
  /// tells recoveries apart.
  var reason: String?
}

/// What the pool does about a refusal before it reports the verdict.
enum Recovery: Hashable, Sendable {
  case none
  /// Open another connection, since this one is of no more use.
  case reopen
  /// Try the push once more on a new connection; the verdict is reported if that refuses it too.
  case newConnection
  /// Try the push once more on a new connection, with a new token: the old connection may keep refusing it.
  case newToken
  /// Create no token for a while; try once more with the previous one, on a new connection, if it is still valid.
  case previousToken
  /// Send what the request has in place of itself for services that take less; the verdict is reported if that is refused too.
  case smaller
}
