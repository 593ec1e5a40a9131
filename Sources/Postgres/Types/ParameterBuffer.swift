/// The parameters of one call, encoded back to back in one buffer, in PostgreSQL's binary formats.
public struct ParameterBuffer: Sendable {
  /// Type OID of each parameter.
  package private(set) var types: [UInt32] = []
  /// Bytes that each parameter takes in `bytes`; -1 for NULL.
  package private(set) var lengths: [Int32] = []
  package private(set) var bytes: [UInt8] = []

  package var count: Int { types.count }

  package init() {}

  package mutating func append<Value: PostgresEncodable>(_ value: Value) {
    types.append(Value.postgresType.rawValue)
    let start = bytes.count
    let isNull = !value.encode(into: &bytes)
    lengths.append(isNull ? -1 : Int32(clamping: bytes.count - start))
  }

  package init<each Value: PostgresEncodable>(_ values: repeat each Value) {
    var count = 0
    for _ in repeat (each Value).self { count += 1 }
    guard count > 0 else { return }
    types.reserveCapacity(count)
    lengths.reserveCapacity(count)
    bytes.reserveCapacity(count * 16)
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
  package mutating func append<Integer: FixedWidthInteger>(bigEndian value: Integer) {
    Swift.withUnsafeBytes(of: value.bigEndian) { append(contentsOf: $0) }
  }

  /// Appends a length, then what `body` appends, then corrects the length: the framing of array elements.
  package mutating func appendFramed(_ body: (inout [UInt8]) -> Bool) {
    let at = count
    append(bigEndian: Int32(0))
    let isPresent = body(&self)
    let length = isPresent ? Int32(count - at - 4) : -1
    Swift.withUnsafeBytes(of: length.bigEndian) { source in
      for (offset, byte) in source.enumerated() { self[at + offset] = byte }
    }
  }
}
