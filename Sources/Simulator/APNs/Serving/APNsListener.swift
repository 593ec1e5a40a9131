import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A port on which one of APNs's environments listens.
struct APNsListener: Sendable {
  private let channel: any Channel

  /// - Throws: if the port cannot be bound.
  init(
    _ apns: SimulatedAPNs, environment: SimulatedAPNs.Environment, host: String, port: Int, certificate: NIOSSLContext
  ) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers(
            NIOSSLServerHandler(context: certificate), FlushCoalescer(), Self.http2(),
            APNsServerHandler(apns, environment: environment))
        }
      }
      .bind(host: host, port: port).get()
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  func close() async {
    try? await channel.close()
  }

  /// One stream at first, as APNs has it with token authentication. A client may give up as many requests as it likes.
  private static func http2() -> NIOHTTP2Handler {
    var settings = NIOHTTP2Handler.ConnectionConfiguration()
    settings.initialSettings = [
      HTTP2Setting(parameter: .maxConcurrentStreams, value: 1),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
    ]
    settings.maximumConnectionGlitches = .max
    settings.maximumRecentlyResetStreams = 4096
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.streamResetFrameRateLimit.windowLength = .nanoseconds(0)
    streams.streamErrorRateLimit.windowLength = .nanoseconds(0)
    return NIOHTTP2Handler(mode: .server, connectionConfiguration: settings, streamConfiguration: streams)
  }
}
