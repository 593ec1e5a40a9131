/// A value that can be sent as a parameter, in binary.
public protocol PostgresEncodable: Sendable {
  /// The type that PostgreSQL takes the parameter for.
  static var postgresType: PostgresType { get }
  /// Appends the binary form; returns `false`, having appended nothing, for NULL.
  func encode(into bytes: inout [UInt8]) -> Bool
}

/// A value that can be read from a result column, in binary.
public protocol PostgresDecodable: Sendable {
  /// Column types this value can be read from.
  static func accepts(_ type: PostgresType) -> Bool
  /// - Parameter bytes: `nil` for NULL.
  /// - Throws: `DecodingProblem` when the bytes do not have the format of `type`.
  init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem)
}

/// A value that can be sent and read.
public typealias PostgresCodable = PostgresEncodable & PostgresDecodable

/// A value that may be an element of an array, with or without NULLs.
public protocol PostgresArrayElement: PostgresCodable {}

/// Why a column could not be read as the expected type.
public enum DecodingProblem: Error, Sendable, Equatable {
  case null
  case type(found: PostgresType)
  case format(String)
  case noSuchColumn(String)
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
  @inlinable public static var postgresType: PostgresType { Wrapped.postgresType }
  @inlinable public func encode(into bytes: inout [UInt8]) -> Bool {
    guard let self else { return false }
    return self.encode(into: &bytes)
  }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
  @inlinable public static func accepts(_ type: PostgresType) -> Bool { Wrapped.accepts(type) }
  @inlinable public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    if let bytes { self = .some(try Wrapped(postgres: bytes, type: type)) } else { self = .none }
  }
}

extension Optional: PostgresArrayElement where Wrapped: PostgresArrayElement {}

extension UnsafeRawBufferPointer {
  /// The bytes as one integer in network byte order; they must be exactly as long as it.
  func bigEndian<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(DecodingProblem) -> Integer {
    guard count == MemoryLayout<Integer>.size else {
      throw .format("\(count) bytes instead of \(MemoryLayout<Integer>.size)")
    }
    return Integer(bigEndian: loadUnaligned(as: Integer.self))
  }
}

func present(_ bytes: UnsafeRawBufferPointer?) throws(DecodingProblem) -> UnsafeRawBufferPointer {
  guard let bytes else { throw .null }
  return bytes
}

/// Type OIDs of PostgreSQL's catalogue (`pg_type.dat`), of the supported types.
public struct PostgresType: RawRepresentable, Hashable, Sendable {
  /// The OID.
  public let rawValue: UInt32
  /// Types of extensions have OIDs of their own in each database.
  public init(rawValue: UInt32) { self.rawValue = rawValue }

  // MARK: By their names in PostgreSQL

  public static let bool = PostgresType(rawValue: 16)
  public static let bytea = PostgresType(rawValue: 17)
  public static let int8 = PostgresType(rawValue: 20)
  public static let int2 = PostgresType(rawValue: 21)
  public static let int4 = PostgresType(rawValue: 23)
  public static let text = PostgresType(rawValue: 25)
  public static let json = PostgresType(rawValue: 114)
  public static let float4 = PostgresType(rawValue: 700)
  public static let float8 = PostgresType(rawValue: 701)
  public static let unknown = PostgresType(rawValue: 705)
  public static let varchar = PostgresType(rawValue: 1043)
  public static let bpchar = PostgresType(rawValue: 1042)
  public static let name = PostgresType(rawValue: 19)
  public static let date = PostgresType(rawValue: 1082)
  public static let timestamp = PostgresType(rawValue: 1114)
  public static let timestamptz = PostgresType(rawValue: 1184)
  public static let numeric = PostgresType(rawValue: 1700)
  public static let uuid = PostgresType(rawValue: 2950)
  public static let jsonb = PostgresType(rawValue: 3802)

  /// The array type whose elements are of this type; `nil` if it is not supported.
  var array: PostgresType? {
    switch self {
    case .bool: PostgresType(rawValue: 1000)
    case .bytea: PostgresType(rawValue: 1001)
    case .int2: PostgresType(rawValue: 1005)
    case .int4: PostgresType(rawValue: 1007)
    case .text: PostgresType(rawValue: 1009)
    case .int8: PostgresType(rawValue: 1016)
    case .float4: PostgresType(rawValue: 1021)
    case .float8: PostgresType(rawValue: 1022)
    case .date: PostgresType(rawValue: 1182)
    case .timestamptz: PostgresType(rawValue: 1185)
    case .uuid: PostgresType(rawValue: 2951)
    case .json: PostgresType(rawValue: 199)
    case .jsonb: PostgresType(rawValue: 3807)
    default: nil
    }
  }
}
