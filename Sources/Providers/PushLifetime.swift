public import FoundationEssentials

/// How long a push service may keep a push for a device that it cannot reach.
///
/// Whoever has a push prepared counts it, by the database's clock and just before the push leaves. So a hub whose own clock is wrong
/// shortens and lengthens nothing.
public struct PushLifetime: Sendable, Hashable {
  /// By the database's clock, for services that take a moment.
  public let end: Date
  /// What is left of it, for services that take seconds: rounded up, and never more than was asked for. 0 stands for a push that is
  /// delivered at once or never.
  public let seconds: Int

  /// For a time to live of 0.
  public static let atOnce = PushLifetime(end: Date(timeIntervalSince1970: 0), seconds: 0)

  private init(end: Date, seconds: Int) {
    self.end = end
    self.seconds = seconds
  }

  /// - Parameters:
  ///   - asked: the message's time to live in seconds; nil if only its end is known.
  ///   - now: by the database's clock.
  public init(until end: Date, asked: Int? = nil, at now: Date) {
    let left = min(max(0, end.timeIntervalSince(now)).rounded(.up), 1e9)
    self.init(end: end, seconds: min(Int(left), asked ?? .max))
  }
}
