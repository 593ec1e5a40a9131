/// Body of `POST /api/v1/sendouts`, and of the PUT of one that has not started.
public struct SendoutRequest: APIRequest, Equatable {
  public var name: String?
  public var appId: String?
  public var appIds: [String]?
  public var appType: AppType?
  public var audience: Audience
  public var message: MessageBody
  public var purpose: MessagePurpose?
  public var template: String?
  public var onUncertain: UncertainPolicy?
  public var start: Bool?
  public var draft: Bool?
  /// Times, limits and variants; in JSON they stand among the other fields.
  public var campaign: CampaignFields

  public init(
    name: String? = nil, appId: String? = nil, appIds: [String]? = nil, appType: AppType? = nil, audience: Audience,
    message: MessageBody, purpose: MessagePurpose? = nil, template: String? = nil, onUncertain: UncertainPolicy? = nil,
    start: Bool? = nil, draft: Bool? = nil, campaign: CampaignFields = CampaignFields()
  ) {
    self.name = name
    self.appId = appId
    self.appIds = appIds
    self.appType = appType
    self.audience = audience
    self.message = message
    self.purpose = purpose
    self.template = template
    self.onUncertain = onUncertain
    self.start = start
    self.draft = draft
    self.campaign = campaign
  }

  private enum CodingKeys: String, CodingKey {
    case name, appId, appIds, appType, audience, message, purpose, template, onUncertain, start, draft
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try body.decodeIfPresent(String.self, forKey: .name),
      appId: try body.decodeIfPresent(String.self, forKey: .appId),
      appIds: try body.decodeIfPresent([String].self, forKey: .appIds),
      appType: try body.decodeIfPresent(AppType.self, forKey: .appType),
      audience: try body.decode(Audience.self, forKey: .audience),
      message: try body.decode(MessageBody.self, forKey: .message),
      purpose: try body.decodeIfPresent(MessagePurpose.self, forKey: .purpose),
      template: try body.decodeIfPresent(String.self, forKey: .template),
      onUncertain: try body.decodeIfPresent(UncertainPolicy.self, forKey: .onUncertain),
      start: try body.decodeIfPresent(Bool.self, forKey: .start),
      draft: try body.decodeIfPresent(Bool.self, forKey: .draft), campaign: try CampaignFields(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encodeIfPresent(name, forKey: .name)
    try body.encodeIfPresent(appId, forKey: .appId)
    try body.encodeIfPresent(appIds, forKey: .appIds)
    try body.encodeIfPresent(appType, forKey: .appType)
    try body.encode(audience, forKey: .audience)
    try body.encode(message, forKey: .message)
    try body.encodeIfPresent(purpose, forKey: .purpose)
    try body.encodeIfPresent(template, forKey: .template)
    try body.encodeIfPresent(onUncertain, forKey: .onUncertain)
    try body.encodeIfPresent(start, forKey: .start)
    try body.encodeIfPresent(draft, forKey: .draft)
    try campaign.encode(to: encoder)
  }

  /// What becomes of the sendout as soon as it is made.
  public var isScheduled: Bool { campaign.hasTime && draft != true }

  public static let schemaName: String? = "SendoutRequest"
  public static let schemaDescription = "A sendout to make."
  public static let example = SendoutRequest(
    name: "Friday offer", appId: "com.acme.app", audience: .example, message: .example, start: true)
  /// A sendout as it is to be: all of it.
  public static let draft = BodyForm<SendoutRequest>(
    "SendoutDraft", "A sendout that has not started, as it is to be.", absent: ["start", "draft"],
    example: SendoutRequest(name: "Friday offer", appId: "com.acme.app", audience: .all, message: .example))

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("A name for people. The beginning of the alert if absent.", limits: 1...200),
    "appId": "The app to send to. Either `appId` or `appIds` is present.",
    "appIds": FieldDescription("The apps to send to, those of one brand for instance.", limits: 1...20),
    "appType": "The platform. If it is absent, an appId stands for all its platforms that a push service sends to.",
    "audience": "Who receives the sendout.",
    "message": "What the push says.",
    "purpose":
      """
    What the message is for: `marketing`, or `transactional`, which suppressions of marketing do not concern. `marketing` if absent.
    """,
    "template": "The name of the rich page's template. Without it there is no page and no `url`.",
    "onUncertain": "What to do with uncertain pushes. `resend` if absent.",
    "start":
      """
    Whether to start the sendout at once. Without it, and without `startAt` and `localTime`, it stays a draft. It has no place beside them.
    """,
    "draft": "Whether it stays a draft although `startAt` or `localTime` says when it goes.",
    "campaign": .fields(of: CampaignFields.self),
  ]
}

extension CampaignFields {
  /// Whether it says when the sendout goes.
  public var hasTime: Bool { startAt != nil || localTime != nil }
}

