import FoundationEssentials
import NIOCore
import Wire

/// Bodies that are read whole, into a type of Wire.
enum JSONBody {
  /// Checks form and depth before anything is decoded: decoding goes one call deeper with each level of nesting, so a body of
  /// any depth could exhaust the stack.
  /// - Throws: `JSONProblem`, `DecodingError`: both become a 400 that names the field.
  static func decode<Body: Decodable>(_: Body.Type = Body.self, from bytes: ByteBuffer) throws -> Body {
    try bytes.withUnsafeReadableBytes { bytes in
      try JSONReader.read(bytes) { reader throws(JSONProblem) in try reader.skip() }
    }
    return try JSONDecoder().decode(Body.self, from: Data(bytes.readableBytesView))
  }
}
