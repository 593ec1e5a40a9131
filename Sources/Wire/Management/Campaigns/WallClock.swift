import FoundationEssentials

/// A time of day by a clock on the wall, to the minute, as in `21:00`.
public struct TimeOfDay: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Minutes since midnight.
  public let minutes: Int

  /// - Returns: nil unless the text is `hh:mm` from 00:00 to 23:59.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let seconds = scanner.hoursAndMinutes(), scanner.isAtEnd else { return nil }
    minutes = seconds / 60
  }

  init(minutes: Int) { self.minutes = minutes }

  /// As in 08:05; PostgreSQL reads it as a `time`.
  public var description: String { Self.twoDigits(minutes / 60) + ":" + Self.twoDigits(minutes % 60) }

  static let expectation = "a time of day such as 21:00"

  private static func twoDigits(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }

  public static func < (one: Self, other: Self) -> Bool { one.minutes < other.minutes }
}

extension TimeOfDay: Codable, SchemaProviding {
  public static var schema: Schema { .describing(.string(5...5)) }

  public init(from decoder: any Decoder) throws {
    guard let time = TimeOfDay(try decoder.text(Self.expectation)) else {
      throw decoder.problem("must be \(Self.expectation)")
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}

/// A day and a time of day by each recipient's own clock, without a zone, as in `2026-12-24T18:30`.
public struct WallTime: Sendable, Hashable, Comparable, CustomStringConvertible {
  public let day: CalendarDay
  public let time: TimeOfDay

  public init(day: CalendarDay, time: TimeOfDay) {
    self.day = day
    self.time = time
  }

  /// - Returns: nil unless the text is `YYYY-MM-DDThh:mm` of a day that exists. What names a zone or seconds is none.
  public init?(_ text: String) {
    guard text.utf8.count == 16, let mark = text.utf8.firstIndex(of: UInt8(ascii: "T")),
      let day = CalendarDay(String(text[..<mark])), let time = TimeOfDay(String(text[mark...].dropFirst()))
    else { return nil }
    self.init(day: day, time: time)
  }

  /// As in 2026-12-24T18:30; PostgreSQL reads it as a `timestamp`.
  public var description: String { "\(day)T\(time)" }

  /// When clocks so many hours ahead of UTC show it.
  public func moment(hoursAheadOfUTC hours: Int) -> Timestamp {
    Timestamp(Date(timeIntervalSince1970: Double(day.number * 86_400 + time.minutes * 60 - hours * 3600)))
  }

  static let expectation = "a day and a time without a zone such as 2026-12-24T18:30"

  public static func < (one: Self, other: Self) -> Bool { (one.day, one.time) < (other.day, other.time) }
}

extension WallTime: Codable, SchemaProviding {
  public static var schema: Schema { .describing(.string(16...16)) }

  public init(from decoder: any Decoder) throws {
    guard let time = WallTime(try decoder.text(Self.expectation)) else {
      throw decoder.problem("must be \(Self.expectation)")
    }
    self = time
  }

  public func encode(to encoder: any Encoder) throws { try description.encode(to: encoder) }
}

extension Schema {
  /// This form, for the description alone: the type that reads the value checks it, with a sentence of its own.
  static func describing(_ schema: Schema) -> Schema {
    var schema = schema
    schema.isOnlyDescription = true
    return schema
  }
}

extension Decoder {
  /// What is wrong with the value that is read, or with a member of it.
  /// - Parameter member: its path from here.
  func problem(_ problem: String, at member: String = "") -> JSONProblem {
    var path = codingPath.reduce(into: "") { path, key in
      let name = key.stringValue
      let isNumber = name.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
      let isIndex = !path.isEmpty && !name.isEmpty && isNumber
      path += isIndex ? "[\(name)]" : path.isEmpty ? name : ".\(name)"
    }
    if !member.isEmpty { path += path.isEmpty ? member : ".\(member)" }
    return JSONProblem(problem, at: path)
  }

  /// - Parameter expectation: what the value must be.
  fileprivate func text(_ expectation: String) throws -> String {
    do {
      return try singleValueContainer().decode(String.self)
    } catch {
      throw problem("must be \(expectation)")
    }
  }
}