/// Body of `PATCH /api/v1/sendouts/{id}`: any fields of the sendout, which replace those that it has.
public struct SendoutChange: APIRequest, Equatable {
  /// As JSON: what is wrong shows only beside the fields that stay.
  public var members: [UTF8String: JSONValue]
  /// Whom it names. Read apart, since not everybody may ask for everything.
  public private(set) var audience: Audience?

  public init(_ members: [UTF8String: JSONValue]) { self.members = members }

  public init(from decoder: any Decoder) throws {
    members = try [UTF8String: JSONValue](from: decoder)
    audience = try decoder.container(keyedBy: CodingKeys.self).decodeIfPresent(Audience.self, forKey: .audience)
  }

  private enum CodingKeys: String, CodingKey { case audience }

  public func encode(to encoder: any Encoder) throws { try members.encode(to: encoder) }

  public static let schemaName: String? = "SendoutChange"
  public static let schemaDescription =
    """
    What to change about a sendout that has not started. Absent fields stay as they are, and null removes one; of `quietHours` it means \
    none. `startAt` takes the place of `localTime`, and the other way round.
    """
  public static let example = SendoutChange(["startAt": .string(Timestamp.example.description), "spreadMinutes": 30])

  public static let fieldTable: FieldTable = ["members": .fields(fields), "audience": .fields([])]

  private static var fields: [Schema.Field] {
    guard case .object(let fields, _, _) = SendoutRequest.draft.schema.shape else { return [] }
    return fields.map { field in
      var field = field
      if !field.isRequired { field.schema = field.schema.orNull }
      field.isRequired = false
      return field
    }
  }

  /// Whether it names other apps.
  public var namesApps: Bool { ["appId", "appIds", "appType"].contains { members[$0] != nil } }

  /// What a sendout says after this change.
  /// - Throws: `DecodingError` or `JSONProblem` if the fields do not go together.
  public func applied(to current: SendoutRequest) throws -> SendoutRequest {
    guard case .object(var result) = try JSONValue(encoding: current) else { return current }
    // Null lifts quiet hours, and removes any other field.
    let present = members.filter { $0.value != .null || $0.key == "quietHours" }
    for name in members.keys where present[name] == nil { result[name] = nil }
    if present["startAt"] != nil { for name in ["localTime", "onMissed"] as [UTF8String] { result[name] = nil } }
    if present["localTime"] != nil { result["startAt"] = nil }
    if namesApps { for name in ["appId", "appIds", "appType"] as [UTF8String] { result[name] = nil } }
    return try SendoutRequest(from: .object(result.merging(present) { $1 }))
  }
}

/// Body of `POST /api/v1/sendouts/{id}/schedule` and, without `inSeconds`, of `…/start`, which can do without.
public struct SendoutStart: APIRequest, Equatable {
  public var digest: String?
  public var maximumContacts: Int?
  public var inSeconds: Int?

  public init(digest: String? = nil, maximumContacts: Int? = nil, inSeconds: Int? = nil) {
    self.digest = digest
    self.maximumContacts = maximumContacts
    self.inSeconds = inSeconds
  }

  public static let schemaName: String? = "SendoutSchedule"
  public static let schemaDescription = "What has to hold for a sendout to be scheduled."
  public static let example = SendoutStart(digest: SendoutReply.exampleDigest)
  /// Of a start at once.
  public static let now = BodyForm<SendoutStart>(
    "SendoutStart", "What has to hold for a sendout to be started.", absent: ["inSeconds"], example: example)

  public static let fieldTable: FieldTable = [
    "digest":
      "The draft's `digest` when somebody looked at it. If the draft says anything else by now, it is not started (409, `changed`).",
    "maximumContacts": FieldDescription(
      "If more contacts are left when its audience is fixed, it pauses for a person instead.",
      limits: 1...Int64(Int32.max)),
    "inSeconds": FieldDescription(
      """
      Of a draft without a time: it starts in so many seconds. An `unschedule` until then makes it a draft without a time again.
      """, limits: 1...3600),
  ]
}

/// What to do with an uncertain push: one that may have been sent before a crash or a lost reply.
public enum UncertainPolicy: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Send it again: nobody is missed, somebody may receive it twice.
  case resend
  /// Do not send it again: nobody receives it twice, somebody may be missed.
  case skip
}

/// Who a sendout goes to: every valid device of its app that belongs to one of these contacts.
///
/// In JSON exactly one of `{"all":true}`, `{"listId":7}`, `{"lists":[3,7]}`, `{"originalIds":["a@example.com"]}`, `{"segmentId":3}` and `{"filter":…}`. Beside
/// it can be `"exclude"`, a filter.
public indirect enum Audience: Sendable, Hashable {
  /// Every contact of the customer.
  case all
  /// The contacts on this list.
  case list(ListID)
  /// The contacts on at least one of these lists.
  case lists([ListID])
  /// The contacts with these ids. Ids that no contact has are counted and skipped.
  case originalIds([String])
  /// Those who are in this segment at the freeze.
  case segment(SegmentID)
  /// Those who meet this filter at the freeze.
  case filter(Filter)
  /// Those of another audience, which excludes nobody itself, who do not meet the filter at the freeze.
  case excluding(Audience, Filter)

  /// The audience without what it excludes.
  public var included: Audience { if case .excluding(let audience, _) = self { audience } else { self } }
  /// Who is excluded.
  public var exclude: Filter? { if case .excluding(_, let filter) = self { filter } else { nil } }

  /// How many original ids a sendout may name; more belong on a list.
  public static let originalIdLimit = 10_000

  /// How many lists a sendout may name.
  public static let listLimit = 50

  public static let example = Audience.originalIds(["lars@example.com"])
}

