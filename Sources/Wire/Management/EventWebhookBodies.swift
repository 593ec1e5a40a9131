/// The headers of a post to a webhook, as Standard Webhooks has them.
public enum WebhookHeader: String, Sendable, Hashable, CaseIterable {
  case id = "webhook-id"
  case timestamp = "webhook-timestamp"
  case signature = "webhook-signature"

  /// Sentences for people.
  public var meaning: String {
    switch self {
    case .id: "Stays the same in every attempt, and when it is delivered again: pass over what you have taken already."
    case .timestamp: "When this attempt was made, in seconds since 1970. Refuse one that is more than five minutes off."
    case .signature:
      """
      `v1,` and the HMAC-SHA256 in base64 of `webhook-id`, a full stop, `webhook-timestamp`, a full stop, and the body, by the secret's bytes. \
      For 24 hours after the secret was replaced there are two, with a space between them.
      """
    }
  }

  public var schema: Schema {
    switch self {
    case .id: .string(matching: "^msg_[0-9a-f-]{36}$")
    case .timestamp: .string(matching: "^[0-9]+$")
    case .signature: .string(matching: "^v1,[A-Za-z0-9+/=]+( v1,[A-Za-z0-9+/=]+)?$")
    }
  }

  public var example: JSONValue {
    switch self {
    case .id: "msg_0192f3a4-7c1e-4b7a-9d43-5e6f70819202"
    case .timestamp: "1795165200"
    case .signature: "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="
    }
  }
}

extension WebhookEvent {
  /// The body of a post: of the form `standard`, or of Carma's where that has the event.
  public var body: Schema {
    carmaBody.map { Schema(.either([standardBody, $0])) } ?? standardBody
  }

  /// Of the form `standard`.
  public var standardBody: Schema {
    let item = Schema.object(
      [Schema.Field("at", .timestamp, "When it happened.")] + members)
    return .object([
      Schema.Field("type", Schema(.strings([rawValue])), "The event."),
      Schema.Field("timestamp", .timestamp, "When the first of them happened."),
      Schema.Field(
        "data", isList ? Schema(.array(of: item, count: 1...Self.mostItems)) : item,
        isList ? "What happened, the oldest first." : "What happened."),
    ])
  }

  /// Of the form `carma`; nil where Carma has no such event.
  public var carmaBody: Schema? {
    carmaName.map { name in
      Schema(
        .array(
          of: .object([
            Schema.Field("event", Schema(.strings([name])), "Carma's name of the event."),
            Schema.Field("eventId", .string(), "Unique among the customer's events."),
            Schema.Field("timestamp", .integer(), "When it happened, in milliseconds since 1970."),
            Schema.Field(
              "sentTimestamp", .integer(), "When the delivery was put together, in milliseconds since 1970."),
            .optional("listId", .id, "The lowest of the contact's lists."),
            .optional("contactId", .string(), "The contact's original id."),
            .optional("carmaContactId", .id, "The contact's number."),
            .optional("campaignId", .id, "The sendout's number."),
            .optional("description", .string(), "The reason."),
          ]), count: 1...Self.mostItems))
    }
  }

  /// What an item says beside its moment. What is not there any more when it is posted is absent.
  private var members: [Schema.Field] {
    let reason = Schema.Field.optional("reason", .string(), "Why, as the ledger or the push service has it.")
    switch self {
    case .sendoutStarted: return Self.ofSendout
    case .sendoutPaused, .sendoutFinished:
      return Self.ofSendout + [
        .optional("reason", .string(), "`finished` or `cancelled` at the end; why the hub paused it, if it did.")
      ]
    case .pushAccepted, .pushOpened, .messageDelivered: return Self.ofPush
    case .pushFailed: return Self.ofPush + [reason]
    case .triggerFailed:
      return Self.ofPush + [reason, Schema.Field("triggerId", .id, "The trigger's number.")]
    case .deviceInvalidated:
      return Self.ofContact + Self.ofApp + [.optional("deviceId", .id, "The device's number."), reason]
    case .contactUpdated: return Self.ofContact
    case .contactSuppressed:
      return Self.ofContact + [
        .optional("suppressionId", .id, "The suppression's number."),
        .optional("scope", SuppressionScope.schema, "What is not sent."),
      ]
    case .importFinished:
      return [
        .optional("importId", .id, "The import's number."), .optional("state", ImportState.schema, "How it ended."),
      ]
    case .appRefused: return Self.ofApp + [reason]
    case .certificateExpiring:
      return Self.ofApp + [
        .optional("notAfter", .timestamp, "When the certificate ends."),
        .optional("days", .integer(0 ... .max), "Within how many days that is; 0 once it is over."),
      ]
    case .webhookTest: return [Schema.Field("webhookId", .id, "The webhook's number.")]
    }
  }

  private static let ofContact = [
    Schema.Field.optional("contactId", .id, "The contact's number."),
    .optional("originalId", .string(), "The contact's id."),
  ]
  private static let ofApp = [
    Schema.Field.optional("pushAppId", .id, "The app's number."), .optional("appId", .string(), "The app's id."),
    .optional("appType", AppType.schema, "The app's type."),
  ]
  private static let ofPush =
    [
      Schema.Field("sendoutId", .id, "The sendout's number."),
      Schema.Field("pushNo", .id, "The push's number within the sendout."),
      Schema.Field("deviceId", .id, "The device's number."),
      .optional("messageId", .string(), "The single message, as in 7-15."),
      .optional("testOf", .id, "The sendout that it tested."),
    ] + ofContact + ofApp
  private static let ofSendout = [
    Schema.Field("sendoutId", .id, "The sendout's number."), .optional("name", .string(), "The sendout's name."),
    .optional("state", SendoutState.schema, "Its state as of the post."),
    .optional("seriesId", .id, "The series of which it is one time."),
    .optional("startedAt", .timestamp, "When it was started."),
    .optional("finishedAt", .timestamp, "When it ended."),
    .optional("counts", SendoutCounts.schema, "Its pushes by state, as of the post."),
  ]
}

extension Schema {
  /// An object of these fields and no others.
  fileprivate static func object(_ fields: [Field]) -> Schema { Schema(.object(fields, others: nil, count: nil)) }
  fileprivate static let timestamp = Schema(.timestamp)
}

extension Schema.Field {
  fileprivate static func optional(_ name: String, _ schema: Schema, _ description: String) -> Self {
    Self(name, schema, isRequired: false, description)
  }
}
