import NIOCore
import NIOHPACK
import NIOHTTP1
import NIOHTTP2

/// Shows a connection of HTTP/1.1 as frames of HTTP/2, so that services answer both alike. Requests are streams 1, 3, 5, …, one at a
/// time.
///
/// What HTTP/1.1 has no frame for ends the connection: RST_STREAM at once, GOAWAY after the response that is under way.
final class HTTP1Frames: ChannelDuplexHandler {
  typealias InboundIn = HTTPServerRequestPart
  typealias InboundOut = HTTP2Frame
  typealias OutboundIn = HTTP2Frame
  typealias OutboundOut = HTTPServerResponsePart

  private var stream = -1
  private var isAnswered = true
  private var isLast = false
  /// The head of the response, which leaves with its body.
  private var response: HTTPResponseHead?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    switch unwrapInboundIn(data) {
    case .head(let head):
      stream += 2
      isAnswered = false
      isLast = isLast || !head.isKeepAlive
      var headers: HPACKHeaders = [
        ":method": head.method.rawValue, ":scheme": "https", ":path": head.uri,
        ":authority": head.headers.first(name: "host") ?? "",
      ]
      for (name, value) in head.headers { headers.add(name: name.lowercased(), value: value) }
      read(.headers(.init(headers: headers)), context)
    case .body(let bytes): read(.data(.init(data: .byteBuffer(bytes))), context)
    case .end: read(.data(.init(data: .byteBuffer(ByteBuffer()), endStream: true)), context)
    }
  }

  private func read(_ payload: HTTP2Frame.FramePayload, _ context: ChannelHandlerContext) {
    context.fireChannelRead(wrapInboundOut(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: payload)))
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let frame = unwrapOutboundIn(data)
    switch frame.payload {
    case .headers(let head):
      var response = HTTPResponseHead(version: .http1_1, status: .ok)
      for (name, value, _) in head.headers {
        if name == ":status" {
          response.status = HTTPResponseStatus(statusCode: Int(value) ?? 500)
        } else {
          response.headers.add(name: name, value: value)
        }
      }
      self.response = response
      if head.endStream { respond(ByteBuffer(), context) }
    case .data(let data):
      if case .byteBuffer(let bytes) = data.data { respond(bytes, context) }
    case .rstStream: context.close(promise: nil)
    case .goAway(let lastStream, _, _):
      isLast = true
      if isAnswered || Int(lastStream) < stream { context.close(promise: nil) }
    default: break
    }
    promise?.succeed()
  }

  private func respond(_ body: ByteBuffer, _ context: ChannelHandlerContext) {
    guard var response else { return }
    self.response = nil
    isAnswered = true
    response.headers.add(name: "content-length", value: "\(body.readableBytes)")
    if isLast { response.headers.add(name: "connection", value: "close") }
    context.write(wrapOutboundOut(.head(response)), promise: nil)
    context.write(wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
    context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    if isLast { context.close(promise: nil) }
  }
}
