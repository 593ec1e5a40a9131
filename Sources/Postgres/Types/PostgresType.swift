/// Type OIDs of PostgreSQL's catalogue (`pg_type.dat`), of the types this room speaks.
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

  /// The array type whose elements are of this type; `nil` if this room does not speak it.
  var array: PostgresType? { Self.arrays[self] }

  private static let arrays: [PostgresType: PostgresType] = [
    .bool: 1000, .bytea: 1001, .int2: 1005, .int4: 1007, .text: 1009, .int8: 1016, .float4: 1021, .float8: 1022,
    .date: 1182, .timestamptz: 1185, .uuid: 2951, .jsonb: 3807,
  ].mapValues { PostgresType(rawValue: $0) }
}
