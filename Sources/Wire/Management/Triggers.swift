/// Body of `POST /api/v1/triggers`.
public struct TriggerRequest: APIRequest, Equatable {
  public var name: String
  public var description: String?
  public var appId: String?
  public var appIds: [String]?
  public var message: MessageBody
  public var template: String?

  /// Most characters of a description.
  public static let longestDescription = 1000

  public init(
    name: String, description: String? = nil, appId: String? = nil, appIds: [String]? = nil, message: MessageBody,
    template: String? = nil
  ) {
    self.name = name
    self.description = description
    self.appId = appId
    self.appIds = appIds
    self.message = message
    self.template = template
  }

  public static let schemaName: String? = "TriggerRequest"
  public static let schemaDescription = "A trigger to add."
  public static let example = TriggerRequest(
    name: "Order shipped", appId: "com.acme.app",
    message: MessageBody(alert: "{{firstName}}, your order {{orderNo}} is on its way"))

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("A name for people, unique among the customer's triggers.", limits: 1...200),
    "description": FieldDescription("What it is for.", limits: 0...Int64(longestDescription)),
    "appId": "The app to send to, on all its platforms. Either `appId` or `appIds` is present.",
    "appIds": FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20),
    "message": "What its pushes say. Texts can name the properties that come with each message.",
    "template": "The name of the rich page's template. Without it there is no page and no `url`.",
  ]
}

/// Body of `PATCH /api/v1/triggers/{id}`.
public struct TriggerChangeRequest: APIRequest, Equatable {
  public var name: String?
  public var description: String?
  public var appId: String?
  public var appIds: [String]?
  public var message: MessageBody?
  public var template: String?
  public var active: Bool?

  public init(
    name: String? = nil, description: String? = nil, appId: String? = nil, appIds: [String]? = nil,
    message: MessageBody? = nil, template: String? = nil, active: Bool? = nil
  ) {
    self.name = name
    self.description = description
    self.appId = appId
    self.appIds = appIds
    self.message = message
    self.template = template
    self.active = active
  }

  public static let schemaName: String? = "TriggerChangeRequest"
  public static let schemaDescription = "What to change about a trigger. Absent fields stay as they are."
  public static let example = TriggerChangeRequest(active: false)

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("A name for people, unique among the customer's triggers.", limits: 1...200),
    "description": FieldDescription(
      "What it is for. `\"\"` removes it.", limits: 0...Int64(TriggerRequest.longestDescription)),
    "appId": "The app to send to, in place of those before.",
    "appIds": FieldDescription("The apps to send to, in place of those before.", limits: 1...20),
    "message": "What its pushes say, in place of the whole message before.",
    "template": "The name of the rich page's template. `\"\"` removes it.",
    "active": "Whether it takes messages.",
  ]
}

/// A trigger: a named message that back ends send to one contact at a time.
public struct TriggerReply: APIObject, Equatable {
  public var triggerId: TriggerID
  public var name: String
  public var description: String?
  public var appIds: [String]
  public var message: MessageBody
  public var template: String?
  public var active: Bool
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public init(
    triggerId: TriggerID, name: String, description: String?, appIds: [String], message: MessageBody, template: String?,
    active: Bool, createdAt: Timestamp, updatedAt: Timestamp
  ) {
    self.triggerId = triggerId
    self.name = name
    self.description = description
    self.appIds = appIds
    self.message = message
    self.template = template
    self.active = active
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  public static let schemaName: String? = "Trigger"
  public static let schemaDescription = "A named message that back ends send to one contact at a time."
  public static let example = TriggerReply(
    triggerId: TriggerID(1), name: "Order shipped", description: nil, appIds: ["com.acme.app"],
    message: TriggerRequest.example.message, template: nil, active: true, createdAt: .example, updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "triggerId": "The trigger's number, as in the paths of Carma's API.",
    "name": "A name for people.",
    "description": "What it is for. Absent if nobody said.",
    "appIds": "The apps it goes to.",
    "message": "What its pushes say.",
    "template": "The name of the rich page's template. Absent for none.",
    "active": "Whether it takes messages.",
    "createdAt": "When the trigger was added.",
    "updatedAt": "When the trigger was last changed.",
  ]
}
