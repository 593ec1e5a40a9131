import FoundationEssentials
import NIOCore
import Wire

/// Bodies that are read whole into a type of Wire.
enum JSONBody {
  /// Checks the body against its schema, which the reference documents, before it is decoded. Nesting is limited there too:
  /// decoding goes one call deeper with each level, so a deep body could exhaust the stack.
  /// - Throws: `JSONProblem`, which becomes a 400 that names the field.
  static func decode<Body: APIRequest>(_: Body.Type = Body.self, from bytes: ByteBuffer) throws -> Body {
    let schema = Body.schema
    try bytes.withUnsafeReadableBytes { bytes in
      try JSONReader.read(bytes) { reader throws(JSONProblem) in try schema.check(&reader) }
    }
    return try JSONDecoder().decode(Body.self, from: Data(bytes.readableBytesView))
  }
}
