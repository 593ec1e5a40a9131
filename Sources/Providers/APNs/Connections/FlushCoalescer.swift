import NIOCore

/// Gathers what is written between two flushes into one buffer, so that it leaves as full TLS records.
///
/// Without it every frame would be a record of its own, or two: one for its header and one for its payload.
final class FlushCoalescer: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var gathered = ByteBuffer()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    if gathered.readableBytes == 0 { gathered = context.channel.allocator.buffer(capacity: 1 << 14) }
    gathered.writeBuffer(&bytes)
    if let promise { pass(on: context, promise) }
  }

  func flush(context: ChannelHandlerContext) {
    pass(on: context, nil)
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    pass(on: context, nil)
    context.close(mode: mode, promise: promise)
  }

  private func pass(on context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    guard gathered.readableBytes > 0 || promise != nil else { return }
    context.write(wrapOutboundOut(gathered), promise: promise)
    gathered = ByteBuffer()
  }
}
