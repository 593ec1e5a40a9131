public import FoundationEssentials

/// The field VALIDITY of the gateway: until when a message may be sent.
///
/// It is a moment, as in `2017-04-20 11:50:05 GMT`, `… +8` or `… -07:00`. Without a zone it is one of Central Europe. Or it is a time from
/// now of at most 366 days, as in `2h`, `30m` or `1d12h`.
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
    var scanner = DateScanner(text)
    guard let (year, day) = scanner.date(), scanner.take(" ") || scanner.take("T"),
      let time = scanner.hoursAndMinutes()
    else { return nil }
    var local = day * 86_400 + time
    if scanner.take(":") {
      guard let second = scanner.seconds() else { return nil }
      local += second
    }
    _ = scanner.take(" ")
    guard !scanner.isAtEnd else {
      return Date(timeIntervalSince1970: Double(local - centralEuropeanOffset(year: year, local)))
    }
    guard let offset = scanner.gatewayZone(), scanner.isAtEnd,
      GregorianDay.seconds.contains(local - offset)
    else { return nil }
    return Date(timeIntervalSince1970: Double(local - offset))
  }

  /// Seconds east of UTC. Summer time lasts from the last Sunday of March, 2:00, to that of October, 3:00.
  private static func centralEuropeanOffset(year: Int, _ local: Int) -> Int {
    func lastSunday(_ month: Int) -> Int {
      let last = GregorianDay.number(year: year, month: month, day: 31) ?? 0
      // 1970-01-01 was a Thursday.
      return last - ((last + 4) % 7 + 7) % 7
    }
    let summer = lastSunday(3) * 86_400 + 2 * 3600..<lastSunday(10) * 86_400 + 3 * 3600
    return summer.contains(local) ? 7200 : 3600
  }
}

extension DateScanner {
  /// `GMT`, or hours and perhaps minutes, as in `+8` and `-07:00`: seconds east of UTC.
  fileprivate mutating func gatewayZone() -> Int? {
    if take("GMT") || take("UTC") || take("Z") { return 0 }
    let isEast = take("+")
    guard isEast || take("-"), let hours = digits(1...2), hours <= 14 else { return nil }
    var offset = hours * 3600
    if !isAtEnd {
      _ = take(":")
      guard let minutes = digits(2...2), minutes < 60 else { return nil }
      offset += minutes * 60
    }
    return isEast ? offset : -offset
  }
}
