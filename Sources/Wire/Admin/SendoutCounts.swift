/// How many of a sendout's pushes stand where; the same numbers as in the view `report.sendout_totals`.
///
/// `queued`, `sending`, `waiting`, `accepted`, `failed`, `uncertain`, `skipped` and `cancelled` add up to `audience`.
public struct SendoutCounts: Codable, Sendable, Hashable {
  /// Devices that the audience was frozen to; 0 before that.
  public var audience: Int
  /// Not claimed by any hub yet.
  public var queued: Int
  /// In the hands of a hub.
  public var sending: Int
  /// To be tried again later.
  public var waiting: Int
  /// Left the hub, or may have left it, at least once.
  public var sent: Int
  /// Taken over by the push service.
  public var accepted: Int
  /// Refused by the push service for good.
  public var failed: Int
  /// Left, perhaps, and never answered for; not sent again by the sendout's policy.
  public var uncertain: Int
  /// Not sent, because the device was invalidated or changed hands after the audience was frozen.
  public var skipped: Int
  /// Not sent, because the sendout was cancelled.
  public var cancelled: Int
  /// Opened by a person at least once.
  public var opened: Int

  public init(
    audience: Int = 0, queued: Int = 0, sending: Int = 0, waiting: Int = 0, sent: Int = 0, accepted: Int = 0,
    failed: Int = 0, uncertain: Int = 0, skipped: Int = 0, cancelled: Int = 0, opened: Int = 0
  ) {
    self.audience = audience
    self.queued = queued
    self.sending = sending
    self.waiting = waiting
    self.sent = sent
    self.accepted = accepted
    self.failed = failed
    self.uncertain = uncertain
    self.skipped = skipped
    self.cancelled = cancelled
    self.opened = opened
  }
}
