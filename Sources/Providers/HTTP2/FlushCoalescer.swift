import NIOCore

/// Joins what is written between two flushes, so that it leaves as full TLS records.
///
/// Without it every frame would be a record of its own.
final class FlushCoalescer: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var buffer = ByteBuffer()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    if buffer.readableBytes == 0 { buffer = context.channel.allocator.buffer(capacity: 1 << 14) }
    buffer.writeBuffer(&bytes)
    if let promise { writeBuffer(context, promise) }
  }

  func flush(context: ChannelHandlerContext) {
    writeBuffer(context, nil)
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    writeBuffer(context, nil)
    context.close(mode: mode, promise: promise)
  }

  private func writeBuffer(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    guard buffer.readableBytes > 0 || promise != nil else { return }
    context.write(wrapOutboundOut(buffer), promise: promise)
    buffer = ByteBuffer()
  }
}
