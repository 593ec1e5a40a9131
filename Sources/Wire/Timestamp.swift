public import FoundationEssentials

/// A moment, written as RFC 3339 in UTC with milliseconds, as in `2026-11-20T22:13:49.120Z`.
///
/// The management API and the command line write moments so; Carma's API has milliseconds since 1970 instead. The form is
/// part of the type, so no two encoders can disagree about it.
public struct Timestamp: Sendable, Hashable, Codable {
  public let date: Date

  public init(_ date: Date) { self.date = date }

  private static let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
  private static let wholeSeconds = Date.ISO8601FormatStyle()

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let date = (try? Self.style.parse(text)) ?? (try? Self.wholeSeconds.parse(text)) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "must be a moment such as 2026-11-20T22:13:49.120Z")
    }
    self.date = date
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
  public var description: String { date.formatted(Self.style) }
}
