import FoundationEssentials
public import HTTPTypes
public import Hummingbird
public import NIOCore
import Operations
import Wire

/// Replies in JSON.
public enum JSONReply {
  /// From bytes that are JSON already.
  public static func make(_ status: HTTPResponse.Status = .ok, bytes: ByteBuffer, headers: HTTPFields = [:]) -> Response
  {
    var headers = headers
    headers[.contentType] = "application/json; charset=utf-8"
    headers[.cacheControl] = "no-store"
    return Response(status: status, headers: headers, body: ResponseBody(byteBuffer: bytes))
  }

  /// From JSON.
  static func make(_ status: HTTPResponse.Status = .ok, json: [UInt8]) -> Response {
    make(status, bytes: ByteBuffer(bytes: json))
  }

  /// From bytes that are JSON already, and what holds their memory. The connection holds it until the client has taken the reply, and
  /// ends when that takes longer than `ConnectionLimits.largeReply`.
  static func make(
    _ status: HTTPResponse.Status = .ok, bytes: ByteBuffer, headers: HTTPFields = [:],
    holding memory: (any AnyObject & Sendable)?
  ) -> Response {
    var response = make(status, bytes: bytes, headers: headers)
    guard let memory else { return response }
    response.body = ResponseBody(contentLength: bytes.readableBytes) { writer in
      (writer as? BodyCollector)?.memory = memory
      try await writer.write(bytes)
      try await writer.finish(nil)
    }
    return response
  }

  /// From an `Encodable`, keys sorted.
  public static func make(_ status: HTTPResponse.Status = .ok, _ body: some Encodable, headers: HTTPFields = [:]) throws
    -> Response
  {
    make(status, bytes: ByteBuffer(bytes: try encode(body)), headers: headers)
  }

  /// The bytes that `make` sends, for replies that are stored as well.
  public static func encode(_ body: some Encodable) throws -> [UInt8] { try JSONCoding.encode(body) }

  /// `{"error":"…"}`, with the error's code if it has one, or nothing if it says nothing.
  static func make(_ error: HTTPErrorResponse) -> Response {
    if error.sentence.isEmpty { return Response(status: error.status, headers: error.headers) }
    let body = (try? encode(ErrorReply(error: error.sentence, code: error.code))) ?? Array(#"{"error":"refused"}"#.utf8)
    return make(error.status, bytes: ByteBuffer(bytes: body), headers: error.headers)
  }
}

extension Response {
  /// A text that is not to be stored, with the status 200.
  static func text(_ text: String, type: String = "text/plain; charset=utf-8") -> Response {
    Response(
      status: .ok, headers: [.contentType: type, .cacheControl: "no-store"],
      body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
  }
}
