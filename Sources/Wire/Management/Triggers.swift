/// A named message that back ends send to one contact at a time.
public struct TriggerID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// Body of `POST /api/v1/triggers` and of `PATCH /api/v1/triggers/{id}`.
public struct TriggerRequest: APIRequest, Equatable {
  public var name: String?
  public var description: String?
  public var appId: String?
  public var appIds: [String]?
  public var message: MessageBody?
  public var purpose: MessagePurpose?
  public var template: String?
  public var active: Bool?

  public init(
    name: String? = nil, description: String? = nil, appId: String? = nil, appIds: [String]? = nil,
    message: MessageBody? = nil, purpose: MessagePurpose? = nil, template: String? = nil, active: Bool? = nil
  ) {
    self.name = name
    self.description = description
    self.appId = appId
    self.appIds = appIds
    self.message = message
    self.purpose = purpose
    self.template = template
    self.active = active
  }

  public static let schemaName: String? = "TriggerRequest"
  public static let schemaDescription = "A trigger to add."
  public static let example = TriggerRequest(
    name: "Order shipped", appId: "com.acme.app",
    message: MessageBody(alert: "{{firstName}}, your order {{orderNo}} is on its way"))
  public static var fieldTable: FieldTable { TriggerReply.fieldTable }

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["name", "message"], absent: ["active"], example: example)
  }
  public static let change = BodyForm(
    "TriggerChangeRequest", "What to change about a trigger. Absent fields stay as they are.", isChange: true,
    example: TriggerRequest(active: false))
}

/// A trigger: a named message that back ends send to one contact at a time.
public struct TriggerReply: NumberedReply, Equatable {
  public var triggerId: TriggerID
  public var name: String
  public var description: String?
  public var appIds: [String]
  public var message: MessageBody
  public var purpose: MessagePurpose
  public var template: String?
  public var active: Bool
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public static let noun = "trigger"
  public var number: TriggerID { triggerId }
  public static let schemaName: String? = "Trigger"
  public static let schemaDescription = "A named message that back ends send to one contact at a time."
  public static let example = TriggerReply(
    triggerId: TriggerID(1), name: "Order shipped", appIds: ["com.acme.app"],
    message: MessageBody(alert: "{{firstName}}, your order {{orderNo}} is on its way"), purpose: .transactional,
    active: true, createdAt: .example, updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "triggerId": "The trigger's number, as in the paths of Carma's API.",
    "name": FieldDescription("A name for people, unique among the customer's triggers.", limits: 1...200),
    "description": FieldDescription("What it is for.", limits: 1...1000, isRemovable: true),
    "appId": "The app to send to, on all its platforms. A request has either `appId` or `appIds`.",
    "appIds": FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20),
    "message": "What its pushes say. Texts can name the properties that come with each message.",
    "purpose":
      "What its messages are for: `transactional`, or `marketing`, which fewer people want. `transactional` if absent.",
    "template": FieldDescription(
      "The name of the rich page's template. Without it there is no page and no `url`.", isRemovable: true),
    "active": "Whether it takes messages.",
    "createdAt": "When the trigger was added.",
    "updatedAt": "When the trigger was last changed.",
  ]
}
