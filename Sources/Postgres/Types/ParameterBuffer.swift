/// The parameters of one call, encoded back to back in one buffer, in PostgreSQL's binary formats.
public struct ParameterBuffer: Sendable {
  /// Type OID of each parameter.
  package private(set) var types: [UInt32] = []
  /// Bytes that each parameter takes in `bytes`; -1 for NULL.
  package private(set) var lengths: [Int32] = []
  package private(set) var bytes: [UInt8] = []

  package var count: Int { types.count }

  /// The first parameter, if it is a bigint; else 0.
  var firstInteger: Int64 {
    guard types.first == PostgresType.int8.rawValue, lengths[0] == 8 else { return 0 }
    return bytes.withUnsafeBytes { Int64(bigEndian: $0.loadUnaligned(as: Int64.self)) }
  }

  /// - Parameter capacity: about how many bytes there will be.
  package init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

  package mutating func append<Value: PostgresEncodable>(_ value: Value) {
    types.append(Value.postgresType.rawValue)
    let start = bytes.count
    let isNull = !value.encode(into: &bytes)
    lengths.append(isNull ? -1 : Int32(clamping: bytes.count - start))
  }

  /// Appends an array with a value of each item. Inlined into other rooms: no other array is made, and nothing generic runs.
  @inlinable
  package mutating func append<Items: Collection, Element: PostgresArrayElement>(
    each items: Items, _ value: (Items.Element) -> Element
  ) {
    appendArray(of: Element.postgresType, count: items.count) { bytes in
      for item in items { bytes.appendFramed { value(item).encode(into: &$0) } }
    }
  }

  @usableFromInline
  mutating func appendArray(of element: PostgresType, count: Int, _ appendElements: (inout [UInt8]) -> Void) {
    guard let type = element.array else { preconditionFailure("no array type for \(element)") }
    types.append(type.rawValue)
    let start = bytes.count
    bytes.appendArrayHead(of: element, count: count)
    appendElements(&bytes)
    lengths.append(Int32(clamping: bytes.count - start))
  }

  package init<each Value: PostgresEncodable>(_ values: repeat each Value) {
    var count = 0
    for _ in repeat (each Value).self { count += 1 }
    guard count > 0 else { return }
    types.reserveCapacity(count)
    lengths.reserveCapacity(count)
    bytes.reserveCapacity(count * 256)
    for value in repeat each values { append(value) }
  }
}

extension ParameterBuffer {
  /// The protocol counts parameters in 16 bits, and PostgreSQL takes no message of a gigabyte.
  func validate(for statement: Statement) throws(PostgresError) {
    guard count <= Int(UInt16.max) else {
      throw .misuse("\(statement.name): \(count) parameters; the limit is \(UInt16.max)")
    }
    guard bytes.count < 1_000_000_000 else {
      throw .misuse("\(statement.name): \(bytes.count) bytes of parameters; the limit is 1 GB")
    }
  }
}

extension [UInt8] {
  /// Appends an integer in network byte order, as every binary format of PostgreSQL has it.
  @inlinable
  package mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Dimensions, null flag, element type, count and lower bound of an array's binary form.
  mutating func appendArrayHead(of element: PostgresType, count: Int) {
    append(bigEndian: Int32(count == 0 ? 0 : 1))
    append(bigEndian: Int32(1))
    append(bigEndian: element.rawValue)
    guard count > 0 else { return }
    append(bigEndian: Int32(count))
    append(bigEndian: Int32(1))
  }

  /// Appends a length, then what `body` appends, then corrects the length: the framing of array elements.
  @inlinable
  package mutating func appendFramed(_ body: (inout [UInt8]) -> Bool) {
    let at = count
    append(bigEndian: Int32(0))
    let isPresent = body(&self)
    let length = isPresent ? Int32(count - at - 4) : -1
    withUnsafeMutableBytes { $0.storeBytes(of: length.bigEndian, toByteOffset: at, as: Int32.self) }
  }
}
