import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOWebSocket
import Simulator
import Support
import Testing
import Wire

/// A browser's connection to the simulated push service, made of frames.
struct WebSocketClient: Sendable {
  private let channel: any Channel
  private let messages: AsyncStream<String>

  init(_ simulator: PushSimulator) async throws {
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.trustRoots = .file(simulator.caFile)
    let tls = try NIOSSLContext(configuration: configuration)
    let (messages, continuation) = AsyncStream.makeStream(of: String.self)
    let port = try Int(#require(simulator.webPushURL.split(separator: ":").last)) ?? 0
    let upgraded = MultiThreadedEventLoopGroup.singleton.any().makePromise(of: Void.self)
    let connected = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let upgrader = NIOWebSocketClientUpgrader { channel, _ in
            channel.eventLoop.makeCompletedFuture {
              try channel.pipeline.syncOperations.addHandler(FrameReader(continuation))
            }
          }
          try channel.pipeline.syncOperations.addHandler(NIOSSLClientHandler(context: tls, serverHostname: "localhost"))
          try channel.pipeline.syncOperations.addHTTPClientHandlers(
            withClientUpgrade: (upgraders: [upgrader], completionHandler: { _ in upgraded.succeed() }))
        }
      }
      .connect(host: "localhost", port: port)
    // NIO ends the process if a promise is dropped that nobody has kept.
    connected.cascadeFailure(to: upgraded)
    channel = try await connected.get()
    channel.closeFuture.whenComplete { _ in upgraded.fail(ChannelError.eof) }
    let head = HTTPRequestHead(
      version: .http1_1, method: .GET, uri: "/", headers: ["host": "localhost", "content-length": "0"])
    channel.write(HTTPClientRequestPart.head(head), promise: nil)
    try await channel.writeAndFlush(HTTPClientRequestPart.end(nil))
    try await upgraded.futureResult.get()
    self.messages = messages
  }

  /// A new connection that has said hello.
  /// - Parameter agent: the id of an earlier one.
  /// - Returns: its id too.
  static func welcomed(_ simulator: PushSimulator, as agent: String = "") async throws -> (
    WebSocketClient, agent: String
  ) {
    let client = try await WebSocketClient(simulator)
    try await client.say(#"{"messageType":"hello","broadcasts":{},"use_webpush":true,"uaid":"\#(agent)"}"#)
    let hello = try await client.next()
    try #require(hello.string("messageType") == "hello" && hello.integer("status") == 200)
    return (client, try #require(hello.string("uaid")))
  }

  func say(_ text: String) async throws {
    let frame = WebSocketFrame(
      fin: true, opcode: .text, maskKey: WebSocketMaskingKey([1, 2, 3, 4]), data: ByteBuffer(string: text))
    try await channel.writeAndFlush(frame)
  }

  /// Waits for the next message.
  /// - Throws: if the service closes the connection instead.
  func next() async throws -> JSONValue {
    try JSONValue(parsing: try #require(await messages.first { _ in true }).utf8)
  }

  /// Says something, and waits for the next message.
  func ask(_ text: String) async throws -> JSONValue {
    try await say(text)
    return try await next()
  }

  func close() async throws { try await channel.close() }

  /// Waits until the service has closed the connection.
  func closed() async throws { try await channel.closeFuture.get() }
}

private final class FrameReader: ChannelInboundHandler {
  typealias InboundIn = WebSocketFrame

  private let continuation: AsyncStream<String>.Continuation

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let frame = unwrapInboundIn(data)
    if frame.opcode == .text { continuation.yield(String(buffer: frame.unmaskedData)) }
  }

  func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
