/// On which days a sendout repeats. Each time is a sendout of its own, at the wall time of the first one.
public struct Repetition: APIRequest, Hashable {
  public var every: RepetitionUnit
  public var on: [RepetitionDay]?
  public var until: CalendarDay?

  public init(every: RepetitionUnit, on: [RepetitionDay]? = nil, until: CalendarDay? = nil) {
    self.every = every
    self.on = on
    self.until = until
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    every = try body.decode(RepetitionUnit.self, forKey: .every)
    on = try body.decodeIfPresent([RepetitionDay].self, forKey: .on)
    if let text = try body.decodeIfPresent(String.self, forKey: .until) {
      guard let day = CalendarDay(text) else { throw decoder.problem("must be a day such as 2026-12-31", at: "until") }
      until = day
    }
    switch (every, on) {
    case (_, nil): break
    case (.day, _?): throw decoder.problem("is there beside every: day, which means each day: leave it out", at: "on")
    case (.week, let days?):
      guard days.allSatisfy({ $0.weekday != nil }) else {
        throw decoder.problem("must hold days of the week, such as mon", at: "on")
      }
    case (.month, let days?):
      guard days.allSatisfy({ $0.weekday == nil }) else {
        throw decoder.problem("must hold days of the month, from 1 to 31", at: "on")
      }
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encode(every, forKey: .every)
    try body.encodeIfPresent(on, forKey: .on)
    try body.encodeIfPresent(until?.description, forKey: .until)
  }

  private enum CodingKeys: String, CodingKey { case every, on, until }

  /// Days of the week by PostgreSQL's `isodow`, from 1 for Monday to 7; those of the first time if none are named.
  public var isoDays: [Int]? {
    on?.compactMap { day in Weekday.allCases.firstIndex { $0 == day.weekday }.map { $0 + 1 } }
  }
  /// Days of the month; that of the first time if none are named.
  public var monthDays: [Int]? {
    on?.compactMap { if case .ofMonth(let day) = $0 { day } else { nil } }
  }

  public static let schemaName: String? = "Repetition"
  public static let schemaDescription =
    """
    On which days a sendout repeats. With `startAt` days and time are those of the customer's zone, with `localTime` each contact's own. \
    The first time is the first that matches, at the sendout's own day at the earliest.
    """
  public static let example = Repetition(
    every: .week, on: [.ofWeek(.mon), .ofWeek(.thu)], until: CalendarDay("2027-06-30"))

  public static let fieldTable: FieldTable = [
    "every": "`day`, `week` or `month`.",
    "on": FieldDescription(
      """
      Days of the week such as `mon`, or of the month from 1 to 31. Days that a month lacks are its last, and two that coincide are one. \
      The day of the first time if absent.
      """, limits: 1...31),
    "until": "The last day, included. It repeats until somebody ends it if absent.",
  ]
}

public enum RepetitionUnit: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case day, week, month
}

/// A day of the week, in the order of ISO 8601.
public enum Weekday: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case mon, tue, wed, thu, fri, sat, sun
}

/// A day on which a sendout repeats.
public enum RepetitionDay: Sendable, Hashable {
  case ofWeek(Weekday)
  /// 1 to 31.
  case ofMonth(Int)

  var weekday: Weekday? { if case .ofWeek(let day) = self { day } else { nil } }
}

extension RepetitionDay: Codable, SchemaProviding {
  public static var schema: Schema { Schema(.either([Weekday.schema, .integer(1...31)])) }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    self = try (try? container.decode(Weekday.self)).map(Self.ofWeek) ?? .ofMonth(container.decode(Int.self))
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .ofWeek(let day): try day.encode(to: encoder)
    case .ofMonth(let day): try day.encode(to: encoder)
    }
  }
}

extension CalendarDay: SchemaProviding {
  public static var schema: Schema { .describing(.string(10...10)) }
}
