import FoundationEssentials
import NIOCore

/// What `HTTP2ConnectionState` asks to be done.
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
  case answered(APNsAnswer)
  /// Certainly not processed: it may be sent again at once.
  case turnedBack(reason: String)
  /// Sent, and never answered.
  case lost(reason: String)
}

/// A request that waits for its answer.
struct OpenStream<Request> {
  var request: Request
  var sentAt: Date
  var deadline: NIODeadline
  /// Whether its last byte has been handed to the socket.
  var hasLeft = false
  /// 0 until the answer's head is here.
  var status = 0
  var retryAfter: Duration?
  var body: [UInt8] = []

  var answer: APNsAnswer { APNsAnswer(status: status, body: body, retryAfter: retryAfter) }

  /// What becomes of it if nothing more of its answer comes. A refusal without its reason is still a refusal: the push was
  /// not delivered, and asking again will tell why.
  func cutOff(reason: String) -> RequestEnding {
    if status / 100 == 2 { return .answered(answer) }
    return hasLeft && status == 0 ? .lost(reason: reason) : .turnedBack(reason: reason)
  }
}

/// How long a connection waits for what.
struct HTTP2ConnectionTimeouts: Sendable {
  /// For the server's SETTINGS, from the connect on.
  var greeting: TimeAmount
  /// For an answer.
  var request: TimeAmount
  /// Silence before a PING while nothing is asked: keeps the connection alive.
  var idle: TimeAmount
  /// Silence before a PING while answers are awaited: finds dead sockets.
  var silence: TimeAmount
  /// For a PING's answer.
  var ping: TimeAmount
}
