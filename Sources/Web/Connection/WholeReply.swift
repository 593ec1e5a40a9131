import HTTPTypes
import Hummingbird
import NIOCore
import Locking

#if canImport(Glibc)
  import Glibc
#endif

/// A reply that is whole in memory, as all of the hub but exports are. Sent outwards, it is the reply to the request that Hummingbird's channel has.
struct WholeReply: Sendable {
  let head: HTTPResponse
  let body: ByteBuffer?
  /// What a large reply holds until its client has taken it.
  let memory: (any AnyObject & Sendable)?

  /// A reply without a body, such as a 204. None of it has to be awaited.
  /// - Returns: `nil` if it has one.
  init?(withoutBody response: Response) {
    guard response.body.contentLength == 0 else { return nil }
    (head, body, memory) = (response.head, nil, nil)
  }

  /// - Throws: what keeps the body from being made.
  init(_ response: Response) async throws {
    let collector = BodyCollector()
    if response.body.contentLength != 0 { try await response.body.write(collector) }
    var head = response.head
    // Only a body that is made piece by piece does not know its length.
    if response.body.contentLength == nil {
      head.headerFields[.contentLength] = String(collector.bytes?.readableBytes ?? 0)
    }
    self.head = head
    body = collector.bytes
    memory = collector.memory
  }
}

/// Takes a reply's body in one piece, and what it holds.
final class BodyCollector: ResponseBodyWriter {
  private(set) var bytes: ByteBuffer?
  var memory: (any AnyObject & Sendable)?

  func write(_ buffer: ByteBuffer) async throws {
    if bytes == nil { bytes = buffer } else { bytes?.writeImmutableBuffer(buffer) }
  }

  func finish(_: HTTPFields?) async throws {}
}

/// The time as HTTP writes it, made anew once a second. Hummingbird's own serves its `Application` alone.
enum HTTPDate {
  private static let latest = Mutex((second: 0, text: ""))

  /// Such as `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section 5.6.7).
  static var now: String {
    let second = time(nil)
    return latest.withLock { latest in
      if latest.second != second { latest = (second, text(of: second)) }
      return latest.text
    }
  }

  private static func text(of second: time_t) -> String {
    var (second, parts) = (second, tm())
    gmtime_r(&second, &parts)
    return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
      strftime(text.baseAddress, text.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
      return text.baseAddress.map { String(cString: $0) } ?? ""
    }
  }
}
