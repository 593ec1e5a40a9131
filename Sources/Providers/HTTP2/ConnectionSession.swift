/// The client's side of one connection, in the protocol that the TLS handshake chose: `HTTP2Session` or `HTTP1Session`.
protocol ConnectionSession: AnyObject {
  /// Begins a request; `send` lets it leave.
  /// - Returns: its stream: 1, 3, 5, … in the order of the requests.
  func submit(_ request: PushRequest, _ authorization: Authorization) throws -> Int

  /// Makes bytes of what is to be sent, unless the channel has it already.
  /// - Returns: what happened, in order: requests are about to leave, or cannot.
  func send(_ write: (UnsafeRawBufferPointer) -> Void) throws -> [SessionEvent]

  /// Whether nothing more can be sent or received.
  var isOver: Bool { get }
}

/// What happened on a connection.
enum SessionEvent: Hashable {
  /// The head of a response, final or not.
  /// - Parameter headers: those of `ServiceDescription.responseHeaders` that it has.
  case head(stream: Int, status: Int, retryAfter: String?, headers: [String: String] = [:], isEnd: Bool)
  case body(stream: Int, [UInt8])
  /// The response is complete.
  case end(stream: Int)
  /// The server's RST_STREAM.
  case reset(stream: Int, code: UInt32)
  /// The stream ended otherwise than by a response, such as by one that breaks the protocol.
  case failed(stream: Int)
  /// The last byte of a request became bytes.
  case sent(stream: Int)
  case goAway(lastStream: Int, code: UInt32, debugData: [UInt8])
  case settings(maxConcurrentStreams: Int?)
  /// The server closes the connection after the response that has begun (HTTP/1.1).
  case isLastResponse
}
