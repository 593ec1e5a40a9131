import HTTPTypes
import Hummingbird
import NIOCore

/// A part of a reply that is made while its client takes it. Sent outwards, it belongs to the reply to the request that Hummingbird's channel has.
enum StreamedReply: Sendable {
  case head(HTTPResponse)
  case body(ByteBuffer)
  case end

  /// Sends a reply as its body is made. The next piece is made once the system has taken the one before. A body that breaks off closes the
  /// connection, so that nobody takes what has come for all of it.
  static func send(_ response: Response, on channel: any Channel) async throws {
    do {
      try await send(.head(response.head), on: channel)
      try await response.body.write(Writer(channel: channel))
    } catch {
      channel.triggerUserOutboundEvent(ConnectionHandler.Abort(), promise: nil)
      throw error
    }
  }

  fileprivate static func send(_ part: StreamedReply, on channel: any Channel) async throws {
    let taken = channel.eventLoop.makePromise(of: Void.self)
    channel.triggerUserOutboundEvent(part, promise: taken)
    try await taken.futureResult.get()
  }

  private struct Writer: ResponseBodyWriter {
    let channel: any Channel

    func write(_ buffer: ByteBuffer) async throws { try await StreamedReply.send(.body(buffer), on: channel) }

    func finish(_: HTTPFields?) async throws { try await StreamedReply.send(.end, on: channel) }
  }
}
