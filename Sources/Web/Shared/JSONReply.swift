public import FoundationEssentials
public import HTTPTypes
public import Hummingbird
public import NIOCore
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

  /// From an `Encodable`, keys sorted, dates in ISO 8601.
  public static func make(_ status: HTTPResponse.Status = .ok, _ body: some Encodable, headers: HTTPFields = [:]) throws
    -> Response
  {
    make(status, bytes: ByteBuffer(bytes: try encode(body)), headers: headers)
  }

  /// The bytes that `make` sends, for replies that are stored as well.
  public static func encode(_ body: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .iso8601
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return try encoder.encode(body)
  }

  /// `{"error":"…"}`, or nothing if the error says nothing.
  static func make(_ error: HTTPErrorResponse) -> Response {
    if error.sentence.isEmpty { return Response(status: error.status, headers: error.headers) }
    let body = (try? encode(ErrorReply(error: error.sentence))) ?? Data(#"{"error":"refused"}"#.utf8)
    return make(error.status, bytes: ByteBuffer(bytes: body), headers: error.headers)
  }
}
