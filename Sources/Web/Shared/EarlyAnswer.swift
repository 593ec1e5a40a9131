import HTTPTypes
import NIOCore
import NIOHTTPTypes

/// Ends a connection on which a request was answered before it had come in whole, as refusals often are.
///
/// The rest of such a request would have to be read before the next one, and its sender may never end it. So the reply says
/// `Connection: close`, and after it nothing more is written. What still arrives is thrown away for a while: were the socket
/// closed at once, a client that reads only after it has sent everything would meet a reset in place of its reply
/// (RFC 9112, section 9.6).
final class EarlyAnswer: ChannelDuplexHandler, RemovableChannelHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private enum State {
    /// So many requests have come in whole and are not answered yet. Becomes `answering` when there are none.
    case open(unanswered: Int)
    /// The last reply is being written. Becomes `leaving` with its end.
    case answering
    /// Nothing more is written, and at most so many bytes are taken.
    case leaving(bytesLeft: Int)
  }

  /// Twice the largest body that any route takes.
  private static let patience = (bytes: 8 * 1024 * 1024, time: TimeAmount.seconds(5))

  private var state = State.open(unanswered: 0)
  private var deadline: Scheduled<Void>?

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let part = unwrapInboundIn(data)
    switch (state, part) {
    case (.open(let unanswered), .end):
      state = .open(unanswered: unanswered + 1)
      context.fireChannelRead(data)
    case (.leaving(let bytesLeft), .body(let bytes)):
      state = .leaving(bytesLeft: bytesLeft - bytes.readableBytes)
      if bytesLeft < bytes.readableBytes { context.close(promise: nil) }
    case (.leaving, _): break
    default: context.fireChannelRead(data)
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Nobody further up asks for more.
    if case .leaving = state { context.read() } else { context.fireChannelReadComplete() }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    switch (state, unwrapOutboundIn(data)) {
    case (.open(let unanswered), .head(let head)) where unanswered > 0 && head.status.kind != .informational:
      state = .open(unanswered: unanswered - 1)
      context.write(data, promise: promise)
    case (.open, .head(var head)) where head.status.kind != .informational:
      state = .answering
      head.headerFields[.connection] = "close"
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case (.answering, .end):
      context.writeAndFlush(data, promise: promise)
      leave(context)
    case (.leaving, _): promise?.succeed()
    default: context.write(data, promise: promise)
    }
  }

  private func leave(_ context: ChannelHandlerContext) {
    state = .leaving(bytesLeft: Self.patience.bytes)
    context.close(mode: .output, promise: nil)
    deadline = context.eventLoop.assumeIsolated().scheduleTask(in: Self.patience.time) { context.close(promise: nil) }
    context.read()
  }

  func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
    if case .leaving = state, case .inputClosed? = event as? ChannelEvent { return context.close(promise: nil) }
    context.fireUserInboundEventTriggered(event)
  }

  func channelInactive(context: ChannelHandlerContext) {
    deadline?.cancel()
    context.fireChannelInactive()
  }
}

@available(*, unavailable)
extension EarlyAnswer: Sendable {}
