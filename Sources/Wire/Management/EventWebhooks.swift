/// An address of a customer that is told of events.
public struct EventWebhookID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// A post to such an address.
public struct EventDeliveryID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What webhooks are told of.
public enum WebhookEvent: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case sendoutStarted = "sendout.started"
  case sendoutPaused = "sendout.paused"
  case sendoutFinished = "sendout.finished"
  case pushAccepted = "push.accepted"
  case pushFailed = "push.failed"
  case pushOpened = "push.opened"
  case messageDelivered = "message.delivered"
  case deviceInvalidated = "device.invalidated"
  case contactUpdated = "contact.updated"
  case contactSuppressed = "contact.suppressed"
  case triggerFailed = "trigger.failed"
  case importFinished = "import.finished"
  case appRefused = "app.refused"
  case certificateExpiring = "certificate.expiring"
  case webhookTest = "webhook.test"

  /// Most items of one post, where an event has a list of them.
  public static let mostItems = 500

  /// Whether its posts have a list: of pushes, devices and contacts there can be many at once. All others have one object.
  public var isList: Bool {
    switch self {
    case .pushAccepted, .pushFailed, .pushOpened, .messageDelivered, .deviceInvalidated, .contactUpdated,
      .contactSuppressed, .triggerFailed:
      true
    case .sendoutStarted, .sendoutPaused, .sendoutFinished, .importFinished, .appRefused, .certificateExpiring,
      .webhookTest:
      false
    }
  }

  /// What Carma calls it; nil for what it has no event of. A test is sent in either form.
  public var carmaName: String? {
    switch self {
    case .deviceInvalidated: "Bounce"
    case .contactSuppressed: "Opt out"
    case .pushOpened: "Mail opened"
    case .contactUpdated: "Enduser updated"
    case .triggerFailed: "Trigger failed"
    case .webhookTest: "Test"
    default: nil
    }
  }
}

/// What a webhook's posts look like.
public enum EventWebhookForm: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Bodies of Standard Webhooks: type, timestamp and data.
  case standard
  /// Carma's own events and names.
  case carma
}

/// Body of `POST /api/v1/webhooks` and of `PATCH /api/v1/webhooks/{id}`.
public struct EventWebhookRequest: APIRequest, Equatable {
  public var url: String?
  public var events: [WebhookEvent]?
  public var description: String?
  public var form: EventWebhookForm?
  public var enabled: Bool?

  public init(
    url: String? = nil, events: [WebhookEvent]? = nil, description: String? = nil, form: EventWebhookForm? = nil,
    enabled: Bool? = nil
  ) {
    self.url = url
    self.events = events
    self.description = description
    self.form = form
    self.enabled = enabled
  }

  public static let schemaName: String? = "EventWebhookRequest"
  public static let schemaDescription = "A webhook to add."
  public static let example = EventWebhookRequest(
    url: "https://hooks.acme.example/pushcart", events: [.sendoutFinished, .pushFailed], description: "Data warehouse")
  public static var fieldTable: FieldTable { EventWebhookReply.fieldTable }

  /// One that is added.
  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["url", "events"], absent: ["enabled"], example: example)
  }
  public static let change = BodyForm(
    "EventWebhookChangeRequest", "What to change about a webhook. Absent fields stay as they are.", absent: ["form"],
    isChange: true, example: EventWebhookRequest(events: [.sendoutFinished], enabled: true))
}

/// A webhook.
public struct EventWebhookReply: APIObject, NumberedThing, Equatable {
  public static let noun = "webhook"
  public var number: EventWebhookID { webhookId }

