import HTTPTypes
import Hummingbird
import NIOCore

/// What stands before the body of a reply.
struct ReplyHead: Sendable {
  var status: HTTPResponse.Status
  var fields: HTTPFields
  /// Names the request in the hub's log.
  var requestID: String?

  init(_ response: Response, requestID: String? = nil) {
    status = response.status
    fields = response.headers
    self.requestID = requestID
  }

  /// Whether the client knows where the body ends before it comes (RFC 9112, section 6.3).
  var saysLength: Bool { isWithoutBody || fields.contains(.contentLength) }

  fileprivate var isWithoutBody: Bool { status.kind == .informational || status.code == 204 || status.code == 304 }
}

/// Writes replies as HTTP/1.1 does (RFC 9112): a short one is one buffer, and leaves in one piece.
struct ReplyEncoder {
  private var isChunked = false
  private var isWithoutBody = false

  mutating func begin(_ head: ReplyHead, _ ending: ReplyEnding, into buffer: inout ByteBuffer) {
    isChunked = ending == .chunked
    isWithoutBody = head.isWithoutBody
    buffer.writeStaticString("HTTP/1.1 ")
    buffer.writeString(String(head.status.code))
    buffer.writeStaticString(" ")
    buffer.writeString(head.status.reasonPhrase)
    buffer.writeStaticString("\r\n")
    for field in head.fields where !(isWithoutBody && field.name == .contentLength) {
      buffer.write(field.name.rawName, field.value)
    }
    if let id = head.requestID { buffer.write("X-Request-Id", id) }
    buffer.write("Date", HTTPDate.now)
    switch ending {
    case .length: break
    case .chunked: buffer.write("Transfer-Encoding", "chunked")
    case .lastOfAll: buffer.write("Connection", "close")
    }
    buffer.writeStaticString("\r\n")
  }

  func write(_ bytes: ByteBuffer, into buffer: inout ByteBuffer) {
    guard !isWithoutBody, bytes.readableBytes > 0 else { return }
    if isChunked {
      buffer.writeString(String(bytes.readableBytes, radix: 16))
      buffer.writeStaticString("\r\n")
    }
    buffer.writeImmutableBuffer(bytes)
    if isChunked { buffer.writeStaticString("\r\n") }
  }

  func end(into buffer: inout ByteBuffer) {
    if isChunked { buffer.writeStaticString("0\r\n\r\n") }
  }
}

/// How a client finds the end of a reply.
enum ReplyEnding {
  /// By its length; further replies may follow.
  case length
  /// By its last chunk; further replies may follow.
  case chunked
  /// No reply follows: by its length, or by the connection's end.
  case lastOfAll
}

extension ByteBuffer {
  fileprivate mutating func write(_ name: String, _ value: String) {
    writeString(name)
    writeStaticString(": ")
    writeString(value)
    writeStaticString("\r\n")
  }
}
