/// One-dimensional arrays: dimensions, null flag and element type as int4, then each element preceded by its length.
extension Array: PostgresEncodable where Element: PostgresArrayElement {
  public static var postgresType: PostgresType {
    guard let type = Element.postgresType.array else { preconditionFailure("no array type for \(Element.self)") }
    return type
  }

  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.appendArrayHead(of: Element.postgresType, count: count)
    for element in self { bytes.appendFramed { element.encode(into: &$0) } }
    return true
  }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
  public static func accepts(_ type: PostgresType) -> Bool { type == Self.postgresType }

  /// Inlined into other rooms, as the reading of columns is.
  @inlinable
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    var reader = try ArrayReader(bytes)
    guard Element.accepts(reader.element) else { throw .type(found: reader.element) }
    self = []
    reserveCapacity(reader.count)
    for _ in 0..<reader.count { append(try Element(postgres: try reader.framed(), type: reader.element)) }
  }
}

/// Reads an array's head, then its elements one by one.
@usableFromInline
struct ArrayReader {
  @usableFromInline private(set) var element = PostgresType.unknown
  @usableFromInline private(set) var count = 0
  private var bytes: UnsafeRawBufferPointer

  @usableFromInline
  init(_ bytes: UnsafeRawBufferPointer?) throws(DecodingProblem) {
    var rest = Self(rest: try present(bytes))
    let dimensions: Int32 = try rest.integer()
    _ = try rest.integer() as Int32
    rest.element = PostgresType(rawValue: try rest.integer())
    if dimensions > 0 {
      guard dimensions == 1 else { throw .format("an array of \(dimensions) dimensions") }
      rest.count = max(0, Int(try rest.integer() as Int32))
      _ = try rest.integer() as Int32
    }
    self = rest
  }

  private init(rest: UnsafeRawBufferPointer) { bytes = rest }

  mutating func take(_ count: Int) throws(DecodingProblem) -> UnsafeRawBufferPointer {
    guard count >= 0, bytes.count >= count else { throw .format("an array that ends too soon") }
    defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count)) }
    return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
  }

  mutating func integer<Integer: FixedWidthInteger>() throws(DecodingProblem) -> Integer {
    try take(MemoryLayout<Integer>.size).bigEndian()
  }

  @usableFromInline
  mutating func framed() throws(DecodingProblem) -> UnsafeRawBufferPointer? {
    let length: Int32 = try integer()
    return length < 0 ? nil : try take(Int(length))
  }
}
