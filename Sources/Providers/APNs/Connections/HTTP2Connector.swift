import FoundationEssentials
import NIOCore
import NIOHTTP2
import NIOPosix
import NIOSSL

/// Opens connections to one of APNs's addresses.
struct HTTP2Connector: Sendable {
  let address: ServiceAddress
  let trust: NIOSSLContext
  let connectTimeout: TimeAmount

  /// Looks the name up anew, connects, and sets the connection going. Fails when no address answers; what fails after
  /// that, a TLS handshake say, reaches the connection.
  func dial(_ connection: HTTP2Connection, on loop: any EventLoop) -> EventLoopFuture<Void> {
    let bound = NIOLoopBound(connection, eventLoop: loop)
    return ClientBootstrap(group: loop)
      .connectTimeout(connectTimeout)
      .channelOption(.tcpOption(.tcp_nodelay), value: 1)
      .channelOption(.writeBufferWaterMark, value: .init(low: 128 << 10, high: 512 << 10))
      .connect(host: address.host, port: address.port)
      .flatMapThrowing { channel in
        // Not in a channel initialiser: where a name has several addresses, that runs for each of them.
        try channel.pipeline.syncOperations.addHandlers(
          NIOSSLClientHandler(context: trust, serverHostname: address.isNumeric ? nil : address.host),
          FlushCoalescer(), http2(bound.value), bound.value)
      }
  }

  /// Without a stream multiplexer. The limits that guard a server against its clients are off or wide: when APNs lowers its
  /// stream limit it may refuse a thousand streams at once, and answers may come long after we gave a stream up.
  private func http2(_ connection: HTTP2Connection) -> NIOHTTP2Handler {
    var settings = NIOHTTP2Handler.ConnectionConfiguration()
    settings.initialSettings = [
      HTTP2Setting(parameter: .enablePush, value: 0),
      HTTP2Setting(parameter: .maxHeaderListSize, value: 16 << 10),
    ]
    settings.maximumRecentlyResetStreams = 4096
    settings.maximumConnectionGlitches = .max
    var streams = NIOHTTP2Handler.StreamConfiguration()
    streams.streamResetFrameRateLimit.windowLength = .nanoseconds(0)
    streams.streamErrorRateLimit.windowLength = .nanoseconds(0)
    return NIOHTTP2Handler(
      mode: .client, frameDelegate: connection, connectionConfiguration: settings, streamConfiguration: streams)
  }
}
