/// A named set of contacts: those that meet a filter at the moment, or those that were put into it.
public struct SegmentID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

extension Filter {
  public static let example = Filter.and([
    .compare(.contact(.country), .oneOf([.text("SE"), .text("NO")])),
    .compare(.property("visits"), .compare(.greaterOrEqual, .number(3))),
  ])
}

/// Body of `POST /api/v1/segments` and of `PATCH /api/v1/segments/{id}`.
public struct SegmentRequest: APIRequest, Equatable {
  public var name: String?
  public var description: String?
  public var filter: Filter?
  public var `static`: Bool?

  public init(name: String? = nil, description: String? = nil, filter: Filter? = nil, static: Bool? = nil) {
    self.name = name
    self.description = description
    self.filter = filter
    self.static = `static`
  }

  public static let schemaName: String? = "SegmentRequest"
  public static let schemaDescription = "A segment to add."
  public static let example = SegmentRequest(name: "VIP", description: "Guests of our evenings", static: true)
  public static var fieldTable: FieldTable { SegmentReply.fieldTable }

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["name"], example: example)
  }
  public static let change = BodyForm(
    "SegmentChangeRequest", "What to change about a segment. Absent fields stay as they are.", absent: ["static"],
    isChange: true, example: SegmentRequest(name: "VIP", description: "Guests of our evenings and fairs"))
}

/// A segment.
public struct SegmentReply: NumberedReply, Equatable {
  public var segmentId: SegmentID
  public var name: String
  public var description: String?
  public var `static`: Bool
  public var filter: Filter?
  public var text: String?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public static let noun = "segment"
  public var number: SegmentID { segmentId }
  public static let schemaName: String? = "Segment"
  public static let schemaDescription = "A named set of contacts."
  public static let example = SegmentReply(
    segmentId: SegmentID(3), name: "Nordic regulars", static: false, filter: .example, text: Filter.example.text,
    createdAt: .example, updatedAt: .example)

  public static let fieldTable: FieldTable = [
    "segmentId": "The segment's number, as filters and audiences name it.",
    "name": FieldDescription("A name for people, unique among the customer's segments.", limits: 1...200),
    "description": FieldDescription("What it is for.", limits: 1...1000, isRemovable: true),
    "static":
      "Whether its contacts are put into it, by hand or by imports. Such a segment has no filter. That stays as it was when it was added.",
    "filter":
      "Who is in it. A request has a tree or a line of text; a reply has the tree, with the numbers of lists and segments.",
    "text": "The filter as a line of text.",
    "createdAt": "When the segment was added.",
    "updatedAt": "When the segment was last changed.",
  ]
}

/// Body of `POST /api/v1/contacts/search`.
public struct ContactSearchRequest: APIRequest, Equatable {
  public var filter: Filter
  public var after: ContactID?
  public var limit: Int?

  public init(filter: Filter, after: ContactID? = nil, limit: Int? = nil) {
    self.filter = filter
    self.after = after
    self.limit = limit
  }

  public static let schemaName: String? = "ContactSearchRequest"
  public static let schemaDescription = "Which contacts to list."
  public static let example = ContactSearchRequest(filter: .example)

  public static let fieldTable: FieldTable = [
    "filter": "Whom to list, as a tree or as a line of text.",
    "after": "Starts behind this contact: `next` of the page before.",
    "limit": FieldDescription(
      "Contacts on a page. \(PageRequest<ContactID>.usualLimit) if absent.",
      limits: Int64(PageRequest<ContactID>.limits.lowerBound)...Int64(PageRequest<ContactID>.limits.upperBound)),
  ]
}

/// Body of `POST /api/v1/segments/count`.
public struct SegmentCountRequest: APIRequest, Equatable {
  public var filter: Filter
  public var exact: Bool?

  public init(filter: Filter, exact: Bool? = nil) {
    self.filter = filter
    self.exact = exact
  }

  public static let schemaName: String? = "SegmentCountRequest"
  public static let schemaDescription = "Whom to count."
  public static let example = SegmentCountRequest(filter: .example)

  public static let fieldTable: FieldTable = [
    "filter": "Whom to count, as a tree or as a line of text.",
    "exact": "Whether all contacts are looked at. An estimate comes at once; a count may take seconds.",
  ]
}

/// How many contacts meet a filter.
public struct SegmentCountReply: APIObject, Equatable, UnfinishedReply {
  public var contacts: Int?
  public var devices: Int?
  public var apps: [App]?
  public var exact: Bool
  public var low: Int?
  public var high: Int?
  public var asOf: Timestamp?
  public var percent: Int?
  public var filter: Filter
  public var text: String

