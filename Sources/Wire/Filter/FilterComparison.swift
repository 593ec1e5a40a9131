import FoundationEssentials

/// What is asked of a field.
public enum FilterComparison: Sendable, Hashable {
  case compare(FilterOperator, FilterLiteral)
  /// Equal to one of these. All are dates, or all are versions, or none is either.
  case oneOf([FilterLiteral])
  /// Without regard to case: both texts are put into lower case and then into upper case, by Unicode's full mappings without a locale. So ß
  /// equals ss, ς equals σ, and ı equals i. PostgreSQL does it by `upper(lower(x COLLATE "und-x-icu"))`.
  case contains(UTF8String)
  /// Without regard to case, as `contains`.
  case startsWith(UTF8String)
  /// Without regard to case, as `contains`.
  case endsWith(UTF8String)
  /// An empty property is set.
  case isSet
  case isNotSet
  /// From now − N to now, or from now to now + N, both ends included. A date without a time is its midnight in UTC.
  case within(FilterWindow)
}

/// Compares by value: texts by code point, exactly; numbers exactly; versions part by part.
public enum FilterOperator: String, Sendable, Hashable, CaseIterable {
  case equal = "="
  case notEqual = "!="
  case less = "<"
  case lessOrEqual = "<="
  case greater = ">"
  case greaterOrEqual = ">="

  /// Whether it asks for an order.
  public var isOrder: Bool { self != .equal && self != .notEqual }
}

/// What fields are compared with.
public enum FilterLiteral: Sendable, Hashable {
  case text(UTF8String)
  /// With at most `FilterLimits.exponentDigits` digits in its exponent.
  case number(JSONNumber)
  case boolean(Bool)
  /// A whole day of UTC: a moment equals it that lies on it, is less before it, and greater after it.
  case date(CalendarDay)
  /// Digits and dots, as in 17.2. A missing part is 0.
  case version(UTF8String)
}

/// A span of time, as in `30 days` and, in trees, `30d`.
public struct FilterSpan: Sendable, Hashable {
  public enum Unit: String, Sendable, Hashable, CaseIterable {
    case days, hours

    public var seconds: Int { self == .days ? 86_400 : 3600 }
    /// Largest amount.
    var maximum: Int { FilterLimits.days * 86_400 / seconds }
  }

  public var amount: Int
  public var unit: Unit

  public init(_ amount: Int, _ unit: Unit) {
    self.amount = amount
    self.unit = unit
  }

  public var seconds: Int { amount * unit.seconds }
}

/// A span that ends or begins now.
public struct FilterWindow: Sendable, Hashable {
  public enum Direction: String, Sendable, Hashable, CaseIterable { case last, next }

  public var direction: Direction
  public var span: FilterSpan

  public init(_ direction: Direction, _ amount: Int, _ unit: FilterSpan.Unit) {
    self.direction = direction
    span = FilterSpan(amount, unit)
  }
}

/// A day of the Gregorian calendar, in the years 1 to 9999.
public struct CalendarDay: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Days since 1970-01-01.
  public let number: Int

  /// - Returns: nil beyond those years.
  public init?(number: Int) {
    guard Self.range.contains(number) else { return nil }
    self.number = number
  }

  /// Reads `YYYY-MM-DD`.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let day = scanner.date()?.day, scanner.isAtEnd else { return nil }
    number = day
  }

  private static let range = GregorianDay.seconds.lowerBound / 86_400..<GregorianDay.seconds.upperBound / 86_400

  /// Milliseconds since 1970-01-01T00:00Z at its beginning.
  public var milliseconds: Int64 { Int64(number) * 86_400_000 }

  /// As in 2026-12-01.
  public var description: String {
    String(Timestamp(Date(timeIntervalSince1970: Double(number) * 86_400)).description.prefix(10))
  }

  public static func < (one: Self, other: Self) -> Bool { one.number < other.number }
}
