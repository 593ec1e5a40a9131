import Hummingbird
import NIOCore
import Synchronization

/// A request's body that remembers whether it was read to its end.
struct WatchedBody: AsyncSequence, Sendable {
  fileprivate final class End: Sendable {
    let reached = Atomic(false)
  }

  private let body: RequestBody
  private let end = End()

  /// Puts itself in the place of the request's body, if that is one whose rest nobody should have to wait for: one of unknown
  /// length, or of more than `Limits.body`. The rest of all others is read before the connection's next request.
  init?(in request: inout Request) {
    guard request.mayBeEndless else { return nil }
    body = request.body
    request.body = RequestBody(asyncSequence: self)
  }

  var wasRead: Bool { end.reached.load(ordering: .acquiring) }

  func makeAsyncIterator() -> Iterator { Iterator(parts: body.makeAsyncIterator(), end: end) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate var parts: RequestBody.AsyncIterator
    fileprivate let end: End

    mutating func next() async throws -> ByteBuffer? {
      let part = try await parts.next()
      if part == nil { end.reached.store(true, ordering: .releasing) }
      return part
    }
  }
}

extension Request {
  fileprivate var mayBeEndless: Bool {
    if headers[.transferEncoding] != nil { return true }
    guard let length = headers[.contentLength] else { return false }
    return Int(length).map { $0 > Limits.body } ?? true
  }
}