  public init(
    contacts: Int? = nil, apps: [App]? = nil, exact: Bool, low: Int? = nil, high: Int? = nil, asOf: Timestamp? = nil,
    percent: Int? = nil, filter: Filter
  ) {
    self.contacts = contacts
    devices = apps.map { $0.reduce(0) { $0 + $1.devices } }
    self.apps = apps
    self.exact = exact
    self.low = low
    self.high = high
    self.asOf = asOf
    self.percent = percent
    self.filter = filter
    text = filter.text
  }

  /// Whether it is still being counted.
  public var isUnfinished: Bool { percent != nil }

  public static let schemaName: String? = "SegmentCount"
  public static let schemaDescription = "How many contacts meet a filter, and how many devices they have."
  public static let example = SegmentCountReply(
    contacts: 204_800, apps: [.example], exact: false, low: 199_100, high: 210_600, asOf: .example, filter: .example)

  public static let fieldTable: FieldTable = [
    "contacts": .count("How many contacts meet it. Absent while they are being counted."),
    "devices": .count("Their valid devices."),
    "apps": "The same devices by app, without apps that have none.",
    "exact": "Whether every contact was looked at. Of few contacts all are, whatever the request says.",
    "low": .count("The lower end of the interval in which the number of contacts is with 95 % certainty."),
    "high": .count("The upper end of that interval."),
    "asOf": "The moment for which it is right.",
    "percent": FieldDescription(
      "How much of the contacts has been counted, with status 202. Ask again for the count.", limits: 0...100),
    "filter": "The filter as a tree, with the numbers of lists and segments.",
    "text": "The filter as a line of text.",
  ]

  /// The devices of one app.
  public struct App: APIObject, Equatable {
    public var pushAppId: PushAppID
    public var appId: String
    public var appType: AppType
    public var devices: Int

    public init(pushAppId: PushAppID, appId: String, appType: AppType, devices: Int) {
      self.pushAppId = pushAppId
      self.appId = appId
      self.appType = appType
      self.devices = devices
    }

    public static let schemaName: String? = "SegmentCountApp"
    public static let schemaDescription = "The devices of those contacts in one app."
    public static let example = App(
      pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, devices: 236_544)

    public static let fieldTable: FieldTable = [
      "pushAppId": "The app's number.",
      "appId": "Bundle id or package name.",
      "appType": "Platform: \(AppType.list).",
      "devices": .count("Valid devices."),
    ]
  }
}

/// A reply that can say that its work goes on: then its status is 202.
public protocol UnfinishedReply {
  var isUnfinished: Bool { get }
}

/// Body of `POST /api/v1/segments/explain`.
public struct SegmentExplainRequest: APIRequest, Equatable {
  public var filter: Filter
  public var originalId: String

  public init(filter: Filter, originalId: String) {
    self.filter = filter
    self.originalId = originalId
  }

  public static let schemaName: String? = "SegmentExplainRequest"
  public static let schemaDescription = "A filter, and the contact that it is explained for."
  public static let example = SegmentExplainRequest(filter: .example, originalId: "lars@example.com")

  public static let fieldTable: FieldTable = [
    "filter": "The filter, as a tree or as a line of text. `in segment 3` explains a segment.",
    "originalId": "The contact's id. It is compared exactly.",
  ]
}

/// Whether a contact meets a filter, condition by condition.
public struct SegmentExplainReply: APIObject, Equatable {
  public var result: Bool
  public var nodes: [Node]
  public var filter: Filter
  public var text: String

  public init(result: Bool, nodes: [Node], filter: Filter) {
    self.result = result
    self.nodes = nodes
    self.filter = filter
    text = filter.text
  }

  public static let schemaName: String? = "SegmentExplanation"
  public static let schemaDescription = "Whether a contact meets a filter, condition by condition."
  public static let example = SegmentExplainReply(
    result: false, nodes: [Node(text: Filter.example.text, result: false, value: "DE")], filter: .example)

  public static let fieldTable: FieldTable = [
    "result": "Whether the contact meets the filter.",
    "nodes": "Every part of the filter, each before the parts that it has. Those of a segment follow it.",
    "filter": "The filter as a tree, with the numbers of lists and segments.",
    "text": "The filter as a line of text.",
  ]

  /// A part of the filter.
  public struct Node: APIObject, Equatable {
    public var text: String
    public var result: Bool
    public var value: String?

    public init(text: String, result: Bool, value: String? = nil) {
      self.text = text
      self.result = result
      self.value = value
    }

    public static let schemaName: String? = "SegmentExplanationNode"
    public static let schemaDescription = "A part of the filter, and whether the contact meets it."
    public static let example = Node(text: "country = 'SE'", result: false, value: "DE")

    public static let fieldTable: FieldTable = [
      "text": "The part as a line of text.",
      "result": "Whether the contact meets it.",
      "value": "What the contact has there, as text. Absent if that is nothing, or no single value.",
    ]
  }
}
