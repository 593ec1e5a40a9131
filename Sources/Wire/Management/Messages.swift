import FoundationEssentials

/// Body of `POST /api/v1/messages`: one message to one contact or one device. The route takes a list of them, too.
public struct MessageRequest: APIRequest, Equatable {
  public var appId: String?
  public var appIds: [String]?
  public var appType: AppType?
  public var to: MessageTarget
  public var message: MessageBody
  public var purpose: MessagePurpose?
  public var properties: [UTF8String: JSONValue]?
  public var template: String?
  public var deliverAt: Timestamp?
  public var reference: String?
  public var wait: Int?

  /// Most messages in one request.
  public static let maximumCount = 1000
  /// Most days between the request and `deliverAt`.
  public static let maximumDelay = 60
  /// Longest wait for verdicts, in seconds.
  public static let maximumWait = 30

  public init(
    appId: String? = nil, appIds: [String]? = nil, appType: AppType? = nil, to: MessageTarget, message: MessageBody,
    purpose: MessagePurpose? = nil, properties: [UTF8String: JSONValue]? = nil, template: String? = nil,
    deliverAt: Timestamp? = nil,
    reference: String? = nil, wait: Int? = nil
  ) {
    self.appId = appId
    self.appIds = appIds
    self.appType = appType
    self.to = to
    self.message = message
    self.purpose = purpose
    self.properties = properties
    self.template = template
    self.deliverAt = deliverAt
    self.reference = reference
    self.wait = wait
  }

  public static let schemaName: String? = "MessageRequest"
  public static let schemaDescription = "A message to one contact or one device."
  public static let example = MessageRequest(
    appId: "com.acme.app", to: MessageTarget(originalId: "lars@example.com"),
    message: MessageBody(alert: "Your parcel is here, {{firstName}}"), reference: "parcel-42", wait: 0)

  public static let fieldTable: FieldTable = [
    "appId": "The app to send to. Either `appId` or `appIds` is present.",
    "appIds": FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20),
    "appType": "The platform. If it is absent, an appId stands for all its platforms that a push service sends to.",
    "to": "Who gets the message.",
    "message": "What the push says.",
    "purpose":
      "What the message is for: `transactional`, or `marketing`, which fewer people want. `transactional` if absent.",
    "properties": "What the texts can name for this message alone, before the contact's own properties.",
    "template": "The name of the rich page's template. Without it there is no page and no `url`.",
    "deliverAt":
      """
    When the message is due, at most \(MessageRequest.maximumDelay) days ahead. Now if it is absent or past. The devices are \
    those of the moment of the request.
    """,
    "reference": FieldDescription("Your own name for the message.", limits: 1...200),
    "wait":
      FieldDescription(
        """
        Seconds to wait for the push services' verdicts. Without it the reply comes once the message is committed, as it does for \
        a message that is due later.
        """,
        limits: 0...Int64(maximumWait)),
  ]
}

/// Who gets a message: a contact on all its valid devices in the apps, or one device.
public struct MessageTarget: APIRequest, Equatable {
  public var originalId: String?
  public var deviceToken: TokenText?
  public var appType: AppType?

  public init(originalId: String? = nil, deviceToken: String? = nil, appType: AppType? = nil) {
    self.originalId = originalId
    self.deviceToken = deviceToken.map { TokenText($0) }
    self.appType = appType
  }

  public static let schemaName: String? = "MessageTarget"
  public static let schemaDescription =
    "A contact on all its valid devices in the apps, or one device. At least one of `originalId` and `deviceToken` is present."
  public static let example = MessageTarget(originalId: "lars@example.com")

  public static let fieldTable: FieldTable = [
    "originalId":
      FieldDescription(
        "The contact. Beside a `deviceToken` that is not registered yet, the contact whose device it becomes.",
        limits: 1...255),
    "deviceToken":
      """
    The device alone. Of a browser it is the subscription, as an object or as its JSON. Of SMS it is the number \
    \(PhoneNumber.form).
    """,
    "appType": "The device's platform, if the app exists on several.",
  ]
}

/// A device token in a request: a string, or the object that a browser's subscription is.
public struct TokenText: Codable, Sendable, Hashable, SchemaProviding {
  /// Of an object its JSON.
  public let text: String

  public init(_ text: String) { self.text = text }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let text = try? container.decode(String.self) {
      self.text = text
    } else {
      let object = try container.decode([UTF8String: JSONValue].self)
      text = String(decoding: JSONValue.object(object).json, as: UTF8.self)
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }

  public static var schema: Schema { Schema(.either([.string(1...4096), .openObject([])])) }
}

/// Names a single message: the stream that it belongs to, and its number there, as in `7-15`.
public struct MessageID: Hashable, Sendable, Codable, LosslessStringConvertible, SchemaProviding {
  public let sendout: SendoutID
  public let number: Int32

  public init(_ sendout: SendoutID, _ number: Int32) {
    self.sendout = sendout
    self.number = number
  }

  public init?(_ description: String) {
    let parts = description.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let sendout = SendoutID(String(parts[0])), let number = Int32(parts[1]), number > 0,
      parts[1].utf8.first != UInt8(ascii: "+")
    else { return nil }
    self.init(sendout, number)
  }

  public var description: String { "\(sendout)-\(number)" }
  public static var schema: Schema { .string(1...40) }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let id = Self(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "must be a messageId, as in 7-15")
    }
    self = id
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

