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

  public enum CodingKeys: String, CodingKey, CaseIterable { case name, description, appId, appIds, message, template }
  public static let schemaName: String? = "TriggerRequest"
  public static let schemaDescription = "A trigger to add."
  public static let example = TriggerRequest(
    name: "Order shipped", appId: "com.acme.app",
    message: MessageBody(alert: "{{firstName}}, your order {{orderNo}} is on its way"))

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .name: FieldDescription("A name for people, unique among the customer's triggers.", limits: 1...200)
    case .description: FieldDescription("What it is for.", limits: 0...Int64(longestDescription))
    case .appId: "The app to send to, on all its platforms. Either `appId` or `appIds` is present."
    case .appIds: FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20)
    case .message: "What its pushes say. Texts can name the properties that come with each message."
    case .template: "The name of the rich page's template. Without it there is no page and no `url`."
    }
  }
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

  public enum CodingKeys: String, CodingKey, CaseIterable {
    case name, description, appId, appIds, message, template, active
  }
  public static let schemaName: String? = "TriggerChangeRequest"
  public static let schemaDescription = "What to change about a trigger. Absent fields stay as they are."
  public static let example = TriggerChangeRequest(active: false)

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .name: FieldDescription("A name for people, unique among the customer's triggers.", limits: 1...200)
    case .description:
      FieldDescription("What it is for. `\"\"` removes it.", limits: 0...Int64(TriggerRequest.longestDescription))
    case .appId: "The app to send to, in place of those before."
    case .appIds: FieldDescription("The apps to send to, in place of those before.", limits: 1...20)
    case .message: "What its pushes say, in place of the whole message before."
    case .template: "The name of the rich page's template. `\"\"` removes it."
    case .active: "Whether it takes messages."
    }
  }
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

  public enum CodingKeys: String, CodingKey, CaseIterable {
    case triggerId, name, description, appIds, message, template, active, createdAt, updatedAt
  }
  public static let schemaName: String? = "Trigger"
  public static let schemaDescription = "A named message that back ends send to one contact at a time."
  public static let example = TriggerReply(
    triggerId: TriggerID(1), name: "Order shipped", description: nil, appIds: ["com.acme.app"],
    message: TriggerRequest.example.message, template: nil, active: true, createdAt: .example, updatedAt: .example)

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .triggerId: "The trigger's number, as in the paths of Carma's API."
    case .name: "A name for people."
    case .description: "What it is for. Absent if nobody said."
    case .appIds: "The apps it goes to."
    case .message: "What its pushes say."
    case .template: "The name of the rich page's template. Absent for none."
    case .active: "Whether it takes messages."
    case .createdAt: "When the trigger was added."
    case .updatedAt: "When the trigger was last changed."
    }
  }
}
