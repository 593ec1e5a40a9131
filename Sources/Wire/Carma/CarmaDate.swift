/// A date as Carma's bodies have it: milliseconds since 1970, or the notation of ISO 8601.
///
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
    var scanner = DateScanner(text.utf8)
    guard let year = scanner.digits(4), scanner.take("-"), let month = scanner.digits(2), scanner.take("-"),
      let date = scanner.digits(2), let day = Self.days(year: year, month: month, day: date)
    else { return nil }
    var milliseconds = Int64(day) * Self.millisecondsOfDay
    if !scanner.isAtEnd {
      guard scanner.take("T") || scanner.take("t") || scanner.take(" "), let time = scanner.time(),
        let offset = scanner.zone(), scanner.isAtEnd
      else { return nil }
      milliseconds += time - offset
    }
    self.init(milliseconds, day: Int64(day))
  }

  /// Days since 1970-01-01 of a day of the Gregorian calendar; `nil` if there is no such day.
  static func days(year: Int, month: Int, day: Int) -> Int? {
    let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
    let lengths = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    guard year >= 1, (1...12).contains(month), day >= 1, day <= lengths[month - 1] else { return nil }
    // Years that begin in March put the leap day last.
    let y = month <= 2 ? year - 1 : year
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return y * 365 + y / 4 - y / 100 + y / 400 + dayOfYear - 719_468
  }
}

private struct DateScanner {
  private var rest: Substring.UTF8View
  init(_ text: String.UTF8View) { rest = text[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  mutating func digits(_ count: Int) -> Int? {
    let head = rest.prefix(count)
    guard head.count == count, head.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return nil
    }
    rest.removeFirst(count)
    return head.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// `hh:mm`, perhaps with seconds, perhaps with a fraction of them, in milliseconds.
  mutating func time() -> Int64? {
    guard let hour = digits(2), hour < 24, take(":"), let minute = digits(2), minute < 60 else { return nil }
    var milliseconds = Int64(hour * 60 + minute) * 60_000
    guard take(":") else { return milliseconds }
    guard let second = digits(2), second < 60 else { return nil }
    milliseconds += Int64(second) * 1000
    guard take(".") || take(",") else { return milliseconds }
    guard var digit = digits(1) else { return nil }
    var weight = 100
    repeat {
      milliseconds += Int64(digit * weight)
      weight /= 10
      digit = digits(1) ?? -1
    } while digit >= 0
    return milliseconds
  }

  /// `Z`, `±hh`, `±hhmm`, `±hh:mm` or nothing, in milliseconds east of UTC.
  mutating func zone() -> Int64? {
    if isAtEnd || take("Z") || take("z") { return 0 }
    let sign: Int64 = take("+") ? 1 : take("-") ? -1 : 0
    guard sign != 0, let hours = digits(2), hours <= 18 else { return nil }
    _ = take(":")
    let minutes = isAtEnd ? 0 : digits(2) ?? 60
    guard minutes < 60 else { return nil }
    return sign * Int64(hours * 60 + minutes) * 60_000
  }
}
