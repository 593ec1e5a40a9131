import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOHTTPTypesHTTP1
import NIOPosix
import ServiceLifecycle
import Synchronization

/// Listens, and serves connections until the hub stops; then requests in flight are finished.
struct HTTPServer: Service {
  private let requestHandler: RequestHandler
  private let settings: WebServerSettings
  private let onListening: @Sendable (Int) async -> Void
  private let logger: Logger
  private let connections: ConnectionCounter

  /// - Parameter onListening: called with the port once the socket accepts connections.
  init(
    requestHandler: RequestHandler, settings: WebServerSettings, onListening: @escaping @Sendable (Int) async -> Void,
    logger: Logger
  ) {
    self.requestHandler = requestHandler
    self.settings = settings
    self.onListening = onListening
    self.logger = logger
    connections = ConnectionCounter(limit: settings.limits.connectionsPerAddress)
  }

  func run() async throws {
    try await Server(
      childChannelSetup: self,
      configuration: ServerConfiguration(
        address: .hostname(settings.host, port: settings.port), backlog: 1024,
        availableConnectionsDelegate: .maximum(settings.connections, logger: logger)),
      onServerRunning: { await onListening($0.localAddress?.port ?? 0) },
      eventLoopGroup: Self.eventLoops, logger: logger
    ).run()
  }

  /// One for every two cores, as tasks, connections to push services and PostgreSQL want the others. More are slower: a batch of answers
  /// wakes each of them.
  private static let eventLoops = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))
}

extension HTTPServer: HTTPChannelHandler {
  struct TooManyConnections: Error {}

  var responder: HTTPChannelHandler.Responder {
    { [requestHandler] request, _, channel in try await requestHandler.respond(to: request, on: channel) }
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<AcceptedConnection> {
    channel.eventLoop.makeCompletedFuture {
      let peer = IPAddress(channel.remoteAddress)
      if !settings.trustedProxies.contains(peer) {
        guard connections.add(peer.client) else {
          channel.close(promise: nil)
          throw TooManyConnections()
        }
        channel.closeFuture.whenComplete { [connections] _ in connections.remove(peer.client) }
      }
      return AcceptedConnection(try makePipeline(of: channel, from: peer))
    }
  }

  private func makePipeline(of channel: any Channel, from peer: IPAddress) throws -> HTTP1Channel.Value {
    var limits = NIOHTTPDecoderLimitConfiguration()
    limits.maxHeaderFieldSize = 16 * 1024
    limits.maxHeaderListSize = 32 * 1024
    limits.maxHeaderFieldCount = 100
    let decoder = HTTPRequestDecoder(
      leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .drop, limitConfiguration: limits)
    let connection = ConnectionHandler(requestHandler, peer: peer, limits: settings.limits)
    let pipeline = channel.pipeline.syncOperations
    try pipeline.addHandler(TransportHandler(connection))
    try pipeline.addHandler(HTTPResponseEncoder())
    try pipeline.addHandler(ByteToMessageHandler(decoder, maximumBufferSize: 64 * 1024))
    try pipeline.addHandler(connection)
    try pipeline.addHandler(HTTP1ToHTTPServerCodec(secure: false))
    return try HTTP1Channel.Value(
      wrappingChannelSynchronously: channel, configuration: .init(isOutboundHalfClosureEnabled: true))
  }

  /// Answers requests until the connection ends.
  func handle(value: AcceptedConnection, logger: Logger) async {
    await withTaskCancellationHandler {
      await handleHTTP(asyncChannel: value.take(), logger: logger)
    } onCancel: {
      value.channel.triggerUserOutboundEvent(ConnectionHandler.Abort(), promise: nil)
    }
  }
}

/// A connection that waits to be handled. A server that ends drops those that wait. NIO ends the process if an async channel is dropped
/// that nobody has closed, so this closes it.
final class AcceptedConnection: ServerChildChannelValue {
  private let asyncChannel: HTTP1Channel.Value
  private let isTaken = Atomic(false)
  var channel: any Channel { asyncChannel.channel }

  init(_ asyncChannel: HTTP1Channel.Value) { self.asyncChannel = asyncChannel }

  deinit {
    if isTaken.load(ordering: .acquiring) { return }
    Task { [asyncChannel] in try await asyncChannel.executeThenClose { _, _ in } }
  }

  /// - Returns: the channel, which the caller closes.
  func take() -> HTTP1Channel.Value {
    isTaken.store(true, ordering: .releasing)
    return asyncChannel
  }
}

extension NIOLoopBound<ConnectionHandler> {
  /// Does something with the connection on its event loop: now, if this is there.
  func execute(_ body: @escaping @Sendable (ConnectionHandler) -> Void) {
    if eventLoop.inEventLoop { body(value) } else { eventLoop.execute { body(value) } }
  }
}

/// Stands next to the socket and counts input before it is decoded.
final class TransportHandler: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias InboundOut = ByteBuffer

  private let connection: ConnectionHandler

  init(_ connection: ConnectionHandler) { self.connection = connection }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    if connection.receive(unwrapInboundIn(data).readableBytes) { context.fireChannelRead(data) }
  }
}

@available(*, unavailable)
extension TransportHandler: Sendable {}