  public var webhookId: EventWebhookID
  public var url: ShownURL
  public var events: [WebhookEvent]
  public var description: String?
  public var form: EventWebhookForm
  public var enabled: Bool
  public var disabledReason: String?
  public var failingSince: Timestamp?
  public var secret: String?
  public var formerSecretUntil: Timestamp?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public init(
    webhookId: EventWebhookID, url: String, events: [WebhookEvent], description: String? = nil,
    form: EventWebhookForm = .standard, enabled: Bool = true, disabledReason: String? = nil,
    failingSince: Timestamp? = nil, secret: String? = nil, formerSecretUntil: Timestamp? = nil, createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.webhookId = webhookId
    self.url = ShownURL(url)
    self.events = events
    self.description = description
    self.form = form
    self.enabled = enabled
    self.disabledReason = disabledReason
    self.failingSince = failingSince
    self.secret = secret
    self.formerSecretUntil = formerSecretUntil
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  public static let schemaName: String? = "EventWebhook"
  public static let schemaDescription = "An address that is told of events."
  public static let example = EventWebhookReply(
    webhookId: EventWebhookID(3), url: "https://hooks.acme.example/pushcart", events: [.sendoutFinished, .pushFailed],
    description: "Data warehouse", createdAt: .example, updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "webhookId": "The webhook's number.",
    "url": FieldDescription(
      "Where events are posted, by https. Replies lack what can hold a secret, such as its query.", limits: 1...2048),
    "events": FieldDescription(
      "What it is told: \(WebhookEvent.allCases.map { "`\($0.rawValue)`" }.asList()).",
      limits: 1...Int64(WebhookEvent.allCases.count)),
    "description": FieldDescription("What it is for.", limits: 1...1000, isRemovable: true),
    "form":
      """
    `standard` for bodies as Standard Webhooks has them, which is the default; `carma` for Carma's own events and names. It stays as it was \
    when the webhook was added.
    """,
    "enabled":
      """
    Whether it is told anything. What happens while it is not is not told later. The hub disables one that has taken nothing for 24 hours, or \
    that answers 410.
    """,
    "disabledReason": "Why the hub disabled it. Absent while it is enabled, and where a person disabled it.",
    "failingSince": "Since when it has taken nothing. Absent if it took the last post.",
    "secret":
      "The secret that signs, as in `whsec_…`. Only replies that make one have it; it cannot be shown again.",
    "formerSecretUntil": "Until when the secret before signs beside it.",
    "createdAt": "When the webhook was added.",
    "updatedAt": "When the webhook was last changed.",
  ]
}

/// What has become of a post to a webhook.
public enum EventDeliveryState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// To be posted, or posted again.
  case waiting
  case delivered
  /// Given up.
  case failed
}

/// A post to a webhook.
public struct EventDeliveryReply: APIObject, Equatable {
  public var deliveryId: EventDeliveryID
  public var messageId: String
  public var event: WebhookEvent
  public var items: Int
  public var state: EventDeliveryState
  public var attempts: Int
  public var status: Int?
  public var problem: String?
  public var createdAt: Timestamp
  public var triedAt: Timestamp?
  public var nextAt: Timestamp?
  public var body: JSONValue?

  public init(
    deliveryId: EventDeliveryID, messageId: String, event: WebhookEvent, items: Int, state: EventDeliveryState,
    attempts: Int, status: Int? = nil, problem: String? = nil, createdAt: Timestamp, triedAt: Timestamp? = nil,
    nextAt: Timestamp? = nil, body: JSONValue? = nil
  ) {
    self.body = body
    self.deliveryId = deliveryId
    self.messageId = messageId
    self.event = event
    self.items = items
    self.state = state
    self.attempts = attempts
    self.status = status
    self.problem = problem
    self.createdAt = createdAt
    self.triedAt = triedAt
    self.nextAt = nextAt
  }

  public static let schemaName: String? = "EventDelivery"
  public static let schemaDescription = "A post to a webhook. It is kept for 30 days."
  public static let example = EventDeliveryReply(
    deliveryId: EventDeliveryID(12), messageId: "msg_0192f3a4-7c1e-4b7a-9d43-5e6f70819202", event: .pushFailed,
    items: 37, state: .delivered, attempts: 1, createdAt: .example, triedAt: .example)

  public static let fieldTable: FieldTable = [
    "deliveryId": "The delivery's number.",
    "messageId": "The header `webhook-id`. It stays the same in every attempt, and when it is delivered again.",
    "event": "What it tells.",
    "items": .count("How many events it has."),
    "state": "`waiting`, `delivered`, or `failed` once it is given up.",
    "attempts": .count("How often it was posted."),
    "status": "Status of the last answer that refused it. Absent if there was none.",
    "problem": "Why the last attempt failed. Absent if it did not.",
    "createdAt": "When it was put together.",
    "triedAt": "When it was last posted.",
    "nextAt": "When it is posted next. Absent once it is delivered or given up.",
    "body":
      """
    What a post says: it is made from the tables anew for each, as now. Only the reply of one delivery has it, unless what it tells of has been \
    deleted. Users of the console who do not see personal fields see it without original ids.
    """,
  ]
}
