package import FoundationEssentials
import Postgres
import Registry
import Retrying
package import Wire

/// What a webhook is told, as it was noted.
package struct NotedEvent: Sendable {
  package let number: Int64
  package let sendout: SendoutID?
  package let pushes: [Int32]
  package let contact: ContactID?
  /// What else it is about, by number.
  package let subject: Int64?
  package let reason: String?
  package let at: Date
}

/// A post of events of one kind.
package struct EventDelivery: Sendable {
  package let id: EventDeliveryID
  package let webhook: EventWebhookID
  /// The header `webhook-id`.
  package let messageID: String
  package let event: WebhookEvent
  /// How often it was posted, this time included.
  let attempts: Int
  /// When its events were put together.
  package let createdAt: Date
  /// In the order in which they were noted.
  package internal(set) var events: [NotedEvent] = []
}

/// Makes what is posted of events. It knows the tables that they are about.
package protocol WebhookBodies: Sendable {
  /// - Returns: of each delivery its body; nil where there is nothing to tell, as of pushes that have been deleted since.
  func bodies(
    of deliveries: [EventDelivery], in form: EventWebhookForm, _ customer: CustomerID
  ) async throws -> [[UInt8]?]
}

/// What is to be posted to webhooks, in the tables.
///
/// Events are noted by the commit of what they tell. They are put together once there is a task for them. A delivery is begun by the commit
/// that makes it, and then posted; a hub that is killed meanwhile leaves it to another one, which posts it again with the same `webhook-id`.
struct WebhookQueue: Sendable {
  let database: any Querying
  let vault: Vault

  /// A webhook of a customer.
  struct Lane: DueLane {
    let customer: CustomerID
    let webhook: EventWebhookID
  }

  /// Where a webhook's posts go.
  struct Target {
    let url: String
    let form: EventWebhookForm
    let signature: WebhookSignature
    /// By the database's clock, since receivers compare it with theirs.
    let now: Date
    /// How many deliveries may be put together.
    let room: Int
  }

  /// The webhooks of all customers that have something due.
  func due() async throws -> [Lane] {
    try await database.query(EventWebhookQueries.due).map { row in
      let (customer, webhook) = try row.decode(Int64.self, Int64.self)
      return Lane(customer: CustomerID(customer), webhook: EventWebhookID(webhook))
    }
  }

  /// - Returns: nil for one that is disabled or gone.
  /// - Throws: `RegistryError.sealed` when no master key at hand opens its secrets.
  func target(_ lane: Lane) async throws -> Target? {
    let rows = try await database.query(EventWebhookQueries.target, lane.customer.rawValue, lane.webhook.rawValue)
    guard let row = rows.first else { return nil }
    let (url, form, secret, former, now, room) = try row.decode(
      String.self, String.self, Bytes.self, Bytes?.self, Date.self, Int.self)
    let context = SealedColumn.webhookSecret.place(lane.customer, "\(lane.webhook)")
    let secrets = try [secret, former].compactMap(\.self)
      .map { try vault.open(Sealed(joined: $0.bytes), context: context) }
    return Target(
      url: url, form: EventWebhookForm(rawValue: form) ?? .standard, signature: WebhookSignature(secrets: secrets),
      now: now, room: room)
  }

  /// Begins deliveries: those that are due, and then new ones. No other hub posts them before `RetryPolicy.lostPosts`.
  /// - Parameter room: for how many new ones.
  func begin(_ lane: Lane, upTo most: Int, room: Int) async throws -> [EventDelivery] {
    var begun = try await database.query(
      EventWebhookQueries.begin, lane.customer.rawValue, lane.webhook.rawValue, Int64(most)
    ).compactMap { try Self.delivery($0, of: lane) }
    for _ in 0..<max(0, min(room, most - begun.count)) {
      let rows = try await database.query(
        EventWebhookQueries.assemble, lane.customer.rawValue, lane.webhook.rawValue, UUID(),
        WebhookEvent.allCases.filter(\.isList).map(\.rawValue))
      guard let row = rows.first else { break }
      if let delivery = try Self.delivery(row, of: lane) { begun.append(delivery) }
    }
    guard !begun.isEmpty else { return [] }
    return try await Self.withEvents(begun, of: lane.customer, lane.webhook, in: database)
  }

