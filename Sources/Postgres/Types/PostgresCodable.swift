/// A value that can be sent as a parameter, in binary.
public protocol PostgresEncodable: Sendable {
  /// What PostgreSQL is told the parameter is.
  static var postgresType: PostgresType { get }
  /// Appends the binary form; returns `false`, having appended nothing, for NULL.
  func encode(into bytes: inout [UInt8]) -> Bool
}

/// A value that can be read from a result column, in binary.
public protocol PostgresDecodable: Sendable {
  /// Column types this value can be read from.
  static func accepts(_ type: PostgresType) -> Bool
  /// - Parameter bytes: `nil` for NULL.
  /// - Throws: `DecodingProblem` when the bytes are not of the format that `type` has.
  init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem)
}

/// A value that can go both ways.
public typealias PostgresCodable = PostgresEncodable & PostgresDecodable

/// A value that may stand in an array; its own arrays, and arrays with NULLs in them, follow from it.
public protocol PostgresArrayElement: PostgresCodable {}

/// Why a column could not be read as the type asked for.
public enum DecodingProblem: Error, Sendable, Equatable {
  case null
  case type(found: PostgresType)
  case format(String)
  case noSuchColumn(String)
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
  public static var postgresType: PostgresType { Wrapped.postgresType }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    guard let self else { return false }
    return self.encode(into: &bytes)
  }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
  public static func accepts(_ type: PostgresType) -> Bool { Wrapped.accepts(type) }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    if let bytes { self = .some(try Wrapped(postgres: bytes, type: type)) } else { self = .none }
  }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement {}

extension UnsafeRawBufferPointer {
  /// The bytes as one integer in network byte order; they must be exactly as long as it.
  func bigEndian<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(DecodingProblem) -> Integer {
    guard count == MemoryLayout<Integer>.size else {
      throw .format("\(count) bytes where \(MemoryLayout<Integer>.size) were due")
    }
    return Integer(bigEndian: loadUnaligned(as: Integer.self))
  }
}

func present(_ bytes: UnsafeRawBufferPointer?) throws(DecodingProblem) -> UnsafeRawBufferPointer {
  guard let bytes else { throw .null }
  return bytes
}
