import HTTPTypes
import NIOHTTP1
import NIOHTTPTypesHTTP1
import Operations
import Wire

/// What the head of a request says about its body's end and the connection's (RFC 9112, sections 3.2, 6 and 9.3). NIO's decoder checks
/// syntax, sizes and Content-Length, and neither Host nor what an upgrade would leave unread.
struct RequestFraming: Equatable {
  /// Bytes of the body; 0 if there is none, nil if it is chunked.
  var bodyBytes: Int?
  /// Whether further requests may follow.
  var keepsAlive: Bool

  /// - Throws: why the request is refused and the connection closed.
  static func check(_ head: HTTPRequestHead) throws(HTTPErrorResponse) -> RequestFraming {
    var hosts = 0
    var isChunked = false
    var isUpgrade = head.method == .CONNECT
    var length = 0
    guard CombiningMarks.areFew(inTarget: head.uri) else { throw .excessiveMarks }
    for (name, value) in head.headers {
      guard CombiningMarks.areFew(in: value) else { throw .excessiveMarks }
      switch name.utf8.count {
      case 4 where name.isField("host"):
        hosts += 1
        guard hosts == 1, isHost(value) else { throw .malformedHost }
      case 7 where name.isField("upgrade"): isUpgrade = true
      case 14 where name.isField("content-length"):
        // The decoder lets only one number of 64 bits through.
        length = UInt64(value).map { Int(clamping: $0) } ?? .max
      case 17 where name.isField("transfer-encoding"):
        guard !isChunked, value.isField("chunked") else { throw .unknownTransferEncoding }
        isChunked = true
      default: break
      }
    }
    let isHTTP10 = head.version.minor == 0
    guard hosts == 1 || isHTTP10 else { throw .malformedHost }
    guard isTarget(head) else { throw .notHTTP }
    // The decoder stops behind an upgrade request, and framing by chunks cannot be trusted in HTTP/1.0.
    let keepsAlive = head.isKeepAlive && !isUpgrade && !(isHTTP10 && isChunked)
    return RequestFraming(bodyBytes: isChunked ? nil : length, keepsAlive: keepsAlive)
  }

  private static func isTarget(_ head: HTTPRequestHead) -> Bool {
    if head.uri.utf8.first == UInt8(ascii: "/") { return true }
    return (try? HTTPRequest(head, secure: false, splitCookie: false)) != nil
  }

  /// Whether this is a host and perhaps a port (RFC 3986, section 3.2.2): a name, an IPv4 address, or an IPv6 address in
  /// brackets.
  static func isHost(_ text: String) -> Bool {
    var rest = text.utf8[...]
    if rest.first == UInt8(ascii: "[") {
      guard let end = rest.firstIndex(of: UInt8(ascii: "]")) else { return false }
      let address = rest[rest.index(after: rest.startIndex)..<end]
      guard !address.isEmpty, address.allSatisfy({ $0.isHexDigit || ":.".utf8.contains($0) }) else { return false }
      rest = rest[rest.index(after: end)...]
    } else {
      let name = rest.prefix { $0 != UInt8(ascii: ":") }
      guard !name.isEmpty, name.allSatisfy(\.isHostCharacter) else { return false }
      rest = rest[name.endIndex...]
    }
    guard let colon = rest.first else { return true }
    let port = rest.dropFirst()
    return colon == UInt8(ascii: ":") && port.count <= 5 && port.allSatisfy { (0x30...0x39).contains($0) }
  }
}

/// Counts what a chunked body costs beside its payload: sizes and extensions, which NIO's decoder drops uncounted, and trailers, which it
/// counts as fields of the head.
struct ChunkFraming {
  /// Bytes beside the payload that any body may have.
  static let allowance = 16 * 1024
  /// Further bytes for each byte of payload; a chunk of one byte needs five.
  static let perByte = 8

  private var raw = 0
  private var payload = 0
  private var isChunked = false

  mutating func begin(_ framing: RequestFraming) {
    self = ChunkFraming()
    isChunked = framing.bodyBytes == nil
  }

  mutating func end() { isChunked = false }
  mutating func receive(raw bytes: Int) { raw += bytes }
  mutating func receive(payload bytes: Int) { payload += bytes }

  /// To be asked when all that was received is decoded.
  var isExcessive: Bool { isChunked && raw - payload > Self.allowance + Self.perByte * payload }
}

extension HTTPErrorResponse {
  fileprivate static let excessiveMarks = badRequest(
    "The request's address or one of its headers \(CombiningMarks.problem).")
  static let malformedHost = badRequest("The Host header is missing, repeated or malformed.")
  static let unknownTransferEncoding = badRequest("Of transfer encodings only `chunked` is supported.")
}

extension String {
  /// Whether this is `name`, in any case.
  /// - Parameter name: in lower case.
  fileprivate func isField(_ name: StaticString) -> Bool {
    guard utf8.count == name.utf8CodeUnitCount else { return false }
    var position = 0
    for byte in utf8 {
      let lower = (0x41...0x5A).contains(byte) ? byte | 0x20 : byte
      guard lower == name.utf8Start[position] else { return false }
      position += 1
    }
    return true
  }
}

extension UInt8 {
  fileprivate var isHexDigit: Bool { (0x30...0x39).contains(self) || (0x61...0x66).contains(self | 0x20) }

  /// `unreserved`, `pct-encoded` and `sub-delims` of RFC 3986, without the comma: that one joins repeated headers.
  fileprivate var isHostCharacter: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-._~%!$&'()*+;=".utf8.contains(self)
    }
  }
}
