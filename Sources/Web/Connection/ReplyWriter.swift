import HTTPTypes
import Hummingbird
import NIOCore

/// Takes a reply's body from whoever makes it to the connection: in one piece with the head when it is short, and no faster
/// than the client reads when it is not.
final class ReplyWriter: ResponseBodyWriter {
  /// Bytes that are gathered before they are written.
  private static let piece = 64 * 1024

  private let connection: NIOLoopBound<HTTP1Connection>
  private var head: ReplyHead?
  private var gathered: ByteBuffer?

  init(_ head: ReplyHead, to connection: NIOLoopBound<HTTP1Connection>) {
    self.head = head
    self.connection = connection
  }

  func write(_ buffer: ByteBuffer) async throws {
    if gathered == nil { gathered = buffer } else { gathered?.writeImmutableBuffer(buffer) }
    guard let bytes = gathered, bytes.readableBytes >= Self.piece else { return }
    let written = connection.eventLoop.makePromise(of: Void.self)
    connection.execute { [head] in $0.write(head, bytes, written: written) }
    (head, gathered) = (nil, nil)
    try await written.futureResult.get()
  }

  func finish(_: HTTPFields?) {
    connection.execute { [head, gathered] in $0.finish(head, gathered) }
  }
}
