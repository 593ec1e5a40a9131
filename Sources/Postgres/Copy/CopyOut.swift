/// The rows of a COPY … TO STDOUT.
public struct CopyOut: AsyncSequence, Sendable {
  public typealias Element = [UInt8]
  public struct AsyncIterator: AsyncIteratorProtocol {
    public mutating func next() async throws -> [UInt8]? { nil }
  }
  public func makeAsyncIterator() -> AsyncIterator { AsyncIterator() }
}
