public import FoundationEssentials

/// The field VALIDITY of the gateway: until when a message may be sent.
///
/// It is a moment, as in `2017-04-20 11:50:05 GMT`, `… +8` or `… -07:00`, without a zone that of Central Europe; or a time from now, as
/// in `2h`, `30m` or `1d12h`, of at most 366 days.
public enum GatewayValidity {
  /// - Returns: nil if the text is neither.
  public static func end(_ text: String, now: Date) -> Date? {
    if let seconds = duration(text.utf8) { return now.addingTimeInterval(Double(seconds)) }
    return moment(text)
  }

  private static func duration(_ text: String.UTF8View) -> Int? {
    var (seconds, number, digits) = (0, 0, 0)
    for byte in text {
      if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
        number = number * 10 + Int(byte - UInt8(ascii: "0"))
        digits += 1
        guard digits <= 9 else { return nil }
        continue
      }
      guard digits > 0 else { return nil }
      switch byte | 0x20 {
      case UInt8(ascii: "d"): seconds += number * 86_400
      case UInt8(ascii: "h"): seconds += number * 3600
      case UInt8(ascii: "m"): seconds += number * 60
      case UInt8(ascii: "s"): seconds += number
      default: return nil
      }
      guard seconds <= 366 * 86_400 else { return nil }
      (number, digits) = (0, 0)
    }
    return digits == 0 && !text.isEmpty ? seconds : nil
  }

  private static func moment(_ text: String) -> Date? {
    var scanner = MomentScanner(rest: text.utf8[...])
    guard let year = scanner.digits(4...4), scanner.take("-"), let month = scanner.digits(2...2), scanner.take("-"),
      let date = scanner.digits(2...2), scanner.take(" ") || scanner.take("T"), let hour = scanner.digits(2...2),
      scanner.take(":"), let minute = scanner.digits(2...2), hour < 24, minute < 60,
      let day = CarmaDate.days(year: year, month: month, day: date)
    else { return nil }
    var local = day * 86_400 + hour * 3600 + minute * 60
    if scanner.take(":") {
      guard let second = scanner.digits(2...2), second < 60 else { return nil }
      local += second
    }
    _ = scanner.take(" ")
    guard !scanner.rest.isEmpty else {
      return Date(timeIntervalSince1970: Double(local - centralEuropeanOffset(year: year, local)))
    }
    guard let offset = scanner.zone(), scanner.rest.isEmpty else { return nil }
    return Date(timeIntervalSince1970: Double(local - offset))
  }

  /// Seconds east of UTC. Summer time lasts from the last Sunday of March, 2:00, to that of October, 3:00.
  private static func centralEuropeanOffset(year: Int, _ local: Int) -> Int {
    func lastSunday(_ month: Int) -> Int {
      let last = CarmaDate.days(year: year, month: month, day: 31) ?? 0
      // 1970-01-01 was a Thursday.
      return last - ((last + 4) % 7 + 7) % 7
    }
    let summer = lastSunday(3) * 86_400 + 2 * 3600..<lastSunday(10) * 86_400 + 3 * 3600
    return summer.contains(local) ? 7200 : 3600
  }
}

private struct MomentScanner {
  var rest: Substring.UTF8View

  mutating func take(_ text: StaticString) -> Bool {
    let count = text.utf8CodeUnitCount
    guard rest.prefix(count).elementsEqual(UnsafeBufferPointer(start: text.utf8Start, count: count)) else {
      return false
    }
    rest = rest.dropFirst(count)
    return true
  }

  mutating func digits(_ count: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix(count.upperBound).prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    guard digits.count >= count.lowerBound else { return nil }
    rest = rest.dropFirst(digits.count)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// `GMT`, or hours and perhaps minutes, as in `+8` and `-07:00`: seconds east of UTC.
  mutating func zone() -> Int? {
    if take("GMT") || take("UTC") || take("Z") { return 0 }
    let isEast = take("+")
    guard isEast || take("-"), let hours = digits(1...2), hours <= 14 else { return nil }
    var offset = hours * 3600
    if !rest.isEmpty {
      _ = take(":")
      guard let minutes = digits(2...2), minutes < 60 else { return nil }
      offset += minutes * 60
    }
    return isEast ? offset : -offset
  }
}
