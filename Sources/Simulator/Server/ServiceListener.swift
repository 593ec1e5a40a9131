import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS

/// The port of a simulated service: HTTP/2 over TLS, and HTTP/1.1 for services that take it.
struct ServiceListener: Sendable {
  private let channel: any Channel

  /// - Parameters:
  ///   - connections: where the connections of this port are listed.
  ///   - accept: makes a new connection, given its number.
  ///   - http1: sets up a connection whose client speaks HTTP/1.1; nil if the certificate's ALPN has HTTP/2 alone.
  /// - Throws: if the port cannot be bound.
  init<Connection: ServiceConnection>(
    host: String, port: Int, certificate: NIOSSLContext, connections: ConnectionTable,
    accept: @escaping @Sendable (Int) -> Connection, http1: (@Sendable (any Channel) throws -> Void)? = nil
  ) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          if let http1 {
            let negotiation = ApplicationProtocolNegotiationHandler { result, channel in
              channel.eventLoop.makeCompletedFuture {
                guard result == .negotiated("h2") else { return try http1(channel) }
                let number = connections.nextNumber()
                let connection = accept(number)
                try channel.pipeline.syncOperations.addHandlers(
                  TLSRecordBuffer(), Self.http2(streams: connection.streamLimit),
                  ServerHandler(connection, number: number, in: connections))
              }
            }
            return try channel.pipeline.syncOperations.addHandlers(
              NIOSSLServerHandler(context: certificate), negotiation)
          }
          let number = connections.nextNumber()
          let connection = accept(number)
          let handler = ServerHandler(connection, number: number, in: connections)
          let tls = NIOSSLServerHandler(context: certificate) { presented, verified in
            handler.present(presented)
            verified.succeed(.certificateVerified)
          }
          try channel.pipeline.syncOperations.addHandlers(
            tls, TLSRecordBuffer(), Self.http2(streams: connection.streamLimit), handler)
        }
      }
      .bind(host: host, port: port).get()
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  func close() async {
    try? await channel.close()
  }

  /// The limits on cancelled streams are off.
  private static func http2(streams: Int) -> NIOHTTP2Handler {
    var settings = NIOHTTP2Handler.ConnectionConfiguration()
    settings.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: streams),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
    ]
    settings.maximumConnectionGlitches = .max
    settings.maximumRecentlyResetStreams = 4096
    var stream = NIOHTTP2Handler.StreamConfiguration()
    stream.streamResetFrameRateLimit.windowLength = .nanoseconds(0)
    stream.streamErrorRateLimit.windowLength = .nanoseconds(0)
    return NIOHTTP2Handler(mode: .server, connectionConfiguration: settings, streamConfiguration: stream)
  }
}

/// Joins the frames that are written between two flushes, so that many replies share a TLS record.
final class TLSRecordBuffer: ChannelOutboundHandler {
  typealias OutboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private var buffer = ByteBuffer()

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    var bytes = unwrapOutboundIn(data)
    buffer.writeBuffer(&bytes)
    if promise != nil { writeBuffered(context, promise) }
  }

  func flush(context: ChannelHandlerContext) {
    if buffer.readableBytes > 0 { writeBuffered(context, nil) }
    context.flush()
  }

  func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
    if buffer.readableBytes > 0 { writeBuffered(context, nil) }
    context.close(mode: mode, promise: promise)
  }

  private func writeBuffered(_ context: ChannelHandlerContext, _ promise: EventLoopPromise<Void>?) {
    context.write(wrapOutboundOut(buffer), promise: promise)
    buffer = ByteBuffer()
  }
}
