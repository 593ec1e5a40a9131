/// A date as Carma's bodies have it: milliseconds since 1970, or the notation of ISO 8601.
///
/// Clients of Carma's API write more forms than RFC 3339 has, so it is not read as a `Timestamp`. Days and times are checked as there.
/// It is read as both a moment and a day, since "1980-02-29T00:00:00+02:00" names a day that its moment in UTC does not.
public struct CarmaDate: Sendable, Hashable {
  /// Milliseconds since 1970-01-01T00:00Z.
  public let milliseconds: Int64
  /// The calendar day as it was written, in days since 1970-01-01.
  public let day: Int32

  /// Years 1 to 9999.
  public static let range: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999
  private static let millisecondsOfDay: Int64 = 86_400_000

  public init?(milliseconds: Int64) {
    guard Self.range.contains(milliseconds) else { return nil }
    let floored = milliseconds >= 0 ? milliseconds : milliseconds - (Self.millisecondsOfDay - 1)
    self.init(milliseconds, day: floored / Self.millisecondsOfDay)
  }

  private init?(_ milliseconds: Int64, day: Int64) {
    guard Self.range.contains(milliseconds) else { return nil }
    self.milliseconds = milliseconds
    self.day = Int32(day)
  }

  /// Reads decimal digits as milliseconds, or `YYYY-MM-DD`, or that with a time, `T` or a blank between them, and perhaps a
  /// zone; without one it is UTC.
  public init?(_ text: String) {
    if let milliseconds = Int64(text) {
      self.init(milliseconds: milliseconds)
      return
    }
    var scanner = DateScanner(text)
    guard let day = scanner.date()?.day else { return nil }
    var milliseconds = Int64(day) * Self.millisecondsOfDay
    if !scanner.isAtEnd {
      guard scanner.take("T") || scanner.take("t") || scanner.take(" "), let time = scanner.looseTime(),
        let offset = scanner.looseZone(), scanner.isAtEnd
      else { return nil }
      milliseconds += time - offset
    }
    self.init(milliseconds, day: Int64(day))
  }
}

extension DateScanner {
  /// `hh:mm`, perhaps with seconds, perhaps with a fraction of them, in milliseconds.
  fileprivate mutating func looseTime() -> Int64? {
    guard let time = hoursAndMinutes() else { return nil }
    guard take(":") else { return Int64(time) * 1000 }
    guard let second = seconds() else { return nil }
    let milliseconds = Int64(time + second) * 1000
    guard take(".") || take(",") else { return milliseconds }
    return fraction().map { milliseconds + Int64($0 / 1000) }
  }

  /// `Z`, `±hh`, `±hhmm`, `±hh:mm` or nothing, in milliseconds east of UTC.
  fileprivate mutating func looseZone() -> Int64? {
    if isAtEnd || take("Z") || take("z") { return 0 }
    let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = digits(2), hours <= 18 else { return nil }
    _ = take(":")
    let minutes = isAtEnd ? 0 : digits(2) ?? 60
    guard minutes < 60 else { return nil }
    return sign * Int64(hours * 60 + minutes) * 60_000
  }
}
