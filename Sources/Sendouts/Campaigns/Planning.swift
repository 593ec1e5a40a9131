import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

extension Sendout {
  /// What its freeze decides about each contact, by what the customer's settings are now.
  /// - Returns: nil for a sendout without times, limits and variants, whose purpose has neither quiet hours nor caps. All of its audience gets
  ///   the same at once, and only preparation looks for suppressions. So whoever asks how many contacts are left needs a plan.
  func plan(_ database: any Querying, suppressions: SuppressionKey) async throws -> FreezePlan? {
    guard let customer = try await Customers(database).find(key.customer) else {
      throw RegistryError.customerUnknown(key.customer)
    }
    let subject = try subject()
    guard
      subject.campaign.decidesAboutContacts || maximumContacts != nil
        || !subject.rules(customer.settings).limitsNothing
    else { return nil }
    return subject.plan(
      customer.settings, startedAt: startedAt,
      templateVersions: try await SendoutRules.templateVersions(key.customer, subject.campaign.variants, in: database),
      suppressions: suppressions)
  }
}

extension CampaignFields {
  /// Whether it makes a difference who gets the sendout when, and what.
  fileprivate var decidesAboutContacts: Bool {
    hasTime || endAt != nil || spreadMinutes != nil || ratePerSecond != nil || variants != nil || holdoutPercent != nil
  }
}
