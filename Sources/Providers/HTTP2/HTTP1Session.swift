import NIOCore
import NIOHTTP1

/// The client's side of one HTTP/1.1 connection: one request at a time, by NIO's encoder and decoder, which stand before it in the
/// channel.
///
/// Requests are counted as HTTP/2 counts streams, so that connections treat both alike.
final class HTTP1Session: ChannelInboundHandler, ConnectionSession {
  typealias InboundIn = HTTPClientResponsePart
  typealias OutboundOut = HTTPClientRequestPart

  private let authority: String
  private let responseHeaders: [String]
  private let take: (SessionEvent) -> Void
  private var context: ChannelHandlerContext?
  /// That of the last request.
  private var stream = -1
  private var hasUnsent = false

  /// - Parameters:
  ///   - authority: the value of `host`.
  ///   - responseHeaders: the headers of responses that are reported, in lower case.
  ///   - take: called with all that is received.
  init(authority: String, responseHeaders: [String] = [], take: @escaping (SessionEvent) -> Void) {
    self.authority = authority
    self.responseHeaders = responseHeaders
    self.take = take
  }

  /// The handlers that a channel needs for it, from the socket on.
  var handlers: [any ChannelHandler] { [HTTPRequestEncoder(), ByteToMessageHandler(HTTPResponseDecoder()), self] }

  var isOver: Bool { false }

  /// Hands the request to the channel, which keeps it until it is flushed.
  func submit(_ request: PushRequest, _ authorization: Authorization) throws -> Int {
    guard let context else { throw ChannelError.ioOnClosedChannel }
    stream += 2
    var head = HTTPRequestHead(
      version: .http1_1, method: HTTPMethod(rawValue: request.method.rawValue), uri: "/", headers: ["host": authority])
    request.headers.withFields { fields in
      while let field = fields.next() {
        let (name, value) = (String(decoding: field.name, as: UTF8.self), String(decoding: field.value, as: UTF8.self))
        if name == ":path" { head.uri = value } else { head.headers.add(name: name, value: value) }
      }
    }
    // Without it NIO would send chunks, which WNS does not take.
    if request.method == .post || !request.body.isEmpty {
      head.headers.replaceOrAdd(name: "content-length", value: String(request.body.count))
    }
    if let value = authorization.value { head.headers.add(name: "authorization", value: value) }
    context.write(wrapOutboundOut(.head(head)), promise: nil)
    if !request.body.isEmpty {
      context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: request.body)))), promise: nil)
    }
    context.write(wrapOutboundOut(.end(nil)), promise: nil)
    hasUnsent = true
    return stream
  }

  func send(_ write: (UnsafeRawBufferPointer) -> Void) -> [SessionEvent] {
    defer { hasUnsent = false }
    return hasUnsent ? [.sent(stream: stream)] : []
  }
}

extension HTTP1Session {
  func handlerAdded(context: ChannelHandlerContext) { self.context = context }
  func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

  func channelInactive(context: ChannelHandlerContext) {
    self.context = nil
    context.fireChannelInactive()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      // The decoder leaves out interim responses. Nobody asked for another protocol.
      guard head.status.code >= 200 else { return context.fireErrorCaught(HTTPParserError.invalidStatus) }
      var headers: [String: String] = [:]
      for name in responseHeaders { headers[name] = head.headers.first(name: name) }
      take(
        .head(
          stream: stream, status: Int(head.status.code), retryAfter: head.headers.first(name: "retry-after"),
          headers: headers, isEnd: false))
      if !head.isKeepAlive { take(.isLastResponse) }
    case .body(let bytes): take(.body(stream: stream, Array(bytes.readableBytesView)))
    case .end: take(.end(stream: stream))
    }
  }
}
