import Audience
import Content
import Delivery
import FoundationEssentials
public import Postgres
public import Registry
public import Wire

/// Tells what a sendout would do now, by the SQL of its freeze. Nothing is stored or sent.
///
/// A customer has one at a time, and its others wait: each reads the whole audience.
public struct Preflights: Sendable {
  private let reading: any Querying
  private let retentionDays: Int32?
  private let permits = KeyedSemaphore<CustomerID>(1, mostWaiting: 20)
  /// How long each statement may take.
  private static let limit = Duration.seconds(30)

  /// - Parameters:
  ///   - reading: for reads that may take long: a pool.
  ///   - retentionDays: for which the hub keeps the ledger; nil for ever.
  public init(_ reading: any Querying, retentionDays: Int32? = nil) {
    self.reading = reading
    self.retentionDays = retentionDays
  }

  /// - Parameters:
  ///   - messages: renders samples.
  ///   - suppressions: hashes whom suppressions name.
  ///   - seesPersonal: whether warnings name a contact.
  /// - Throws: `RegistryError.numberUnknown`; `SendoutError.invalid` for a stream; what the audience is refused for.
  public func preflight(
    _ customer: CustomerID, _ id: SendoutID, with messages: MessageService, suppressions: SuppressionKey,
    seesPersonal: Bool = true
  ) async throws -> PreflightReply {
    let store = SendoutStore(reading, retentionDays: retentionDays)
    guard let row = try await reading.query(SendoutQueries.find, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown("sendout")
    }
    let sendout = try Sendout(row)
    guard !sendout.isStream else {
      throw SendoutError.invalid(field: "id", problem: "names a stream of single messages, which has no audience")
    }
    return try await preflight(
      try sendout.subject(), digest: try await store.digest(of: sendout), store, messages, suppressions, seesPersonal)
  }

  /// The same of a sendout that is not stored.
  /// - Throws: what a sendout is refused for.
  public func preflight(
    _ customer: CustomerID, _ request: SendoutRequest, with messages: MessageService, suppressions: SuppressionKey,
    seesPersonal: Bool = true
  ) async throws -> PreflightReply {
    let store = SendoutStore(reading, retentionDays: retentionDays)
    let subject = try await store.unsaved(customer, request)
    return try await preflight(
      subject, digest: try await store.digest(of: subject), store, messages, suppressions, seesPersonal)
  }

  private func preflight(
    _ subject: SendoutSubject, digest: String, _ store: SendoutStore, _ messages: MessageService,
    _ suppressions: SuppressionKey, _ seesPersonal: Bool
  ) async throws -> PreflightReply {
    let (customer, database) = (subject.customer, reading.limited(to: Self.limit))
    guard let settings = try await Customers(reading).find(customer)?.settings else {
      throw RegistryError.customerUnknown(customer)
    }
    var subject = subject
    if let repetition = subject.campaign.repeat, subject.campaign.hasTime, subject.scheduledAt == nil {
      subject.campaign = try await Series(reading).first(of: subject.campaign, repetition, settings.timeZone)
    }
    let apps = try await PushApps(reading).list(customer).filter { subject.apps.contains($0.id) }
    let audience = try await store.segments.resolve(customer, subject.audience)
    let plan = subject.plan(settings, startedAt: messages.now(), suppressions: suppressions)
    let variables = try PreflightWarnings.variables(of: subject)
    return try await permits.withPermit(customer) { [subject] in
      let counts = try await counts(subject, audience, plan, meeting: variables.map(\.isEmpty))
      let warnings = PreflightWarnings(
        subject: subject, audience: audience, counts: counts, variables: variables, apps: apps, messages: messages,
        reading: database,
        seesPersonal: seesPersonal)
      return PreflightReply(
        digest: digest, asOf: Wire.Timestamp(counts.asOf), steps: counts.steps, held: counts.held,
        apps: apps.map { app in
          PreflightReply.App(
            appId: app.appID, appType: app.type,
            devices: counts.devices.reduce(0) { $1.key.app == app.id ? $0 + $1.value : $0 })
        }, firstAt: counts.firstAt.map(Wire.Timestamp.init), lastAt: counts.lastAt.map(Wire.Timestamp.init),
        zones: counts.zones, warnings: try await warnings.all())
    }
  }

  private func counts(
    _ subject: SendoutSubject, _ audience: ResolvedAudience, _ plan: FreezePlan, meeting conditions: [Filter]
  ) async throws -> PreflightCounts {
    guard let pool = reading as? Pool else { preconditionFailure("a preflight needs a pool") }
    // It is planned for this audience alone, which takes a transaction.
    return try await pool.transaction(of: subject.customer.rawValue, limit: Self.limit) { transaction in
      try await Ledger(transaction).preflight(
        subject.customer, sendout: subject.sendout, apps: subject.apps, audience: audience.included,
        excluded: audience.excluded, plan: plan, conditions: ResolvedFilter.conditions(conditions))
    }
  }
}
