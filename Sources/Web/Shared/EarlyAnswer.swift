import HTTPTypes
import HummingbirdCore
import NIOCore
import NIOHTTPTypes

/// Ends a connection on which a request was answered before its body had been read, as refusals often are.
///
/// The rest of such a request would have to be read before the next one, and its sender may never end it. So the reply says
/// `Connection: close`, and after it nothing more is written. What still arrives is thrown away until the client closes, which
/// it does once it has read its reply; were the socket closed at once, a client that reads only after it has sent everything
/// would meet a reset in place of its reply (RFC 9112, section 9.6).
///
/// It looks at every part that passes, so it is put into a connection only when it is needed, by ``install(in:)``.
final class EarlyAnswer: ChannelDuplexHandler {
  typealias InboundIn = HTTPRequestPart
  typealias InboundOut = HTTPRequestPart
  typealias OutboundIn = HTTPResponsePart
  typealias OutboundOut = HTTPResponsePart

  private enum State {
    /// The last reply is being written. Becomes `leaving` with its end.
    case answering
    /// Nothing more is written, and at most so many bytes are taken.
    case leaving(bytesLeft: Int)
  }

  /// Twice the largest body that any route takes.
  private static let patience = (bytes: 8 * 1024 * 1024, time: TimeAmount.seconds(5))

  private var state = State.answering
  private var deadline: Scheduled<Void>?

  /// Makes the next reply on this connection its last. Nothing happens when the connection is gone already.
  static func install(in channel: any Channel) async {
    try? await channel.eventLoop.submit {
      let pipeline = channel.pipeline.syncOperations
      let neighbour = try pipeline.handler(type: HTTPConnectionStateHandler.self)
      try pipeline.addHandler(EarlyAnswer(), position: .before(neighbour))
    }.get()
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard case .leaving(let bytesLeft) = state else { return context.fireChannelRead(data) }
    guard case .body(let bytes) = unwrapInboundIn(data) else { return }
    state = .leaving(bytesLeft: bytesLeft - bytes.readableBytes)
    if bytesLeft < bytes.readableBytes { context.close(promise: nil) }
  }

  func channelReadComplete(context: ChannelHandlerContext) {
    // Nobody further up asks for more.
    if case .leaving = state { context.read() } else { context.fireChannelReadComplete() }
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    guard case .answering = state else { return promise?.succeed() ?? () }
    switch unwrapOutboundIn(data) {
    case .head(var head) where head.status.kind != .informational:
      head.headerFields[.connection] = "close"
      context.write(wrapOutboundOut(.head(head)), promise: promise)
    case .end:
      context.writeAndFlush(data, promise: promise)
      leave(context)
    default: context.write(data, promise: promise)
    }
  }

  private func leave(_ context: ChannelHandlerContext) {
    state = .leaving(bytesLeft: Self.patience.bytes)
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
