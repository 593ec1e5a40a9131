import FoundationEssentials
import NIOCore
import NIOPosix
import Wire

/// Firefox's remote control: JSON over TCP, each message behind its length (Marionette, protocol 3).
actor Marionette {
  private let channel: any Channel
  private var messages: AsyncStream<String>.AsyncIterator
  private var last: Int64 = 0

  init(port: Int) async throws {
    let (messages, continuation) = AsyncStream.makeStream(of: String.self)
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(MarionetteReader(continuation))
        }
      }
      .connect(host: "127.0.0.1", port: port).get()
    self.messages = messages.makeAsyncIterator()
    // Its greeting.
    _ = try await next()
  }

  /// A command's refusal, or the end of the connection.
  struct Failure: Error, CustomStringConvertible { let description: String }

  /// Sends a command and waits for its result. One at a time.
  func send(_ command: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
    last += 1
    let message = JSONValue.array([.integer(0), .integer(last), .string(command), parameters]).json
    var bytes = ByteBuffer(string: "\(message.count):")
    bytes.writeBytes(message)
    try await channel.writeAndFlush(bytes)
    guard case .array(let reply) = try JSONValue(parsing: try await next().utf8), reply.count == 4 else {
      throw Failure(description: "\(command): no reply")
    }
    guard reply[2] == .null else {
      throw Failure(description: "\(command): \(reply[2].string("error") ?? "") \(reply[2].string("message") ?? "")")
    }
    return reply[3]
  }

  private func next() async throws -> String {
    var messages = messages
    let message = await messages.next(isolation: self)
    self.messages = messages
    guard let message else { throw Failure(description: "Firefox closed the connection") }
    return message
  }
}

private final class MarionetteReader: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer

  private var received = ByteBuffer()
  private let continuation: AsyncStream<String>.Continuation

  init(_ continuation: AsyncStream<String>.Continuation) { self.continuation = continuation }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    while let colon = received.readableBytesView.firstIndex(of: UInt8(ascii: ":")) {
      let digits = received.readableBytesView[..<colon]
      guard let length = Int(String(decoding: digits, as: UTF8.self)),
        received.readableBytes >= digits.count + 1 + length
      else { return }
      received.moveReaderIndex(forwardBy: digits.count + 1)
      continuation.yield(received.readString(length: length) ?? "")
    }
  }

  func channelInactive(context: ChannelHandlerContext) { continuation.finish() }
  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
