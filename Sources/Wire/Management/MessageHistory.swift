/// A single message in a list.
public struct ListedMessage: APIObject, Equatable {
  public var messageId: MessageID
  public var state: MessageState
  public var contactId: ContactID
  public var originalId: String?
  public var reference: String?
  public var alert: String?
  public var createdAt: Timestamp
  public var deliverAt: Timestamp?
  public var testOf: SendoutID?

  public init(
    messageId: MessageID, state: MessageState, contactId: ContactID, originalId: String?, reference: String? = nil,
    alert: String? = nil, createdAt: Timestamp, deliverAt: Timestamp? = nil, testOf: SendoutID? = nil
  ) {
    self.testOf = testOf
    self.messageId = messageId
    self.state = state
    self.contactId = contactId
    self.originalId = originalId
    self.reference = reference
    self.alert = alert
    self.createdAt = createdAt
    self.deliverAt = deliverAt
  }

  public static let schemaName: String? = "ListedMessage"
  public static let schemaDescription = "A single message in a list."
  public static let example = ListedMessage(
    messageId: MessageID(SendoutID(7), 15), state: .accepted, contactId: ContactID(5), originalId: "lars@example.com",
    reference: "parcel-42", alert: "Your parcel is here, {{firstName}}", createdAt: .example)

  public static let fieldTable: FieldTable = [
    "messageId": "The message's id: its stream's number and its own within it.",
    "state": "What became of it, as where one message is shown.",
    "contactId": "Whom it is for.",
    "originalId": "The contact's original id. Absent if the contact is gone.",
    "reference": "The caller's own name for the message.",
    "alert": "The beginning of its alert, as the caller sent it: a template.",
    "createdAt": "When it was accepted.",
    "deliverAt": "When it is due. Absent if that was at once.",
    "testOf": "The sendout that it tested. Absent if it is no test.",
  ]
}

/// A single message, and what became of it, step by step.
public struct MessageWhyReply: APIObject, Equatable {
  public var messageId: MessageID
  public var state: MessageState
  public var contactId: ContactID
  public var originalId: String?
  public var reference: String?
  public var message: MessageBody
  public var createdAt: Timestamp
  public var deliverAt: Timestamp?
  public var expiresAt: Timestamp?
  public var pushes: [MessageReply.Push]
  public var lines: [WhyLine]

  public init(
    messageId: MessageID, state: MessageState, contactId: ContactID, originalId: String?, reference: String? = nil,
    message: MessageBody, createdAt: Timestamp, deliverAt: Timestamp? = nil, expiresAt: Timestamp? = nil,
    pushes: [MessageReply.Push], lines: [WhyLine]
  ) {
    self.messageId = messageId
    self.state = state
    self.contactId = contactId
    self.originalId = originalId
    self.reference = reference
    self.message = message
    self.createdAt = createdAt
    self.deliverAt = deliverAt
    self.expiresAt = expiresAt
    self.pushes = pushes
    self.lines = lines
  }

  public static let schemaName: String? = "MessageWhy"
  public static let schemaDescription = "A single message, and what became of it, step by step."
  public static let example = MessageWhyReply(
    messageId: MessageID(SendoutID(7), 15), state: .accepted, contactId: ContactID(5), originalId: "lars@example.com",
    reference: "parcel-42", message: MessageBody(alert: "Your parcel is here, {{firstName}}"), createdAt: .example,
    pushes: [.example], lines: [WhyLine(at: .example, text: "The hub accepted the message.")])

  public static let fieldTable: FieldTable = [
    "messageId": "The message's id: its stream's number and its own within it.",
    "state": "What became of it, as where one message is shown.",
    "contactId": "Whom it is for.",
    "originalId": "The contact's original id. Absent if the contact is gone.",
    "reference": "The caller's own name for the message.",
    "message": "What its pushes say, as the caller sent it: templates.",
    "createdAt": "When it was accepted.",
    "deliverAt": "When it is due. Absent if that was at once.",
    "expiresAt": "When it is sent no more. Absent for never.",
    "pushes": "One push for each device, an SMS that stands in for the others among them.",
    "lines": "The lines, in the order of what happened.",
  ]
}
