/// Reply of `GET /api/v1/templates/{name}/uses`.
public struct TemplateUses: APIObject, Equatable {
  public var name: String
  public var triggers: [TemplateTrigger]
  public var sendouts: [TemplateSendout]

  public init(name: String, triggers: [TemplateTrigger], sendouts: [TemplateSendout]) {
    self.name = name
    self.triggers = triggers
    self.sendouts = sendouts
  }

  /// Most triggers, and most sendouts.
  public static let most = 100

  public static let schemaName: String? = "TemplateUses"
  public static let schemaDescription = "What has a template's page."
  public static let example = TemplateUses(name: "offer", triggers: [.example], sendouts: [.example])

  public static let fieldTable: FieldTable = [
    "name": "The template's name.",
    "triggers": "Triggers whose messages have the page, in the version of their moment, at most \(most).",
    "sendouts":
      "Sendouts to audiences that have the page. Those that have not ended come first, then the newest, at most \(most).",
  ]
}

/// A trigger whose messages have a template's page.
public struct TemplateTrigger: APIObject, Equatable {
  public var triggerId: TriggerID
  public var name: String

  public init(triggerId: TriggerID, name: String) {
    self.triggerId = triggerId
    self.name = name
  }

  public static let schemaName: String? = "TemplateTrigger"
  public static let schemaDescription = "A trigger whose messages have a template's page."
  public static let example = TemplateTrigger(triggerId: TriggerID(1), name: "Order shipped")

  public static let fieldTable: FieldTable = ["triggerId": "The trigger's number.", "name": "The trigger's name."]
}

/// A sendout that has a template's page.
public struct TemplateSendout: APIObject, Equatable {
  public var sendoutId: SendoutID
  public var name: String
  public var state: SendoutState
  public var version: Int32

  public init(sendoutId: SendoutID, name: String, state: SendoutState, version: Int32) {
    self.sendoutId = sendoutId
    self.name = name
    self.state = state
    self.version = version
  }

  /// Whether it needs the template: what has ended keeps its page, whatever becomes of the template.
  public var needsTemplate: Bool { state != .finished && state != .cancelled }

  public static let schemaName: String? = "TemplateSendout"
  public static let schemaDescription = "A sendout that has a template's page."
  public static let example = TemplateSendout(
    sendoutId: SendoutID(7), name: "Friday offer", state: .draft, version: 3)

  public static let fieldTable: FieldTable = [
    "sendoutId": "The sendout's number.",
    "name": "The sendout's name.",
    "state": "The sendout's state.",
    "version": "The template's version that it has. A draft takes the current one when it starts.",
  ]
}
