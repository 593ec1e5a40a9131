import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Listens, and serves connections until it is told to stop; then requests in flight are finished.
struct HTTPServer: Service {
  let requestHandler: RequestHandler
  let settings: WebServerSettings
  /// Called with the port once the socket accepts connections.
  let onListening: @Sendable (Int) async -> Void
  let logger: Logger

  func run() async throws {
    try await Server(
      childChannelSetup: self,
      configuration: ServerConfiguration(
        address: .hostname(settings.host, port: settings.port), backlog: 1024,
        availableConnectionsDelegate: .maximum(settings.connections, logger: logger)),
      onServerRunning: { await onListening($0.localAddress?.port ?? 0) },
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger
    ).run()
  }
}

extension HTTPServer: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
    let connection: NIOLoopBound<HTTP1Connection>
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let connection = HTTP1Connection(requestHandler, idleTime: .seconds(settings.idleSeconds))
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = 16 * 1024
      limits.maxHeaderListSize = 32 * 1024
      limits.maxHeaderFieldCount = 100
      let decoder = HTTPRequestDecoder(
        leftOverBytesStrategy: .dropBytes, informationalResponseStrategy: .drop, limitConfiguration: limits)
      let pipeline = channel.pipeline.syncOperations
      try pipeline.addHandlers(ByteToMessageHandler(decoder), connection)
      return Value(channel: channel, connection: NIOLoopBound(connection, eventLoop: channel.eventLoop))
    }
  }

  /// Waits for the end of a connection, and of what still answers its last request.
  func handle(value: Value, logger: Logger) async {
    await withTaskCancellationHandler {
      try? await value.channel.closeFuture.get()
    } onCancel: {
      value.channel.close(promise: nil)
    }
    let connection = value.connection
    let answering = try? await connection.eventLoop.submit { connection.value.answering }.get()
    if Task.isCancelled { answering?.cancel() }
    await answering?.value
  }
}
