import NIOCore

/// Gathers the frames written between two flushes into one buffer, so that many answers share a TLS record.
final class FlushCoalescer: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var gathered = ByteBuffer()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    gathered.writeBuffer(&bytes)
    if promise != nil { passOn(context, promise) }
  }

  func flush(context: ChannelHandlerContext) {
    if gathered.readableBytes > 0 { passOn(context, nil) }
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if gathered.readableBytes > 0 { passOn(context, nil) }
    context.close(mode: mode, promise: promise)
  }

  private func passOn(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    context.write(wrapOutboundOut(gathered), promise: promise)
    gathered = ByteBuffer()
  }
}
