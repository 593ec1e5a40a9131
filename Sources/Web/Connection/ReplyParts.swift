import HTTPTypes
import Hummingbird
import NIOCore
import Locking

#if canImport(Glibc)
  import Glibc
#endif

/// Takes a reply's body in one piece, for replies that are short and made already.
final class BodyCollector: ResponseBodyWriter {
  private(set) var bytes: ByteBuffer?
  /// What a large reply holds until it is taken.
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
