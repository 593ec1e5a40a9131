import Audience
import Content
import Crypto
import Delivery
import FoundationEssentials
import Postgres
import Registry
import Wire

/// What a sendout says, whether it is stored or not.
struct SendoutSubject: Sendable {
  let customer: CustomerID
  /// nil for one that is not stored.
  let sendout: SendoutID?
  let name: String
  let apps: [PushAppID]
  let audience: Audience
  let message: MessageBody
  var campaign: CampaignFields
  let purpose: MessagePurpose
  let template: String?
  let onUncertain: UncertainPolicy
  /// When it was scheduled; nil if it was not.
  let scheduledAt: Date?

  /// What its pushes would obey.
  func rules(_ settings: CustomerSettings) -> SendRules {
    SendRules(
      purpose: purpose, customerQuietHours: settings.quietHours, caps: settings.caps, campaign, ttl: message.ttl)
  }

  /// What its freeze decides about each contact.
  /// - Parameters:
  ///   - start: stands for the moment of scheduling where there was none.
  ///   - templateVersions: of the variants' own templates.
  func plan(
    _ settings: CustomerSettings, startedAt start: Date?, templateVersions: [Int32?] = [], suppressions: SuppressionKey
  ) -> FreezePlan {
    FreezePlan(
      campaign, rules: rules(settings), scheduledAt: scheduledAt ?? start, templateVersions: templateVersions,
      customerZone: settings.timeZone, suppressions: suppressions)
  }

  /// What contacts may get, and with which template's page: the message as each variant has it, or as it is without variants.
  func messages() throws -> [(message: MessageBody, page: String?)] {
    guard let variants = campaign.variants else { return [(message, template)] }
    return try variants.map { (try message.merged(with: $0.message), $0.template ?? template) }
  }
}

extension Sendout {
  func subject() throws -> SendoutSubject {
    SendoutSubject(
      customer: key.customer, sendout: key.sendout, name: name, apps: apps, audience: try audience(),
      message: try message(), campaign: try campaign(), purpose: purpose, template: template?.name,
      onUncertain: onUncertain, scheduledAt: scheduledAt)
  }
}

extension SendoutStore {
  /// A hash of all that a sendout says, and of all that decides about it: what its segments mean, the current versions of its templates, and the
  /// customer's quiet hours, caps and time zone. How many people it reaches is no part of it.
  /// - Parameter version: of the template that it would start with.
  func digest(of subject: SendoutSubject, templateVersion version: Int32?) async throws -> String {
    let customer = subject.customer
    guard let settings = try await Customers(database).find(customer)?.settings else {
      throw RegistryError.customerUnknown(customer)
    }
    func json(_ value: some Encodable) throws -> String {
      String(decoding: try JSONCoding.encode(value), as: UTF8.self)
    }
    var parts = [
      subject.name, subject.apps.map(\.description).joined(separator: " "), try json(subject.audience),
      subject.message.json, subject.template ?? "", version.map { String($0) } ?? "", subject.onUncertain.rawValue,
      subject.purpose.rawValue, try json(subject.campaign), try json(subject.rules(settings)), settings.timeZone,
      try await meaning(of: subject),
    ]
    parts += try await variantTemplates(of: subject)
    return Base64URL.text(Array(SHA256.hash(data: try JSONCoding.encode(parts))))
  }

  /// That of a stored sendout. A draft would start with the current version of its template, and one that is scheduled with its own.
  func digest(of sendout: Sendout) async throws -> String {
    let subject = try sendout.subject()
    return sendout.state == .draft
      ? try await digest(of: subject) : try await digest(of: subject, templateVersion: sendout.template?.version)
  }

  /// That of a sendout which would start with the current version of its template.
  func digest(of subject: SendoutSubject) async throws -> String {
    let template = try await SendoutRules.currentTemplate(subject.customer, subject.template, in: database)
    return try await digest(of: subject, templateVersion: template?.version)
  }

  /// The current versions of the templates that variants have of their own. One can be gone; then a start says so.
  private func variantTemplates(of subject: SendoutSubject) async throws -> [String] {
    do {
      return try await SendoutRules.templateVersions(subject.customer, subject.campaign.variants, in: database).map {
        $0.map { String($0) } ?? ""
      }
    } catch SendoutError.invalid(let field, let problem) {
      return ["\(field) \(problem)"]
    }
  }

  /// What the audience's segments mean. A segment can be gone; then that is what it means, and a start says so.
  private func meaning(of subject: SendoutSubject) async throws -> String {
    do {
      return try await segments.resolve(subject.customer, subject.audience).identity
    } catch RegistryError.invalid(let field, let problem) {
      return "\(field) \(problem)"
    }
  }
}
