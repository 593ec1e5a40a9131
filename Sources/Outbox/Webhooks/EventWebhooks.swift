package import FoundationEssentials
public import Postgres
package import Registry
public import Wire

/// The store of webhooks: addresses of a customer that are told of events.
///
/// Their secrets are sealed. Each is told once: when the webhook is added, and when another one is made.
public struct EventWebhooks: Sendable {
  private let database: any Querying

  public init(_ database: any Querying) { self.database = database }

  /// Most webhooks of a customer: whatever happens is noted for each of them.
  package static let most = 20

  /// Webhooks by number.
  package func list(
    _ customer: CustomerID, _ page: PageRequest<EventWebhookID>
  ) async throws -> Page<EventWebhookReply, EventWebhookID> {
    let rows = try await database.query(
      EventWebhookQueries.list, customer.rawValue, page.after?.rawValue ?? 0, Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply() }, cursor: \.webhookId)
  }

  /// - Throws: `RegistryError.numberUnknown`.
  package func find(_ customer: CustomerID, _ id: EventWebhookID) async throws -> EventWebhookReply {
    try await one(EventWebhookQueries.find, customer, id)
  }

  /// Adds a webhook. The caller has to run it in a transaction.
  /// - Parameter rule: where webhooks may lead.
  /// - Returns: the webhook with its secret.
  /// - Throws: `RegistryError.invalid`, naming the field.
  package func add(
    _ customer: CustomerID, _ request: EventWebhookRequest, vault: Vault, rule: EndpointRule
  ) async throws -> EventWebhookReply {
    let form = request.form ?? .standard
    guard let url = request.url else { throw RegistryError.invalid(field: "url", problem: "is missing") }
    try Self.check(url, rule)
    let events = try Self.checked(request.events ?? [], form)
    let description = try Self.checked(description: request.description)
    // Whoever adds another one at the same time waits, and then counts this one, too.
    guard try await Customers(database).lock(customer) != nil else { throw RegistryError.customerUnknown(customer) }
    guard try await database.query(EventWebhookQueries.count, customer.rawValue)[0].decode(Int.self) < Self.most else {
      throw RegistryError.invalid(
        field: "url", problem: "is that of one more webhook, and a customer has at most \(Self.most): remove one")
    }
    let id = try await database.query(EventWebhookQueries.number)[0].decode(Int64.self)
    let secret = WebhookSignature.newSecret()
    let sealed = try vault.seal(secret, context: SealedColumn.webhookSecret.place(customer, "\(id)"))
    let rows = try await database.mapViolations(["webhook_customer_id_fkey": .customerUnknown(customer)]) {
      try await $0.query(
        EventWebhookQueries.add, customer.rawValue, id, url, description, events.map(\.rawValue), form.rawValue,
        Bytes(sealed.joined))
    }
    var added: EventWebhookReply = try rows[0].reply()
    added.secret = WebhookSignature.shown(secret)
    return added
  }

  /// Changes a webhook; fields that are absent stay as they are. The caller has to run it in a transaction, as it locks the row. One that is
  /// enabled, or gets another address, is posted to at once.
  /// - Throws: `RegistryError.numberUnknown`; `.invalid`, naming the field.
  package func change(
    _ customer: CustomerID, _ id: EventWebhookID, _ request: EventWebhookRequest, rule: EndpointRule
  ) async throws -> (before: EventWebhookReply, after: EventWebhookReply) {
    let before: EventWebhookReply = try await one(EventWebhookQueries.lock, customer, id)
    if let url = request.url { try Self.check(url, rule) }
    let events = try request.events.map { try Self.checked($0, before.form) }
    let description = try Self.checked(description: request.description)
    let begins = request.url != nil || request.enabled == true
    let rows = try await database.query(
      EventWebhookQueries.change, customer.rawValue, id.rawValue, request.url, events?.map(\.rawValue),
      request.description != nil, description, request.enabled, begins)
    if begins { try await database.query(EventWebhookQueries.hasten, customer.rawValue, id.rawValue) }
    return (before, try rows.first?.reply() ?? before)
  }

  /// Removes a webhook with its deliveries, and what it is yet to be told.
  /// - Returns: what it was.
  /// - Throws: `RegistryError.numberUnknown`.
  package func remove(_ customer: CustomerID, _ id: EventWebhookID) async throws -> EventWebhookReply {
    try await one(EventWebhookQueries.remove, customer, id)
  }

  /// Makes another secret. The one before signs beside it for a day.
  /// - Returns: the webhook as it was, and as it is with its secret.
  /// - Throws: `RegistryError.numberUnknown`.
  package func rotate(
    _ customer: CustomerID, _ id: EventWebhookID, vault: Vault
  ) async throws -> (before: EventWebhookReply, after: EventWebhookReply) {
    let before: EventWebhookReply = try await one(EventWebhookQueries.lock, customer, id)
    let secret = WebhookSignature.newSecret()
    let sealed = try vault.seal(secret, context: SealedColumn.webhookSecret.place(customer, "\(id)"))
    let rows = try await database.query(
      EventWebhookQueries.rotate, customer.rawValue, id.rawValue, Bytes(sealed.joined))
    var after: EventWebhookReply = try rows[0].reply()
    after.secret = WebhookSignature.shown(secret)
    return (before, after)
  }

  // MARK: Deliveries

  /// Deliveries of a webhook, the newest first.
  /// - Throws: `RegistryError.numberUnknown`.
  package func deliveries(
    _ customer: CustomerID, _ id: EventWebhookID, _ page: PageRequest<EventDeliveryID>
  ) async throws -> Page<EventDeliveryReply, EventDeliveryID> {
    _ = try await find(customer, id)
    let rows = try await database.query(
      EventWebhookQueries.deliveries, customer.rawValue, id.rawValue, page.after?.rawValue ?? .max,
      Int64(page.limit + 1))
    return page.page(of: try rows.map { try $0.reply() }, cursor: \.deliveryId)
  }

  /// A delivery, and what it tells in which form.
  /// - Throws: `RegistryError.numberUnknown`.
  package func delivery(
    _ customer: CustomerID, _ id: EventWebhookID, _ delivery: EventDeliveryID
  ) async throws -> (reply: EventDeliveryReply, told: EventDelivery, form: EventWebhookForm) {
    let form = try await find(customer, id).form
    let rows = try await database.query(
      EventWebhookQueries.delivery, customer.rawValue, id.rawValue, delivery.rawValue)
    guard let row = rows.first else { throw RegistryError.numberUnknown("delivery") }
    let reply: EventDeliveryReply = try row.reply()
    let told = EventDelivery(
      id: delivery, webhook: id, messageID: reply.messageId, event: reply.event, attempts: reply.attempts,
      createdAt: reply.createdAt.date)
    return (reply, try await WebhookQueue.withEvents([told], of: customer, id, in: database)[0], form)
  }

  /// Posts a test, whatever the webhook is told otherwise.
  /// - Throws: `RegistryError.numberUnknown`; `.invalid` for one that is disabled.
  package func test(_ customer: CustomerID, _ id: EventWebhookID) async throws -> EventDeliveryReply {
    try await requireEnabled(customer, id)
    guard
      let row = try await database.query(EventWebhookQueries.test, customer.rawValue, id.rawValue, UUID()).first
    else { throw RegistryError.numberUnknown(EventWebhookReply.noun) }
    return try row.reply()
  }

  /// Posts a delivery again, with the same `webhook-id`, unless it is being posted now.
  /// - Throws: `RegistryError.numberUnknown`; `.invalid` for a webhook that is disabled.
  package func redeliver(
    _ customer: CustomerID, _ id: EventWebhookID, _ delivery: EventDeliveryID
  ) async throws -> EventDeliveryReply {
    try await requireEnabled(customer, id)
    let rows = try await database.query(
      EventWebhookQueries.redeliver, customer.rawValue, id.rawValue, delivery.rawValue)
    guard let row = rows.first else { throw RegistryError.numberUnknown("delivery") }
    return try row.reply()
  }

  private func requireEnabled(_ customer: CustomerID, _ id: EventWebhookID) async throws {
    guard try await find(customer, id).enabled else {
      throw RegistryError.invalid(field: "webhookId", problem: "is that of a webhook that is disabled: enable it first")
    }
  }

  // MARK: What the hub says itself

  /// Webhooks that the hub has disabled, and those that have taken nothing for an hour.
  package func failing(_ customer: CustomerID) async throws -> [EventWebhookReply] {
    try await database.query(EventWebhookQueries.failing, customer.rawValue).map { try $0.reply() }
  }

  /// Tells that a certificate of an app expires, once for each webhook and number of days.
  /// - Parameter days: as `daysLeft` gives them.
  package func tellExpiry(
    _ customer: CustomerID, _ app: PushAppID, notAfter: Date, days: Int
  ) async throws {
    try await database.query(
      EventWebhookQueries.tellExpiry, customer.rawValue, app.rawValue, "\(Wire.Timestamp(notAfter)) \(days)")
  }

  /// How many days before its end a certificate is told of; 0 once it is over.
  private static let certificateDays = [0, 1, 7, 14, 30]

  /// - Returns: the least of these within which a certificate ends. `nil` while that is farther off, and once it has been over for so long that
  ///   nobody knows any more what was told of it.
  package static func daysLeft(until notAfter: Date, at now: Date) -> Int? {
    guard notAfter > now.addingTimeInterval(-29 * 86_400) else { return nil }
    return certificateDays.first { notAfter < now.addingTimeInterval(Double($0) * 86_400) }
  }

  /// Deletes deliveries and events that are older than 30 days, whether or not they were told.
  public static func forgetExpired(_ customer: CustomerID, in database: any Querying) async throws {
    try await database.deleteInPortions(EventWebhookQueries.forgetDeliveries, customer.rawValue)
    try await database.deleteInPortions(EventWebhookQueries.forgetEvents, customer.rawValue)
  }

  // MARK: Checks

  private static func check(_ url: String, _ rule: EndpointRule) throws {
    let most = EventWebhookRequest.fieldTable.maximum(of: "url")
    guard url.utf8.count <= most else {
      throw RegistryError.invalid(field: "url", problem: "must be an https address of up to \(most) bytes")
    }
    let endpoint: PushEndpoint
    do {
      endpoint = try PushEndpoint(url: url)
    } catch {
      throw RegistryError.invalid(field: "url", problem: error.problem)
    }
    if let problem = rule.problem(with: endpoint) { throw RegistryError.invalid(field: "url", problem: problem) }
  }

  /// The events, each once, in the order of all.
  private static func checked(_ events: [WebhookEvent], _ form: EventWebhookForm) throws -> [WebhookEvent] {
    guard !events.isEmpty else {
      throw RegistryError.invalid(field: "events", problem: "must name one event at least")
    }
    if form == .carma, let other = events.first(where: { $0.carmaName == nil }) {
      throw RegistryError.invalid(
        field: "events", problem: "has \(other.rawValue), which Carma has no event of: use the form standard for it")
    }
    return WebhookEvent.allCases.filter(events.contains)
  }

  /// - Returns: nil for none, which "" stands for.
  private static func checked(description: String?) throws -> String? {
    guard let description, !description.isEmpty else { return nil }
    return try TextRule("description", maximum: EventWebhookRequest.fieldTable.maximum(of: "description"))
      .require(description)
  }

  private func one(
    _ statement: Statement, _ customer: CustomerID, _ id: EventWebhookID
  ) async throws -> EventWebhookReply {
    guard let row = try await database.query(statement, customer.rawValue, id.rawValue).first else {
      throw RegistryError.numberUnknown(EventWebhookReply.noun)
    }
    return try row.reply()
  }
}

extension SealedColumn {
  package static let outbox = [webhookSecret, formerWebhookSecret]

  static let webhookSecret = SealedColumn("webhook", "secret", key: ["webhook_id": "bigint"], isJoined: true)
  private static let formerWebhookSecret = SealedColumn(
    "webhook", "former_secret", key: ["webhook_id": "bigint"], isJoined: true)
}
