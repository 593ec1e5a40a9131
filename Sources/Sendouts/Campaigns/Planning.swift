import Content
package import Delivery
import FoundationEssentials
import Postgres
package import Registry
package import Wire

extension FreezePlan {
  /// What a freeze decides about each contact of a sendout that says this.
  /// - Parameters:
  ///   - scheduledAt: zones in which the local time was over by then are `onMissed`'s.
  ///   - ttl: of the message.
  ///   - templateVersions: of the variants' own templates, in the order of the variants; empty if none has one.
  /// - Returns: nil for a sendout without times, limits and variants, whose purpose has neither quiet hours nor caps. All of its audience gets
  ///   the same at once.
  package static func of(
    _ campaign: CampaignFields, purpose: MessagePurpose, ttl: Int?, scheduledAt: Date?,
    templateVersions: [Int32?] = [], settings: CustomerSettings, suppressions: SuppressionKey
  ) -> FreezePlan? {
    let rules = SendRules(
      purpose: purpose, customerQuietHours: settings.quietHours, caps: settings.caps, campaign, ttl: ttl)
    guard campaign.decidesAboutContacts || !rules.limitsNothing else { return nil }
    return FreezePlan(
      campaign, purpose: purpose, rules: rules, scheduledAt: scheduledAt, ttl: ttl,
      templateVersions: templateVersions, customerZone: settings.timeZone, suppressions: suppressions)
  }
}

extension CampaignFields {
  /// Whether it makes a difference who gets the sendout when, and what.
  fileprivate var decidesAboutContacts: Bool {
    hasTime || endAt != nil || spreadMinutes != nil || ratePerSecond != nil || variants != nil || holdoutPercent != nil
  }
}

extension Sendout {
  /// The plan of its freeze; nil for a sendout without times, limits and variants.
  func plan(_ database: any Querying, suppressions: SuppressionKey) async throws -> FreezePlan? {
    guard let customer = try await Customers(database).find(key.customer) else {
      throw RegistryError.customerUnknown(key.customer)
    }
    let campaign = try campaign()
    var versions: [Int32?] = []
    for variant in campaign.variants ?? [] {
      versions.append(
        try await SendoutRules.currentTemplate(key.customer, variant.template, in: database)?.version)
    }
    return .of(
      campaign, purpose: purpose, ttl: try message().ttl, scheduledAt: scheduledAt, templateVersions: versions,
      settings: customer.settings, suppressions: suppressions)
  }
}
