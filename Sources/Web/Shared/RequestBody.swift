import Locking
import FoundationEssentials
public import Hummingbird
public import NIOCore
public import Operations
public import Wire

extension Request {
  /// The JSON body as bytes.
  /// - Throws: `HTTPErrorResponse`: 415 when the content type is absent or another; as `bytes`.
  public func jsonBytes(upTo limit: Int = Limits.body) async throws -> ByteBuffer {
    try requireJSON()
    return try await bytes(upTo: limit)
  }

  /// - Throws: `HTTPErrorResponse` (415) when the content type is absent or another.
  func requireJSON() throws(HTTPErrorResponse) {
    guard let type = headers[.contentType], JSONBody.isType(type) else { throw .notJSON }
  }

  /// The body, whatever it is; empty if there is none.
  /// - Throws: `HTTPErrorResponse`: 413 when it is larger than `limit`, however it was framed, 400 when it breaks off.
  public func bytes(upTo limit: Int = Limits.body) async throws -> ByteBuffer {
    try checkLength(upTo: limit)
    do {
      return try await collect(upTo: limit)
    } catch  where !(error is HTTPErrorResponse) && !(error is CancellationError) {
      throw HTTPErrorResponse.brokenBody
    }
  }

  /// - Throws: `HTTPErrorResponse` (413) when the head says that the body is larger.
  func checkLength(upTo limit: Int) throws(HTTPErrorResponse) {
    guard let length = headers[.contentLength] else { return }
    guard let bytes = UInt64(length), bytes <= UInt64(limit) else { throw .tooLarge(limit: limit) }
  }

  private func collect(upTo limit: Int) async throws -> ByteBuffer {
    var whole: ByteBuffer?
    for try await chunk in body {
      if whole == nil { whole = chunk } else { whole?.writeImmutableBuffer(chunk) }
      if let size = whole?.readableBytes, size > limit { throw HTTPErrorResponse.tooLarge(limit: limit) }
    }
    return whole ?? ByteBuffer()
  }

  /// The JSON body as a type of Wire.
  /// - Throws: as `jsonBytes` and `JSONBody.decode`.
  public func json<Body: APIRequest>(_: Body.Type = Body.self, upTo limit: Int = Limits.body) async throws -> Body {
    try JSONBody.decode(from: try await jsonBytes(upTo: limit))
  }
}

/// Decodes bodies that are read whole into a type of Wire.
enum JSONBody {
  /// Schemas are made by reflection, so each is made once.
  private static let schemas = Mutex<[ObjectIdentifier: Schema]>([:])

  /// Checks the body against its schema, which the reference documents, and decodes it.
  /// - Throws: `JSONProblem`, which becomes a 400 that names the field.
  static func decode<Body: APIRequest>(_: Body.Type = Body.self, from bytes: ByteBuffer) throws -> Body {
    let schema = schemas.withLock { schemas in
      if let known = schemas[ObjectIdentifier(Body.self)] { return known }
      let schema = Body.schema
      schemas[ObjectIdentifier(Body.self)] = schema
      return schema
    }
    return try schema.decode(from: Array(bytes.readableBytesView))
  }

  /// `application/json`, with or without parameters, in any case.
  static func isType(_ contentType: String) -> Bool {
    let expected: StaticString = "application/json"
    var position = 0
    for byte in contentType.utf8 {
      if position == expected.utf8CodeUnitCount {
        return byte == UInt8(ascii: ";") || byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
      }
      guard byte | 0x20 == expected.utf8Start[position] || byte == expected.utf8Start[position] else { return false }
      position += 1
    }
    return position == expected.utf8CodeUnitCount
  }
}