extension Audience: Codable, SchemaProviding {
  private enum CodingKeys: String, CodingKey { case all, listId, lists, originalIds, segmentId, filter, exclude }

  public static var schema: Schema { schema("Audience") }

  fileprivate static func schema(_ name: String, lines: [Schema.Field] = []) -> Schema {
    let originalIds = Schema(.array(of: .string(), count: 1...originalIdLimit))
    let fields = [
      Schema.Field("all", Schema(.onlyTrue), isRequired: false, "Every contact of the customer."),
      Schema.Field("listId", .id, isRequired: false, "The contacts on this list."),
      Schema.Field(
        "lists", Schema(.array(of: .id, count: 1...listLimit)), isRequired: false,
        "The contacts on at least one of these lists. Each device gets one push."),
      Schema.Field(
        "originalIds", originalIds, isRequired: false,
        "The contacts with these ids. Ids that no contact has are counted and skipped."),
      Schema.Field(
        "segmentId", .id, isRequired: false, "The contacts that are in this segment when the audience is frozen."),
      Schema.Field(
        "filter", Filter.schema, isRequired: false, "The contacts that meet this filter when the audience is frozen."),
      Schema.Field(
        "exclude", Filter.schema, isRequired: false,
        "Contacts that are left out: those who meet this filter when the audience is frozen."),
    ]
    let beside = ["exclude"] + lines.map(\.name)
    return Schema(
      .object(fields + lines, others: nil, count: 1...2 + lines.count), name: name,
      description: """
        Every valid device of the app that belongs to one of these contacts. Exactly one field is present beside \
        \(beside.map { "`\($0)`" }.asList("and")).
        """)
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    var named: [Audience] = []
    if let list = try body.decodeIfPresent(ListID.self, forKey: .listId) { named.append(.list(list)) }
    if let lists = try body.decodeIfPresent([ListID].self, forKey: .lists) { named.append(.lists(lists)) }
    if let ids = try body.decodeIfPresent([String].self, forKey: .originalIds) { named.append(.originalIds(ids)) }
    if let segment = try body.decodeIfPresent(SegmentID.self, forKey: .segmentId) { named.append(.segment(segment)) }
    if let filter = try body.decodeIfPresent(Filter.self, forKey: .filter) { named.append(.filter(filter)) }
    if try body.decodeIfPresent(Bool.self, forKey: .all) == true { named.append(.all) }
    let path = decoder.codingPath.map(\.stringValue).joined(separator: ".")
    guard let audience = named.first else { throw JSONProblem("must say who: \(Self.ways)", at: path) }
    guard named.count == 1 else { throw JSONProblem("must have only one of \(Self.ways)", at: path) }
    let exclude = try body.decodeIfPresent(Filter.self, forKey: .exclude)
    self = exclude.map { .excluding(audience, $0) } ?? audience
  }

  private static let ways = [CodingKeys.all, .listId, .lists, .originalIds, .segmentId, .filter].map(\.rawValue).asList(
    "or")

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    switch included {
    case .all, .excluding: try body.encode(true, forKey: .all)
    case .list(let list): try body.encode(list, forKey: .listId)
    case .lists(let lists): try body.encode(lists, forKey: .lists)
    case .originalIds(let ids): try body.encode(ids, forKey: .originalIds)
    case .segment(let segment): try body.encode(segment, forKey: .segmentId)
    case .filter(let filter): try body.encode(filter, forKey: .filter)
    }
    try body.encodeIfPresent(exclude, forKey: .exclude)
  }
}

/// An audience as replies have it: with its filters as lines of text, too.
struct ShownAudience: Encodable, SchemaProviding {
  let audience: Audience

  private enum CodingKeys: String, CodingKey { case text, excludeText }

  static var schema: Schema {
    Audience.schema(
      "SendoutAudience",
      lines: [
        Schema.Field(CodingKeys.text.rawValue, .string(), isRequired: false, "`filter` as a line of text."),
        Schema.Field(CodingKeys.excludeText.rawValue, .string(), isRequired: false, "`exclude` as a line of text."),
      ])
  }

  func encode(to encoder: any Encoder) throws {
    try audience.encode(to: encoder)
    var body = encoder.container(keyedBy: CodingKeys.self)
    if case .filter(let filter) = audience.included { try body.encode(filter.text, forKey: .text) }
    try body.encodeIfPresent(audience.exclude?.text, forKey: .excludeText)
  }
}
