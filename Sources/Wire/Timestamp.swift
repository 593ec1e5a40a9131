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
  /// The format cuts off what is below a millisecond, and a date that was read as .123 can be a little less than that.
  public var description: String { date.addingTimeInterval(0.000_000_5).formatted(Self.style) }
}
