/// Days of the Gregorian calendar, which every date and moment of ours is counted by.
public enum GregorianDay {
  /// The years 1 to 9999, in seconds since 1970 in UTC.
  static let seconds = -62_135_596_800..<253_402_300_800

  /// Days since 1970-01-01; `nil` if there is no such day in the years 1 to 9999.
  public static func number(year: Int, month: Int, day: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= lengths[month - 1] else { return nil }
    // Years that begin in March put the leap day last.
    let y = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return y * 365 + y / 4 - y / 100 + y / 400 + dayOfYear - 719_468
  }
}

/// Reads the parts of dates and times. Which parts there must be is up to the caller.
///
/// Days, hours, minutes and seconds are those that exist. There is no leap second: no clock here counts one.
struct DateScanner {
  private var rest: Substring.UTF8View

  init(_ text: String) { rest = text.utf8[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ text: StaticString) -> Bool {
    let bytes = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
    guard rest.prefix(bytes.count).elementsEqual(bytes) else { return false }
    rest = rest.dropFirst(bytes.count)
    return true
  }

  /// A number of so many digits.
  mutating func digits(_ count: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix(count.upperBound).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard digits.count >= count.lowerBound else { return nil }
    rest = rest.dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  mutating func digits(_ count: Int) -> Int? { digits(count...count) }

  /// `YYYY-MM-DD`.
  mutating func date() -> (year: Int, day: Int)? {
    guard let year = digits(4), take("-"), let month = digits(2), take("-"), let date = digits(2),
      let day = GregorianDay.number(year: year, month: month, day: date)
    else { return nil }
    return (year, day)
  }

  /// `hh:mm` in seconds.
  mutating func hoursAndMinutes() -> Int? {
    guard let hour = digits(2), hour < 24, take(":"), let minute = digits(2), minute < 60 else { return nil }
    return hour * 3600 + minute * 60
  }

  /// `ss`.
  mutating func seconds() -> Int? { digits(2).flatMap { $0 < 60 ? $0 : nil } }

  /// The digits of a fraction of a second, in microseconds. Further digits are cut off.
  mutating func fraction() -> Int? {
    let digits = rest.prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard !digits.isEmpty else { return nil }
    rest = rest.dropFirst(digits.count)
    let kept = digits.prefix(6)
    return kept.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
      * [1_000_000, 100_000, 10_000, 1000, 100, 10, 1][kept.count]
  }
}
