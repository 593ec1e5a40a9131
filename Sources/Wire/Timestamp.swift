public import FoundationEssentials

/// A moment in RFC 3339, in UTC with milliseconds, as in `2026-11-20T22:13:49.120Z`.
///
/// The management API and the command line use this form. Carma's API uses milliseconds since 1970 instead. The form is part
/// of the type, so no two encoders can disagree about it.
public struct Timestamp: Sendable, Hashable, Codable {
  public let date: Date

  public init(_ date: Date) { self.date = date }

  /// The moment in the API's examples: 2026-11-20T09:00:00.000Z.
  public static let example = Timestamp(Date(timeIntervalSince1970: 1_795_165_200))

  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let wholeSeconds = Date.ISO8601FormatStyle()

  /// Reads RFC 3339, with or without a fraction of seconds.
  public init?(_ text: String) {
    guard let date = (try? Self.style.parse(text)) ?? (try? Self.wholeSeconds.parse(text)) else { return nil }
    self.date = date
  }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let timestamp = Timestamp(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "must be a moment such as 2026-11-20T22:13:49.120Z")
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

extension Timestamp: CustomStringConvertible {
  public var description: String { withoutZone + "Z" }

  /// In UTC without saying so, as in `2016-05-22T18:02:45.427`.
  ///
  /// Written by hand: lists of messages have a moment in each, and `ISO8601FormatStyle` takes longer than all of the rest.
  public var withoutZone: String {
    // What is below a millisecond is cut off. A date that was read as .123 can be a little less than that.
    let milliseconds = ((date.timeIntervalSince1970 + 0.000_000_5) * 1000).rounded(.down)
    guard Self.handwritten.contains(milliseconds) else { return String(date.formatted(Self.style).dropLast()) }
    let (days, moment) = Int(milliseconds).quotientAndRemainder(dividingBy: 86_400_000)
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

  /// Moments from 1970 to 9999, in milliseconds.
  private static let handwritten = 0.0..<253_402_300_800_000
}
