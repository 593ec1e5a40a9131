import FoundationEssentials
import Wire

/// The header `retry-after` (RFC 9110, section 10.2.3): seconds, or a date.
enum RetryAfter {
  /// The delay from `now`; nil if the value is neither. It is zero for a date in the past.
  static func duration(_ value: String, now: Date) -> Duration? {
    if let seconds = UInt32(value) { return .seconds(Int64(seconds)) }
    guard let date = date(value) else { return nil }
    return .seconds(max(0, Int64(date.timeIntervalSince(now).rounded(.up))))
  }

  /// `Sun, 06 Nov 1994 08:49:37 GMT`, the only form that may be generated since 1999.
  private static func date(_ text: String) -> Date? {
    let parts = text.split(whereSeparator: { $0 == " " || $0 == ":" })
    guard
      parts.count == 8, parts[7] == "GMT",
      let month = months.firstIndex(of: parts[2]),
      let day = Int(parts[1]), let year = Int(parts[3]),
      let hour = Int(parts[4]), let minute = Int(parts[5]), let second = Int(parts[6]),
      (0..<24).contains(hour), (0..<60).contains(minute), (0...60).contains(second), year >= 1970,
      let days = GregorianDay.number(year: year, month: month + 1, day: day)
    else { return nil }
    return Date(timeIntervalSince1970: Double(((days * 24 + hour) * 60 + minute) * 60 + second))
  }

  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
