import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL

/// A client that sends the frames of a test, and keeps every frame it receives.
final class FrameClient: Sendable {
  private let channel: any Channel
  private let frames: AsyncStream<HTTP2Frame>

  /// - Parameter ignoresLimit: takes a limit of one stream for one of 100.
  init(_ url: String, caFile: String, ignoresLimit: Bool = false) async throws {
    let port = Int(url.split(separator: ":").last ?? "") ?? 0
    var configuration = TLSConfiguration.makeClientConfiguration()
    configuration.applicationProtocols = ["h2"]
    configuration.trustRoots = .file(caFile)
    let context = try NIOSSLContext(configuration: configuration)
    let (frames, continuation) = AsyncStream.makeStream(of: HTTP2Frame.self)
    self.frames = frames
    channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandlers(
            NIOSSLClientHandler(context: context, serverHostname: "localhost"))
          if ignoresLimit { try channel.pipeline.syncOperations.addHandler(LimitChange()) }
          try channel.pipeline.syncOperations.addHandlers(NIOHTTP2Handler(mode: .client), Keeper(continuation))
        }
      }
      .connect(host: "localhost", port: port).get()
  }

  func close() async throws { try await channel.close() }

  /// Begins a request; without `payload` it is not ended.
  func send(_ headers: HPACKHeaders, payload: String? = nil, stream: Int) {
    let head = HTTP2Frame.FramePayload.headers(.init(headers: headers, endStream: false))
    channel.write(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: head), promise: nil)
    guard let payload else { return channel.flush() }
    finish(payload, stream: stream)
  }

  /// Ends a request.
  func finish(_ payload: String, stream: Int) {
    let body = HTTP2Frame.FramePayload.data(
      .init(data: .byteBuffer(ByteBuffer(string: payload)), endStream: true))
    channel.writeAndFlush(HTTP2Frame(streamID: HTTP2StreamID(stream), payload: body), promise: nil)
  }

  /// The next frame of its kind; `nil` once the connection is closed.
  func next<Found: Sendable>(_ pick: @Sendable (HTTP2Frame) -> Found?) async -> Found? {
    for await frame in frames {
      if let found = pick(frame) { return found }
    }
    return nil
  }

  /// The status of the reply on a stream.
  func status(on stream: Int) async -> String? {
    await next { frame in
      guard case .headers(let head) = frame.payload, Int(frame.streamID) == stream else { return nil }
      return head.headers.first(name: ":status")
    }
  }

  /// The next stream limit that the server announces.
  func streamLimit() async -> Int? {
    await next { frame in
      guard case .settings(.settings(let settings)) = frame.payload else { return nil }
      return settings.last { $0.parameter == .maxConcurrentStreams }?.value
    }
  }

  /// The next stream that the server resets with this error.
  func reset(_ error: HTTP2ErrorCode) async -> Int? {
    await next { frame in
      guard case .rstStream(error) = frame.payload else { return nil }
      return Int(frame.streamID)
    }
  }

  /// The last stream that the next GOAWAY names, and its debug data.
  func goAway() async -> String? {
    await next { frame in
      guard case .goAway(let last, _, let debugData) = frame.payload else { return nil }
      return "\(Int(last)) \(debugData.map { String(buffer: $0) } ?? "")"
    }
  }

  private final class Keeper: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame
    private let frames: AsyncStream<HTTP2Frame>.Continuation
    init(_ frames: AsyncStream<HTTP2Frame>.Continuation) { self.frames = frames }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) { frames.yield(unwrapInboundIn(data)) }
    func channelInactive(context: ChannelHandlerContext) { frames.finish() }
    func errorCaught(context: ChannelHandlerContext, error: any Error) {}
  }

  /// Writes 100 over the limit of one stream, since NIOHTTP2 keeps to what it reads.
  private final class LimitChange: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    private static let limit: [UInt8] = [0, 3, 0, 0, 0, 1]

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var bytes = unwrapInboundIn(data)
      let all = Array(bytes.readableBytesView)
      for start in all.indices.dropLast(5) where Array(all[start..<start + 6]) == Self.limit {
        bytes.setInteger(UInt8(100), at: bytes.readerIndex + start + 5)
      }
      context.fireChannelRead(wrapInboundOut(bytes))
    }
  }
}
