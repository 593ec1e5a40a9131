import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

extension Sendout {
  /// What its freeze decides about each contact, by what the customer's settings are now.
  /// - Returns: nil for a sendout without times, limits and variants, whose purpose has neither quiet hours nor caps. All of its audience gets
  ///   the same at once.
  func plan(_ database: any Querying, suppressions: SuppressionKey) async throws -> FreezePlan? {
    guard let customer = try await Customers(database).find(key.customer) else {
      throw RegistryError.customerUnknown(key.customer)
    }
    let (campaign, ttl) = (try campaign(), try message().ttl)
    let rules = SendRules(
      purpose: purpose, customerQuietHours: customer.settings.quietHours, caps: customer.settings.caps, campaign,
      ttl: ttl)
    guard campaign.decidesAboutContacts || !rules.limitsNothing else { return nil }
    return FreezePlan(
      campaign, rules: rules, scheduledAt: scheduledAt ?? startedAt,
      templateVersions: try await SendoutRules.templateVersions(key.customer, campaign.variants, in: database),
      customerZone: customer.settings.timeZone, suppressions: suppressions)
  }
}

extension CampaignFields {
  /// Whether it makes a difference who gets the sendout when, and what.
  fileprivate var decidesAboutContacts: Bool {
    hasTime || endAt != nil || spreadMinutes != nil || ratePerSecond != nil || variants != nil || holdoutPercent != nil
  }
}
