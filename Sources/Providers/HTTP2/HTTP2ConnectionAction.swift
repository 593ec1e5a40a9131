import FoundationEssentials
import NIOCore

/// What `HTTP2ConnectionState` wants its connection to do.
enum HTTP2ConnectionAction<Request> {
  /// The request has ended; `sentAt` is when it was written.
  case settle(Request, RequestEnding, sentAt: Date)
  /// Send RST_STREAM with CANCEL.
  case reset(Int)
  case ping
  case close(reason: String)
}

/// How a request on a connection ended.
enum RequestEnding: Hashable, Sendable {
  case answered(ServiceResponse)
  /// Certainly not processed: it may be sent again at once.
  case notProcessed(reason: String)
  /// Sent, and not answered.
  case lost(reason: String)
}

/// A request that waits for its response.
struct OpenStream<Request> {
  var request: Request
  var sentAt: Date
  var deadline: NIODeadline
  /// Whether its last byte was written to the socket.
  var isSent = false
  /// 0 until the response's head was received.
  var status = 0
  var retryAfter: Duration?
  var headers: [String: String] = [:]
  var body: [UInt8] = []

  var response: ServiceResponse {
    ServiceResponse(status: status, body: body, retryAfter: retryAfter, headers: headers)
  }

  /// How it ends if nothing more of its response comes. A refusal without its reason is still a refusal: the push was not delivered,
  /// and another attempt shows why.
  func ending(reason: String) -> RequestEnding {
    if status / 100 == 2 { return .answered(response) }
    return isSent && status == 0 ? .lost(reason: reason) : .notProcessed(reason: reason)
  }
}

/// The timeouts of a connection.
struct HTTP2ConnectionTimeouts: Sendable {
  /// For the server's SETTINGS, after connecting.
  var settings: TimeAmount
  /// For a response.
  var request: TimeAmount
  /// For a response, once many requests that began later were answered.
  var overtaken: TimeAmount
  /// Silence without open requests, after which a PING has to be answered before requests begin. HTTP/1.1 has none: such a connection
  /// is closed then.
  var trust: TimeAmount
  /// Silence before a PING while no request is open: keeps the connection alive.
  var idle: TimeAmount
  /// Silence before a PING while requests are open: finds dead sockets.
  var silence: TimeAmount
  /// For the reply to a PING.
  var ping: TimeAmount
}
