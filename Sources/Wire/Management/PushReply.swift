/// One push of a sendout: 1, 2, 3, … within it. At most 2,147,483,647.
public struct PushNumber: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// The state of a push in the ledger: queued -> accepted, failed, skipped or uncertain; queued -> waiting -> queued;
/// queued or waiting -> cancelled.
public enum PushState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case queued, waiting, accepted, failed, uncertain, skipped, cancelled
}

/// One push of a sendout: a row of the ledger.
public struct PushReply: APIObject, Equatable {
  public var pushNo: PushNumber
  public var deviceId: DeviceID
  public var contactId: ContactID
  public var state: PushState
  public var attempts: Int
  public var reason: String?
  public var resentBecause: String?
  public var sentAt: Timestamp?
  public var settledAt: Timestamp?
  public var notBefore: Timestamp?
  public var openedAt: Timestamp?
  public var delivery: String?
  public var deliveryReason: String?
  public var reportedAt: Timestamp?

  public init(
    pushNo: PushNumber, deviceId: DeviceID, contactId: ContactID, state: PushState,
    attempts: Int,
    reason: String? = nil, resentBecause: String? = nil, sentAt: Timestamp? = nil, settledAt: Timestamp? = nil,
    notBefore: Timestamp? = nil, openedAt: Timestamp? = nil,
    delivery: String? = nil, deliveryReason: String? = nil, reportedAt: Timestamp? = nil
  ) {
    self.pushNo = pushNo
    self.deviceId = deviceId
    self.contactId = contactId
    self.state = state
    self.attempts = attempts
    self.reason = reason
    self.resentBecause = resentBecause
    self.sentAt = sentAt
    self.settledAt = settledAt
    self.notBefore = notBefore
    self.openedAt = openedAt
    self.delivery = delivery
    self.deliveryReason = deliveryReason
    self.reportedAt = reportedAt
  }

  public static let schemaName: String? = "Push"
  public static let schemaDescription = "One push of a sendout: a row of the ledger."
  public static let example = PushReply(
    pushNo: PushNumber(3), deviceId: DeviceID(12), contactId: ContactID(5), state: .failed, attempts: 1,
    reason: "Unregistered",
    sentAt: .example, settledAt: .example)

  public static let fieldTable: FieldTable = [
    "pushNo": "The push's number within the sendout.",
    "deviceId": "The device's number.",
    "contactId": "The contact that had the device when the audience was frozen.",
    "state": "The push's state.",
    "attempts": .count("How often the push was sent, or may have been sent."),
    "reason": "The reason of the last outcome, from the push service or the hub. Absent if accepted at once.",
    "resentBecause": "Why the push was sent more than once.",
    "sentAt": "When the push was last sent.",
    "settledAt": "When the push's outcome was written.",
    "notBefore": "The earliest time of the next attempt.",
    "openedAt": "When a person first opened the push.",
    "delivery": "`delivered` or `failed`: the last word of the provider on an SMS that it had accepted.",
    "deliveryReason": "Why an SMS was not delivered, as the provider has it.",
    "reportedAt": "When that word came.",
  ]
}
