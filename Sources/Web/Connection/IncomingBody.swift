import NIOCore

/// A body that arrives while its request is being answered. It is read no faster than it is taken.
struct IncomingBody: AsyncSequence, Sendable {
  typealias Parts = NIOThrowingAsyncSequenceProducer<
    ByteBuffer, any Error, NIOAsyncSequenceProducerBackPressureStrategies.HighLowWatermark, Reader
  >

  /// Tells the connection what the body's reader wants.
  struct Reader: NIOAsyncSequenceProducerDelegate {
    let connection: NIOLoopBound<HTTP1Connection>

    func produceMore() { connection.execute { $0.bodyWanted() } }
    func didTerminate() { connection.execute { $0.bodyWanted() } }
  }

  struct BrokeOff: Error {}

  private let parts: Parts
  private let begin: @Sendable () -> Void

  /// - Parameter begin: called when somebody begins to read.
  static func make(
    for connection: NIOLoopBound<HTTP1Connection>, begin: @escaping @Sendable () -> Void
  ) -> (body: IncomingBody, source: Parts.Source) {
    let made = Parts.makeSequence(
      elementType: ByteBuffer.self, failureType: (any Error).self,
      backPressureStrategy: .init(lowWatermark: 1, highWatermark: 4), finishOnDeinit: false,
      delegate: Reader(connection: connection))
    return (IncomingBody(parts: made.sequence, begin: begin), made.source)
  }

  func makeAsyncIterator() -> Iterator {
    begin()
    return Iterator(parts: parts.makeAsyncIterator())
  }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let parts: Parts.AsyncIterator

    func next() async throws -> ByteBuffer? { try await parts.next() }
  }
}

extension NIOLoopBound<HTTP1Connection> {
  /// Does something with the connection, on its event loop: now, if this is there.
  func execute(_ body: @escaping @Sendable (HTTP1Connection) -> Void) {
    if eventLoop.inEventLoop { body(value) } else { eventLoop.execute { body(value) } }
  }
}
