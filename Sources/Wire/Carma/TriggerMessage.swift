import FoundationEssentials

/// Body of `POST /rest/{customerId}/triggers/{triggerId}/messages`: one message of a trigger to one contact (protocol notes,
/// section 12).
///
/// Tolerances are those of `PushDevicesBody`. Only types are checked here; `CarmaSchemas` describes the body, and a test compares
/// the two.
public struct TriggerMessage: Sendable, Equatable {
  public var originalId: String?
  /// Must be the customer of the path; clients that leave it out may send 0.
  public var customerId: Int64?
  /// A flat JSON object: what the texts can name, before the contact's own properties.
  public var properties: String?
  /// When the message is due; a past moment is now.
  public var deliveryTime: Change<CarmaDate> = .keep
  /// Whether the contact wants nothing more.
  public var optOut: Bool?
  /// Whether the properties are stored with the contact, too.
  public var saveProps: Bool?

  public init() {}

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    self = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var message = TriggerMessage()
      try reader.object { reader, key throws(JSONProblem) in try message.read(key, &reader) }
      return message
    }
  }

  private mutating func read(_ key: JSONKey, _ reader: inout JSONReader) throws(JSONProblem) {
    switch key {
    case "originalId", "originalid": originalId = try reader.text() ?? originalId
    case "customerId": customerId = try reader.integer(Int64.self, "a customer's number")
    case "properties": properties = try reader.properties()
    case "deliveryTime": deliveryTime = try reader.date()
    case "optOut": optOut = try reader.flag()
    case "saveProps": saveProps = try reader.flag()
    default: try reader.skip()
    }
  }
}

/// Reply of `POST /rest/{customerId}/triggers/{triggerId}/messages`.
public struct TriggerMessageReply: APIObject, Equatable {
  public var message: String

  public init(message: String) { self.message = message }

  /// The same for every repetition of a request, whatever became of the message since.
  public init(_ reply: MessageReply) {
    let rest =
      reply.pushes.isEmpty
      ? "; the contact has no valid device" : reply.deliverAt.map { " and due at \($0)" } ?? ""
    self.init(message: "Message \(reply.messageId) is accepted\(rest).")
  }

  public static let schemaName: String? = "TriggerMessageReply"
  public static let schemaDescription = "A message of a trigger that is committed."
  public static let example = TriggerMessageReply(message: "Message 7-15 is accepted.")

  public static let fieldTable: FieldTable = [
    "message": "A sentence with the message's id, which `GET /api/v1/messages/{id}` takes."
  ]
}

/// A trigger as Carma shows it (protocol notes, section 12). Dates are milliseconds since 1970.
public struct CarmaTrigger: APIObject, Equatable {
  public var id: TriggerID
  public var type: Int
  public var projectId: Int
  public var name: String
  public var description: String?
  public var listId: Int
  public var dateCreated: Int
  public var dateModified: Int
  public var channelTypeId: Int
  public var activeCampaign: TriggerID
  public var ignoreOptOut: Bool
  public var active: Bool
  public var campaignVersions: [CampaignVersion]

  /// - Parameter hasIOS: whether it goes to an app on iOS.
  public init(_ trigger: TriggerReply, hasIOS: Bool) {
    id = trigger.triggerId
    type = 0
    projectId = 0
    name = trigger.name
    description = trigger.description
    listId = 0
    dateCreated = Int(trigger.createdAt.milliseconds)
    dateModified = Int(trigger.updatedAt.milliseconds)
    channelTypeId = 3
    activeCampaign = trigger.triggerId
    ignoreOptOut = false
    active = trigger.active
    campaignVersions = [
      CampaignVersion(
        campaignId: trigger.triggerId, campaignName: trigger.name, campaignTypeId: hasIOS ? 20 : 19,
        active: trigger.active, locked: false, dateCreated: dateCreated, dateModified: dateModified,
        lastActivated: dateModified, statDtos: [:])
    ]
  }

  public static let schemaName: String? = "CarmaTrigger"
  public static let schemaDescription = "A trigger in Carma's form. Dates are milliseconds since 1970."
  public static let example = CarmaTrigger(.example, hasIOS: true)

  public static let fieldTable: FieldTable = [
    "id": "The trigger's number.",
    "type": "Always 0.",
    "projectId": "Always 0: there are no projects.",
    "name": "A name for people.",
    "description": "What it is for. Absent if nobody said.",
    "listId": "Always 0: it sends to contacts of any list.",
    "dateCreated": "When it was added.",
    "dateModified": "When it was last changed.",
    "channelTypeId": "Always 3: push.",
    "activeCampaign": "The `campaignId` of its only version.",
    "ignoreOptOut": "Always false.",
    "active": "Whether it takes messages.",
    "campaignVersions": "One version: what it sends now.",
  ]

  /// What a trigger sends.
  public struct CampaignVersion: APIObject, Equatable {
    public var campaignId: TriggerID
    public var campaignName: String
    public var campaignTypeId: Int
    public var active: Bool
    public var locked: Bool
    public var dateCreated: Int
    public var dateModified: Int
    public var lastActivated: Int
    public var statDtos: [String: Int]

    public static let schemaName: String? = "CarmaCampaignVersion"
    public static let schemaDescription = "What a trigger sends, in Carma's form."
    public static let example = CarmaTrigger.example.campaignVersions[0]

    public static let fieldTable: FieldTable = [
      "campaignId": "The trigger's number.",
      "campaignName": "The trigger's name.",
      "campaignTypeId": "20 if it goes to an app on iOS, 19 if only to Android.",
      "active": "Whether the trigger takes messages.",
      "locked": "Always false.",
      "dateCreated": "When the trigger was added.",
      "dateModified": "When the trigger was last changed.",
      "lastActivated": "When the trigger was last changed.",
      "statDtos": "Always empty: `/api/v1/reports` has the numbers.",
    ]
  }
}
