public import FoundationEssentials

/// A moment in RFC 3339, in UTC with milliseconds, as in `2026-11-20T22:13:49.120Z`.
///
/// The management API and the command line use this form. Carma's API uses milliseconds since 1970 instead. The form is part
/// of the type, so no two encoders can disagree about it.
public struct Timestamp: Sendable, Hashable, Codable {
  public let date: Date

  public init(_ date: Date) { self.date = date }

  /// What must stand where a moment is read, in a few words.
  public static let expectation = "a moment such as 2026-11-20T22:13:49.120Z"

  /// The moment in the API's examples: 2026-11-20T09:00:00.000Z.
  public static let example = Timestamp(Date(timeIntervalSince1970: 1_795_165_200))

  /// Reads RFC 3339, as in `2026-11-20T22:13:49.120Z` or `2026-11-20T23:13:49+01:00`. The day is of the years 1 to 9999, and the
  /// time from 00:00:00 to 23:59:59, with or without a fraction. `Z` or an offset follows, and nothing else.
  ///
  /// Fractions are cut off at microseconds. RFC 3339 allows a leap second, `23:59:60`; here it is none, since neither Unix nor
  /// PostgreSQL has a moment for it.
  public init?(_ text: String) {
    var scanner = DateScanner(text)
    guard let day = scanner.date()?.day, scanner.take("T") || scanner.take("t"), let time = scanner.hoursAndMinutes(),
      scanner.take(":"), let second = scanner.seconds()
    else { return nil }
    var microseconds = 0
    if scanner.take(".") {
      guard let fraction = scanner.fraction() else { return nil }
      microseconds = fraction
    }
    var seconds = day * 86_400 + time + second
    if !(scanner.take("Z") || scanner.take("z")) {
      let isEast = scanner.take("+")
      guard isEast || scanner.take("-"), let offset = scanner.hoursAndMinutes() else { return nil }
      seconds -= isEast ? offset : -offset
    }
    guard scanner.isAtEnd, GregorianDay.seconds.contains(seconds) else { return nil }
    let sinceReference = seconds - Int(Date.timeIntervalBetween1970AndReferenceDate)
    date = Date(timeIntervalSinceReferenceDate: Double(sinceReference) + Double(microseconds) / 1_000_000)
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let timestamp = Timestamp(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "must be \(Self.expectation)")
    }
    self = timestamp
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Timestamp: Comparable {
  public static func < (left: Self, right: Self) -> Bool { left.date < right.date }
}

extension Timestamp {
  /// Whole milliseconds since 1970-01-01T00:00Z, as Carma's bodies have them.
  ///
  /// What is below a millisecond is cut off; a date that was read as .123 can be a little less than that, and still has 123. What is
  /// beyond the years 1 to 9999 becomes their first or last moment.
  public var milliseconds: Int64 {
    let counted = ((date.timeIntervalSince1970 + 0.000_000_5) * 1000).rounded(.down)
    let (first, last) = (GregorianDay.seconds.lowerBound * 1000, GregorianDay.seconds.upperBound * 1000 - 1)
    return Int64(counted > Double(first) ? Int(min(counted, Double(last))) : first)
  }
}

extension Timestamp: CustomStringConvertible {
  public var description: String { withoutZone + "Z" }

  /// In UTC without saying so, as in `2016-05-22T18:02:45.427`.
  ///
  /// Written by hand: lists of messages have a moment in each, and `ISO8601FormatStyle` takes longer than all of the
  /// rest. What is beyond the years 1 to 9999 is written as their first or last moment.
  public var withoutZone: String {
    let milliseconds = Int(self.milliseconds)
    let moment = (milliseconds % 86_400_000 + 86_400_000) % 86_400_000
    let days = (milliseconds - moment) / 86_400_000
    // Counted from a March, so that the leap day is the last one of its year.
    let (era, dayOfEra) = (days + 719_468).quotientAndRemainder(dividingBy: 146_097)
    let year = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let day = dayOfEra - (365 * year + year / 4 - year / 100)
    let month = (5 * day + 2) / 153
    return String(unsafeUninitializedCapacity: 23) { text in
      var count = 0
      func add(_ number: Int, _ digits: Int, _ mark: Unicode.Scalar?) {
        var number = number
        for place in (count..<count + digits).reversed() {
          text[place] = UInt8(ascii: "0") + UInt8(number % 10)
          number /= 10
        }
        count += digits
        guard let mark else { return }
        text[count] = UInt8(ascii: mark)
        count += 1
      }
      add(era * 400 + year + (month < 10 ? 0 : 1), 4, "-")
      add(month < 10 ? month + 3 : month - 9, 2, "-")
      add(day - (153 * month + 2) / 5 + 1, 2, "T")
      add(moment / 3_600_000, 2, ":")
      add(moment / 60_000 % 60, 2, ":")
      add(moment / 1000 % 60, 2, ".")
      add(moment % 1000, 3, nil)
      return count
    }
  }
}
