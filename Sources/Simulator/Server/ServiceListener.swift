import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import NIOTLS

/// The port of a simulated service: HTTP/2 over TLS, or HTTP/1.1 where the service speaks it and a client takes it.
struct ServiceListener: Sendable {
  private let channel: any Channel

  /// - Parameters:
  ///   - certificate: nil for HTTP/1.1 without TLS.
  ///   - connections: where the connections of this port are listed.
  ///   - http1: sets up a connection that speaks HTTP/1.1, for services that let ALPN decide; nil for HTTP/2 alone.
  ///   - accept: makes a new connection.
  /// - Throws: if the port cannot be bound.
  init<Connection: ServiceConnection>(
    host: String, port: Int, certificate: NIOSSLContext?, connections: ConnectionTable,
    http1: (@Sendable (any Channel, ServerHandler<Connection>) throws -> Void)? = nil,
    accept: @escaping @Sendable () -> Connection
  ) async throws {
    channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .serverChannelOption(.backlog, value: 256)
      .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let connection = accept()
          let handler = ServerHandler(connection, number: connections.nextNumber(), in: connections)
          guard let certificate else {
            try http1?(channel, handler)
            return
          }
          let tls = NIOSSLServerHandler(context: certificate) { presented, verified in
            handler.present(presented)
            verified.succeed(.certificateVerified)
          }
          let pipeline = channel.pipeline.syncOperations
          try pipeline.addHandler(tls)
          let streams = connection.streamLimit
          guard let http1 else { return try Self.addHTTP2(to: pipeline, streams: streams, handler) }
          try pipeline.addHandler(
            NIOTypedApplicationProtocolNegotiationHandler<Void> { result, channel in
              channel.eventLoop.makeCompletedFuture {
                guard case .negotiated("h2") = result else { return try http1(channel, handler) }
                try Self.addHTTP2(to: pipeline, streams: streams, handler)
              }
            })
        }
      }
      .bind(host: host, port: port).get()
  }

  var port: Int { channel.localAddress?.port ?? 0 }

  func close() async {
    try? await channel.close()
  }

  /// Answers requests of HTTP/1.1 as those of HTTP/2.
  @Sendable static func http1(_ channel: any Channel, _ handler: ServerHandler<some ServiceConnection>) throws {
    let pipeline = channel.pipeline.syncOperations
    try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false)
    try pipeline.addHandlers(HTTP1Frames(), handler)
  }

  private static func addHTTP2(
    to pipeline: ChannelPipeline.SynchronousOperations, streams: Int, _ handler: some ChannelHandler
  ) throws {
    try pipeline.addHandlers(TLSRecordBuffer(), http2(streams: streams), handler)
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

/// A port of a simulated service, as commands name it.
public struct SimulatedPort: Sendable {
  /// Without its hyphens, such as `fcm-port`.
  public let option: String
  public let usual: Int
  /// What is there, for the command that is the Simulator: `FCM and Google's token endpoint`.
  public let help: String
  /// A short name, for other commands: `FCM`.
  public let name: String
}

/// The machine on which the Simulator listens.
struct ListeningHost: Sendable {
  let settings: SimulatorSettings
  let authority: CertificateAuthority

  /// - Parameters:
  ///   - protocols: what TLS lets clients choose from, the preferred one first; empty for HTTP/1.1 without a choice.
  ///   - isPlain: for HTTP/1.1 without TLS.
  ///   - http1: see `ServiceListener`.
  func listen<Connection: ServiceConnection>(
    on port: SimulatedPort, _ connections: ConnectionTable, protocols: [String] = ["h2"],
    asksForCertificate: Bool = false,
    isPlain: Bool = false, http1: (@Sendable (any Channel, ServerHandler<Connection>) throws -> Void)? = nil,
    accept: @escaping @Sendable () -> Connection
  ) async throws -> ServiceListener {
    let certificate =
      isPlain
      ? nil
      : try authority.serverContext(
        name: settings.name, asksForCertificate: asksForCertificate, protocols: protocols)
    return try await ServiceListener(
      host: settings.host, port: settings.ports[port.option] ?? port.usual, certificate: certificate,
      connections: connections, http1: http1, accept: accept)
  }

  /// Listens for a service that remembers nothing of a connection.
  func listen<Plain: PlainService>(
    on port: SimulatedPort, _ service: Plain, protocols: [String] = ["h2"], isPlain: Bool = false,
    http1: (@Sendable (any Channel, ServerHandler<PlainConnection<Plain>>) throws -> Void)? = nil
  ) async throws -> ServiceListener {
    try await listen(on: port, service.traffic.connections, protocols: protocols, isPlain: isPlain, http1: http1) {
      PlainConnection(service: service)
    }
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
