/// One-dimensional arrays: dimensions, null flag and element type as int4, then each element preceded by its length.
extension Array: PostgresEncodable where Element: PostgresArrayElement {
  public static var postgresType: PostgresType {
    guard let type = Element.postgresType.array else { preconditionFailure("no array type for \(Element.self)") }
    return type
  }

  public func encode(into bytes: inout [UInt8]) -> Bool {
    bytes.append(bigEndian: Int32(isEmpty ? 0 : 1))
    bytes.append(bigEndian: Int32(1))
    bytes.append(bigEndian: Element.postgresType.rawValue)
    guard !isEmpty else { return true }
    bytes.append(bigEndian: Int32(count))
    bytes.append(bigEndian: Int32(1))
    for element in self { bytes.appendFramed { element.encode(into: &$0) } }
    return true
  }
}

extension Array: PostgresDecodable where Element: PostgresArrayElement {
  public static func accepts(_ type: PostgresType) -> Bool { type == Self.postgresType }

  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    var reader = ArrayReader(bytes: try present(bytes))
    let dimensions: Int32 = try reader.integer()
    _ = try reader.integer() as Int32
    let element = PostgresType(rawValue: try reader.integer())
    guard Element.accepts(element) else { throw .type(found: element) }
    self = []
    guard dimensions > 0 else { return }
    guard dimensions == 1 else { throw .format("an array of \(dimensions) dimensions") }
    let count: Int32 = try reader.integer()
    _ = try reader.integer() as Int32
    reserveCapacity(Int(count))
    for _ in 0..<count { append(try Element(postgres: try reader.framed(), type: element)) }
  }
}

private struct ArrayReader {
  var bytes: UnsafeRawBufferPointer

  mutating func take(_ count: Int) throws(DecodingProblem) -> UnsafeRawBufferPointer {
    guard count >= 0, bytes.count >= count else { throw .format("an array that ends too soon") }
    defer { bytes = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(count)) }
    return UnsafeRawBufferPointer(rebasing: bytes.prefix(count))
  }

  mutating func integer<Integer: FixedWidthInteger>() throws(DecodingProblem) -> Integer {
    try take(MemoryLayout<Integer>.size).bigEndian()
  }

  mutating func framed() throws(DecodingProblem) -> UnsafeRawBufferPointer? {
    let length: Int32 = try integer()
    return length < 0 ? nil : try take(Int(length))
  }
}