/// What became of a message.
public enum MessageState: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// It is due later.
  case queued
  /// A push of it has no verdict yet.
  case sending
  /// A push of it is tried again later, and none is under way.
  case waiting
  /// A push service accepted it for at least one device, and nothing is left to do.
  case accepted
  /// No push service accepted it, and nothing is left to do.
  case failed
  /// The contact has no valid device in the apps.
  case noDevice

  /// - Parameters:
  ///   - pushes: the states of all its pushes.
  ///   - isDue: whether the moment has come at which it is due.
  public init(of pushes: [PushState], isDue: Bool) {
    if pushes.isEmpty {
      self = .noDevice
    } else if pushes.contains(.queued) {
      self = isDue ? .sending : .queued
    } else if pushes.contains(.waiting) {
      self = .waiting
    } else {
      self = pushes.contains(.accepted) ? .accepted : .failed
    }
  }
}

/// A message and what became of it.
public struct MessageReply: APIObject, Equatable {
  public var messageId: MessageID
  public var state: MessageState
  public var reference: String?
  public var deliverAt: Timestamp?
  public var heldUntil: Timestamp?
  public var pushes: [Push]
  public var testOf: SendoutID?

  /// - Parameters:
  ///   - deliverAt: when the message is due, or was; `nil` for one that was due at once.
  ///   - isDue: whether that moment has come.
  ///   - heldUntil: when quiet hours let it go; `nil` if they do not hold it.
  ///   - testOf: the sendout that it tested; `nil` if it is no test.
  public init(
    messageId: MessageID, reference: String? = nil, deliverAt: Timestamp? = nil, isDue: Bool = true,
    heldUntil: Timestamp? = nil, pushes: [Push], testOf: SendoutID? = nil
  ) {
    self.testOf = testOf
    self.heldUntil = heldUntil
    self.messageId = messageId
    self.reference = reference
    self.deliverAt = deliverAt
    self.pushes = pushes
    state = MessageState(of: pushes.map(\.state), isDue: isDue)
  }

  /// The reply as JSON, as an encoder writes it, only faster.
  public var json: [UInt8] {
    var writer = JSONWriter(capacity: 160 + pushes.count * 64)
    writer.open("{")
    if let deliverAt { writer.member("deliverAt", deliverAt.description) }
    if let heldUntil { writer.member("heldUntil", heldUntil.description) }
    writer.member("messageId", messageId.description)
    writer.name("pushes")
    writer.open("[")
    for push in pushes {
      writer.open("{")
      writer.member("appType", push.appType.rawValue)
      writer.member("pushNo", push.pushNo.rawValue)
      if let reason = push.reason { writer.member("reason", reason) }
      writer.member("state", push.state.rawValue)
      writer.close("}")
    }
    writer.close("]")
    if let reference { writer.member("reference", reference) }
    writer.member("state", state.rawValue)
    if let testOf { writer.member("testOf", testOf.rawValue) }
    writer.close("}")
    return writer.bytes
  }

  public static let schemaName: String? = "MessageStatus"
  public static let schemaDescription = "A message and what became of it."
  public static let example = MessageReply(
    messageId: MessageID(SendoutID(7), 15), reference: "parcel-42", pushes: [.example])

  public static let fieldTable: FieldTable = [
    "messageId": "The message's id: its stream's number and its own within it.",
    "state":
      """
    `queued` until it is due, `sending`, `waiting` for another attempt, `accepted` by a push service, `failed`, or `noDevice`.
    """,
    "reference": "The caller's own name for the message.",
    "deliverAt": "When it is due. Absent if that was at once.",
    "heldUntil": "When the recipient's quiet hours let it go. Absent if they do not hold it.",
    "pushes": "One push for each device.",
    "testOf": "The sendout that it tested. Absent if it is no test.",
  ]

  /// The push to one device.
  public struct Push: APIObject, Equatable {
    public var pushNo: PushNumber
    public var appType: AppType
    public var state: PushState
    public var reason: String?

    public init(pushNo: PushNumber, appType: AppType, state: PushState, reason: String? = nil) {
      self.pushNo = pushNo
      self.appType = appType
      self.state = state
      self.reason = reason
    }

    public static let schemaName: String? = "MessagePush"
    public static let schemaDescription = "The push to one device."
    public static let example = Push(pushNo: PushNumber(31), appType: .ios, state: .accepted)

    public static let fieldTable: FieldTable = [
      "pushNo": "The push's number in the stream's ledger.",
      "appType": "Platform: \(AppType.list).",
      "state": "The push's state. `queued` until it is due, and while it is being sent.",
      "reason":
        "The push service's reason, or the hub's; if accepted, what was left out of a message that was too large. Absent if there is none.",
    ]
  }
}

/// One of a list of messages: what became of it, or why it was refused.
public enum MessageResult: Sendable, Equatable, Encodable, SchemaProviding {
  case taken(MessageReply)
  case refused(status: Int, error: String)

  private enum CodingKeys: String, CodingKey { case status, error }

  public static var schema: Schema {
    let refusal = Schema(
      .object(
        [
          Schema.Field(
            "status", .integer(400...599), isRequired: true, "What a request for this message alone would get."),
          Schema.Field("error", .string(), isRequired: true, "Why the message was refused."),
        ], others: nil, count: nil))
    return Schema(.either([MessageReply.schema, refusal]))
  }

  public func encode(to encoder: any Encoder) throws {
    switch self {
    case .taken(let reply): try reply.encode(to: encoder)
    case .refused(let status, let error):
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(status, forKey: .status)
      try container.encode(error, forKey: .error)
    }
  }
}