  /// Deliveries of a webhook with what they tell.
  static func withEvents(
    _ deliveries: [EventDelivery], of customer: CustomerID, _ webhook: EventWebhookID, in database: any Querying
  ) async throws -> [EventDelivery] {
    var events: [EventDeliveryID: [NotedEvent]] = [:]
    for row in try await database.query(
      EventWebhookQueries.events, customer.rawValue, webhook.rawValue, deliveries.map(\.id.rawValue))
    {
      let (delivery, number, sendout, pushes, contact, subject, reason, at) = try row.decode(
        Int64.self, Int64.self, Int64?.self, [Int32]?.self, Int64?.self, Int64?.self, String?.self, Date.self)
      events[EventDeliveryID(delivery), default: []].append(
        NotedEvent(
          number: number, sendout: sendout.map { SendoutID($0) }, pushes: pushes ?? [],
          contact: contact.map { ContactID($0) }, subject: subject, reason: reason, at: at))
    }
    return deliveries.map { delivery in
      var delivery = delivery
      delivery.events = events[delivery.id] ?? []
      return delivery
    }
  }

  /// - Returns: nil for an event of a later version, which that version's hubs post.
  private static func delivery(_ row: Row, of lane: Lane) throws -> EventDelivery? {
    let (id, message, event, attempts, createdAt) = try row.decode(
      Int64.self, String.self, String.self, Int.self, Date.self)
    return WebhookEvent(rawValue: event).map {
      EventDelivery(
        id: EventDeliveryID(id), webhook: lane.webhook, messageID: "msg_\(message)", event: $0, attempts: attempts,
        createdAt: createdAt)
    }
  }

  func taken(_ delivery: EventDelivery, of lane: Lane) async throws {
    try await database.query(
      EventWebhookQueries.taken, lane.customer.rawValue, lane.webhook.rawValue, delivery.id.rawValue)
  }

  /// It was not posted: there is nothing that it would tell.
  func empty(_ delivery: EventDelivery, of lane: Lane) async throws {
    try await database.query(
      EventWebhookQueries.empty, lane.customer.rawValue, lane.webhook.rawValue, delivery.id.rawValue,
      "What it tells of has been deleted.")
  }

  /// It was not taken.
  /// - Parameters:
  ///   - status: of the answer; nil for none.
  ///   - isGone: whether the answer says that nothing is wanted any more.
  ///   - sentence: why the webhook is disabled, if it is.
  func failed(
    _ delivery: EventDelivery, of lane: Lane, status: Int32?, reason: String, delay: Duration, isGone: Bool,
    sentence: String
  ) async throws -> Refused {
    let row = try await database.query(
      EventWebhookQueries.failed, lane.customer.rawValue, lane.webhook.rawValue, delivery.id.rawValue, status, reason,
      delay / .seconds(1), isGone, sentence)[0]
    let (isDisabled, isGivenUp, isRemoved) = try row.decode(Bool.self, Bool.self, Bool.self)
    return Refused(isDisabled: isDisabled, isGivenUp: isGivenUp, isRemoved: isRemoved)
  }

  /// What a post that was not taken leads to.
  struct Refused {
    /// Whether the webhook is disabled now.
    let isDisabled: Bool
    /// Whether the delivery is not posted again, though its webhook is told others.
    let isGivenUp: Bool
    /// Whether somebody has removed the webhook meanwhile, and the delivery with it.
    let isRemoved: Bool
  }

  /// It was not posted: its body could not be made.
  /// - Returns: whether it is given up.
  func unmade(_ delivery: EventDelivery, of lane: Lane) async throws -> Bool {
    let rows = try await database.query(
      EventWebhookQueries.unmade, lane.customer.rawValue, lane.webhook.rawValue, delivery.id.rawValue,
      "What it tells could not be read. The log of the hubs has the error.",
      RetryPolicy.steps.delay(after: delivery.attempts) / .seconds(1), Int32(RetryPolicy.mostStepFailures))
    return try rows.first?.decode(Bool.self) ?? false
  }

  func postpone(_ delivery: EventDelivery, of lane: Lane, for delay: Duration) async throws {
    try await database.query(
      EventWebhookQueries.postpone, lane.customer.rawValue, lane.webhook.rawValue, delivery.id.rawValue,
      delay / .seconds(1))
  }
}
