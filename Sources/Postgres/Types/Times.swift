public import FoundationEssentials

/// timestamptz at its full range and resolution: microseconds since 2000-01-01 UTC, and both infinities.
public struct PostgresTimestamp: PostgresArrayElement, Hashable, Comparable {
  /// Since 2000-01-01 00:00 UTC.
  public var microseconds: Int64
  public init(microseconds: Int64) { self.microseconds = microseconds }

  /// Later than any other.
  public static let infinity = PostgresTimestamp(microseconds: .max)
  /// Earlier than any other.
  public static let negativeInfinity = PostgresTimestamp(microseconds: .min)
  public static func < (left: PostgresTimestamp, right: PostgresTimestamp) -> Bool {
    left.microseconds < right.microseconds
  }

  public static var postgresType: PostgresType { .timestamptz }
  public static func accepts(_ type: PostgresType) -> Bool { type == .timestamptz || type == .timestamp }
  public func encode(into bytes: inout [UInt8]) -> Bool { microseconds.encode(into: &bytes) }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    microseconds = try present(bytes).bigEndian()
  }
}

/// Seconds between Foundation's reference date (2001-01-01) and PostgreSQL's (2000-01-01), a leap year.
private let epochDistance: Double = 366 * 86_400

/// timestamptz, rounded to the microsecond; an infinity becomes `distantPast` or `distantFuture`.
extension Date: PostgresArrayElement {
  public static var postgresType: PostgresType { .timestamptz }
  public static func accepts(_ type: PostgresType) -> Bool { PostgresTimestamp.accepts(type) }
  public func encode(into bytes: inout [UInt8]) -> Bool {
    let microseconds = ((timeIntervalSinceReferenceDate + epochDistance) * 1_000_000).rounded()
    return (Int64(exactly: microseconds) ?? (microseconds < 0 ? .min : .max)).encode(into: &bytes)
  }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    switch try PostgresTimestamp(postgres: bytes, type: type) {
    case .infinity: self = .distantFuture
    case .negativeInfinity: self = .distantPast
    case let finite: self.init(timeIntervalSinceReferenceDate: Double(finite.microseconds) / 1_000_000 - epochDistance)
    }
  }
}

/// date: days since 2000-01-01, with no time zone to lose.
public struct CalendarDate: PostgresArrayElement, Hashable, Comparable {
  /// Since 2000-01-01; the least and the greatest number are PostgreSQL's infinities.
  public var days: Int32
  public init(days: Int32) { self.days = days }

  /// Days from 1970-01-01 to 2000-01-01.
  public static let daysFromUnixEpoch: Int32 = 10_957
  public static func < (left: CalendarDate, right: CalendarDate) -> Bool { left.days < right.days }

  public static var postgresType: PostgresType { .date }
  public static func accepts(_ type: PostgresType) -> Bool { type == .date }
  public func encode(into bytes: inout [UInt8]) -> Bool { days.encode(into: &bytes) }
  public init(postgres bytes: UnsafeRawBufferPointer?, type: PostgresType) throws(DecodingProblem) {
    days = try present(bytes).bigEndian()
  }
}
