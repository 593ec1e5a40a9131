import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// Listens, and answers each connection in a task of its own until it is told to stop; then requests in flight are finished.
struct HTTPServer: Service {
  let responder: RouterResponder<SiteContext>
  let settings: SiteSettings
  /// Called with the port once the socket accepts connections.
  let onListening: @Sendable (Int) async -> Void
  let logger: Logger

  func run() async throws {
    try await Server(
      childChannelSetup: self,
      configuration: ServerConfiguration(address: .hostname(settings.host, port: settings.port), backlog: 1024),
      onServerRunning: { await onListening($0.localAddress?.port ?? 0) },
      eventLoopGroup: MultiThreadedEventLoopGroup.singleton, logger: logger
    ).run()
  }
}

extension HTTPServer: ServerChildChannel {
  struct Value: ServerChildChannelValue {
    let channel: any Channel
    let connection: NIOLoopBound<Connection>
    let inbox: RequestInbox
  }

  func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
    channel.eventLoop.makeCompletedFuture {
      let inbox = RequestInbox()
      let connection = Connection(inbox: inbox, idleTime: .seconds(settings.idleSeconds))
      var limits = NIOHTTPDecoderLimitConfiguration()
      limits.maxHeaderFieldSize = 16 * 1024
      limits.maxHeaderListSize = 32 * 1024
      limits.maxHeaderFieldCount = 100
      let pipeline = channel.pipeline.syncOperations
      try pipeline.configureHTTPServerPipeline(
        withPipeliningAssistance: false, withErrorHandling: false, withOutboundHeaderValidation: false,
        withEncoderConfiguration: .init(), withDecoderLimitConfiguration: limits)
      try pipeline.addHandler(connection)
      return Value(
        channel: channel, connection: NIOLoopBound(connection, eventLoop: channel.eventLoop), inbox: inbox)
    }
  }

  func handle(value: Value, logger: Logger) async {
    await withTaskCancellationHandler {
      while let request = await value.inbox.next() { await answer(request, on: value) }
    } onCancel: {
      value.channel.close(promise: nil)
    }
  }

  private func answer(_ request: Request, on value: Value) async {
    do {
      let context = SiteContext(source: ApplicationRequestContextSource(channel: value.channel, logger: logger))
      var response = try await responder.respond(to: request, context: context)
      response.headers[.date] = HTTPDate.now
      try await response.body.write(ReplyWriter(response.head, to: value.connection))
    } catch {
      logger.debug("a reply was not finished", metadata: ["error": "\(error)"])
      value.connection.execute { $0.abort() }
    }
  }
}
