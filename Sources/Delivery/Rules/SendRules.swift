package import Wire

/// What a sendout's pushes obey when they are claimed: quiet hours, caps, lateness and rate. The sendout's row has it from the freeze
/// on, so that a change of settings meanwhile does not split a sendout in two.
public struct SendRules: Sendable, Hashable, Codable {
  /// Of the sendout's messages, for which contacts are counted.
  package var purpose: MessagePurpose
  package var quietHours: QuietHours?
  /// Those that concern the purpose.
  package var caps: [Cap]
  /// Whether caps leave nobody out. Contacts are counted all the same.
  package var ignoresCaps: Bool
  /// How late a planned push may leave, in seconds.
  package var lateSeconds: Int
  package var ratePerSecond: Int?
  /// For how long the message is of use after its moment, in seconds; `nil` for ever.
  package var ttl: Int?

  /// - Parameters:
  ///   - quietHours: of the sendout, else of the customer. They concern marketing alone.
  ///   - caps: of the customer.
  package init(
    purpose: MessagePurpose, quietHours: QuietHours?, caps: [Cap], ignoresCaps: Bool = false,
    lateMinutes: Int = CampaignFields.usualLateMinutes, ratePerSecond: Int? = nil, ttl: Int? = nil
  ) {
    self.purpose = purpose
    self.quietHours = purpose == .marketing ? quietHours : nil
    self.caps = caps.filter { $0.concerns(purpose) }
    self.ignoresCaps = ignoresCaps
    lateSeconds = 60 * lateMinutes
    self.ratePerSecond = ratePerSecond
    self.ttl = ttl.flatMap { $0 > 0 ? $0 : nil }
  }

  /// The rules of a campaign.
  /// - Parameter ttl: of its message.
  package init(
    purpose: MessagePurpose, customerQuietHours: QuietHours?, caps: [Cap], _ campaign: CampaignFields, ttl: Int? = nil
  ) {
    let own = campaign.quietHours
    self.init(
      purpose: purpose, quietHours: own == nil ? customerQuietHours : own?.hours, caps: caps,
      ignoresCaps: campaign.ignoreCaps ?? false, lateMinutes: campaign.lateMinutes ?? CampaignFields.usualLateMinutes,
      ratePerSecond: campaign.ratePerSecond, ttl: ttl)
  }

  /// Whether a message with these rules needs neither a zone nor a count.
  package var limitsNothing: Bool { quietHours == nil && caps.isEmpty }

  /// How many moments of a contact are kept: what the largest rule looks at, and a few of sendouts that go at the same time.
  package var keptMoments: Int { (caps.map(\.count).max() ?? 0) + 8 }

  /// Minutes over which pushes are spread that quiet hours have held. They end before the next quiet hours begin.
  package var holdMinutes: Int {
    guard let quietHours else { return Self.spread }
    let day = 24 * 60
    return min(Self.spread, (quietHours.start.minutes - quietHours.end.minutes + day) % day)
  }

  private static let spread = 15
}
