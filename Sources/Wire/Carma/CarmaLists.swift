import FoundationEssentials

/// A list as Carma shows it (protocol notes, section 12). Dates are milliseconds since 1970; null stands for what is not counted.
public struct CarmaList: APIObject, Equatable {
  public var id: ListID
  public var listTypeId: Int
  public var name: String
  public var permissions: [String: Bool]
  public var breakdown: Breakdown?
  public var contacts: Int?
  public var unsubscribes: Int?
  public var hardBounces: Int?
  public var inactive: Int?
  public var emailAddresses: Int?
  public var mobileNumbers: Int?
  public var pushIds: Int?
  public var complaints: Int
  public var generateUpToDateOnly: Bool
  public var dateCreated: Int

  /// Carma's number of ordinary lists, which all are here.
  public static let normalType = 1

  /// - Parameters:
  ///   - contacts: how many are on it; `nil` if that takes too long.
  ///   - breakdown: of them; `nil` if nobody asks.
  public init(_ list: ListReply, contacts: Int?, _ breakdown: Breakdown? = nil) {
    id = list.listId
    listTypeId = Self.normalType
    name = list.name
    permissions = ["read": true, "write": true, "execute": true]
    self.breakdown = breakdown
    self.contacts = contacts
    let push = breakdown.map { [$0.ios, $0.android, $0.windowsPush, $0.web] }
    unsubscribes = breakdown?.all.unsubscribed
    hardBounces = breakdown?.all.bounced
    inactive = breakdown?.all.bounced
    emailAddresses = breakdown?.email.contacts
    mobileNumbers = breakdown?.mobile.contacts
    pushIds = push?.reduce(0) { $0 + $1.contacts }
    complaints = 0
    generateUpToDateOnly = false
    dateCreated = Int(list.createdAt.milliseconds)
  }

  public static let schemaName: String? = "CarmaList"
  public static let schemaDescription = "A list in Carma's form. Dates are milliseconds since 1970."
  public static let allowsNull = true
  public static let example = CarmaList(.example, contacts: 1250, .example)

  public static let fieldTable: FieldTable = [
    "id": "The list's number.",
    "listTypeId": "Always 1: an ordinary list.",
    "name": "A name for people.",
    "permissions": "What may be done: always all of `read`, `write` and `execute`.",
    "breakdown": "How many contacts can be reached how. Only where one list is shown.",
    "contacts": .count("How many contacts are on it. Absent where counting takes too long."),
    "unsubscribes": .count("How many of them get no marketing."),
    "hardBounces": .count("How many of them have devices, and none that is valid."),
    "inactive": .count("As `hardBounces`."),
    "emailAddresses": .count("How many of them have an e-mail address."),
    "mobileNumbers": .count("How many of them have a mobile number."),
    "pushIds": .count("How many of them have devices, summed over the platforms."),
    "complaints": .count("Always 0."),
    "generateUpToDateOnly": "Always false.",
    "dateCreated": "When the list was added.",
  ]

  /// How many contacts of a list can be reached how.
  public struct Breakdown: APIObject, Equatable {
    public var all: Channel
    public var email: Channel
    public var mobile: Channel
    public var ios: Channel
    public var android: Channel
    public var windowsPush: Channel
    public var web: Channel
    public var qq: Channel
    public var postal: Channel

    /// - Parameter channels: by the names of these properties.
    public init(_ channels: [String: Channel]) {
      func channel(_ name: String) -> Channel { channels[name] ?? Channel(contacts: 0, unsubscribed: 0, bounced: 0) }
      all = channel("all")
      email = channel("email")
      mobile = channel("mobile")
      ios = channel("ios")
      android = channel("android")
      windowsPush = channel("windowsPush")
      web = channel("web")
      qq = channel("qq")
      postal = channel("postal")
    }

    public static let schemaName: String? = "CarmaListBreakdown"
    public static let schemaDescription = "How many contacts of a list can be reached how."
    public static let example = Breakdown([
      "all": Channel(contacts: 1250, unsubscribed: 10, bounced: 3),
      "ios": Channel(contacts: 800, unsubscribed: 6, bounced: 2),
    ])

    public static let fieldTable: FieldTable = [
      "all": "All of them.", "email": "Those with an e-mail address.", "mobile": "Those with a mobile number.",
      "ios": "Those with devices on iOS.", "android": "Those with devices of Android, Firebase or Huawei.",
      "windowsPush": "Those with devices on Windows.", "web": "Those with browsers.", "qq": "Nobody.",
      "postal": "Nobody.",
    ]
  }

  /// Contacts that can be reached in one way.
  public struct Channel: APIObject, Equatable {
    public var contacts: Int
    public var unsubscribed: Int
    public var bounced: Int

    public init(contacts: Int, unsubscribed: Int, bounced: Int) {
      self.contacts = contacts
      self.unsubscribed = unsubscribed
      self.bounced = bounced
    }

    public static let schemaName: String? = "CarmaListChannel"
    public static let schemaDescription = "Contacts that can be reached in one way."
    public static let example = Channel(contacts: 800, unsubscribed: 6, bounced: 2)

    public static let fieldTable: FieldTable = [
      "contacts": .count("How many there are."),
      "unsubscribed": .count("How many of them get no marketing."),
      "bounced": .count("How many of them have no valid device there."),
    ]
  }
}

/// A contact of a list as Carma shows it (protocol notes, section 12). Dates are milliseconds since 1970, but for the date of birth; null
/// stands for what is unknown. Values of properties are texts, as typed clients of Carma expect.
public struct CarmaContact: APIObject, Equatable {
  public var id: ContactID
  public var listId: ListID
  public var originalId: String
  public var texts: ContactTexts
  public var dateOfBirth: String?
  public var unsubscribed: Bool
  public var bounced: Bool
  public var mobileUnsubscribed: Bool
  public var audioUnsubscribed: Bool
  public var preferredContentVersionId: Int
  public var optOutDate: Int?
  public var optOutMobileDate: Int?
  public var optOutAudioDate: Int?
  public var dateOfInvalidation: Int?
  public var active: Bool
  public var dateCreated: Int
  public var dateModified: Int
  public var properties: [UTF8String: String]
  public var namedProperties: [UTF8String: String]
  public var mobileNumberValid: Bool

  /// - Parameters:
  ///   - unsubscribedAt: since when it gets no marketing; `nil` if it does.
  ///   - bouncedAt: since when it has had no valid device; `nil` if it has one, or never had.
  public init(_ contact: ContactDetails, on list: ListID, unsubscribedAt: Timestamp?, bouncedAt: Timestamp?) {
    id = contact.contactId
    listId = list
    originalId = contact.originalId
    texts = contact.texts
    dateOfBirth = contact.dateOfBirth
    unsubscribed = unsubscribedAt != nil
    bounced = bouncedAt != nil
    (mobileUnsubscribed, audioUnsubscribed) = (unsubscribed, unsubscribed)
    preferredContentVersionId = 0
    optOutDate = unsubscribedAt.map { Int($0.milliseconds) }
    (optOutMobileDate, optOutAudioDate) = (optOutDate, optOutDate)
    dateOfInvalidation = bouncedAt.map { Int($0.milliseconds) }
    active = bouncedAt == nil
    dateCreated = Int(contact.createdAt.milliseconds)
    dateModified = Int(contact.updatedAt.milliseconds)
    properties = (contact.properties ?? [:]).mapValues { $0.text ?? String(decoding: $0.json, as: UTF8.self) }
    namedProperties = properties
    mobileNumberValid = contact.texts[.mobileNumber].flatMap { PhoneNumber($0) } != nil
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    id = try body.decode(ContactID.self, forKey: .id)
    listId = try body.decode(ListID.self, forKey: .listId)
    originalId = try body.decode(String.self, forKey: .originalId)
    texts = try ContactTexts(from: decoder)
    dateOfBirth = try body.decodeIfPresent(String.self, forKey: .dateOfBirth)
    unsubscribed = try body.decode(Bool.self, forKey: .unsubscribed)
    bounced = try body.decode(Bool.self, forKey: .bounced)
    mobileUnsubscribed = try body.decode(Bool.self, forKey: .mobileUnsubscribed)
    audioUnsubscribed = try body.decode(Bool.self, forKey: .audioUnsubscribed)
    preferredContentVersionId = try body.decode(Int.self, forKey: .preferredContentVersionId)
    optOutDate = try body.decodeIfPresent(Int.self, forKey: .optOutDate)
    optOutMobileDate = try body.decodeIfPresent(Int.self, forKey: .optOutMobileDate)
    optOutAudioDate = try body.decodeIfPresent(Int.self, forKey: .optOutAudioDate)
    dateOfInvalidation = try body.decodeIfPresent(Int.self, forKey: .dateOfInvalidation)
    active = try body.decode(Bool.self, forKey: .active)
    dateCreated = try body.decode(Int.self, forKey: .dateCreated)
    dateModified = try body.decode(Int.self, forKey: .dateModified)
    properties = try body.decode([UTF8String: String].self, forKey: .properties)
    namedProperties = try body.decode([UTF8String: String].self, forKey: .namedProperties)
    mobileNumberValid = try body.decode(Bool.self, forKey: .mobileNumberValid)
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encode(id, forKey: .id)
    try body.encode(listId, forKey: .listId)
    try body.encode(originalId, forKey: .originalId)
    var texts = encoder.container(keyedBy: NamedKey.self)
    for field in ContactField.allCases { try texts.encode(self.texts[field], forKey: NamedKey(field.name)) }
    try body.encode(dateOfBirth, forKey: .dateOfBirth)
    try body.encode(unsubscribed, forKey: .unsubscribed)
    try body.encode(bounced, forKey: .bounced)
    try body.encode(mobileUnsubscribed, forKey: .mobileUnsubscribed)
    try body.encode(audioUnsubscribed, forKey: .audioUnsubscribed)
    try body.encode(preferredContentVersionId, forKey: .preferredContentVersionId)
    try body.encode(optOutDate, forKey: .optOutDate)
    try body.encode(optOutMobileDate, forKey: .optOutMobileDate)
    try body.encode(optOutAudioDate, forKey: .optOutAudioDate)
    try body.encode(dateOfInvalidation, forKey: .dateOfInvalidation)
    try body.encode(active, forKey: .active)
    try body.encode(dateCreated, forKey: .dateCreated)
    try body.encode(dateModified, forKey: .dateModified)
    try body.encode(properties, forKey: .properties)
    try body.encode(namedProperties, forKey: .namedProperties)
    try body.encode(mobileNumberValid, forKey: .mobileNumberValid)
  }

  private enum CodingKeys: String, CodingKey {
    case id, listId, originalId, dateOfBirth, unsubscribed, bounced, mobileUnsubscribed, audioUnsubscribed
    case preferredContentVersionId, optOutDate, optOutMobileDate, optOutAudioDate, dateOfInvalidation, active,
      dateCreated
    case dateModified, properties, namedProperties, mobileNumberValid
  }

  public static let schemaName: String? = "CarmaContact"
  public static let schemaDescription = "A contact of a list in Carma's form. Null stands for what is unknown."
  public static let allowsNull = true
  public static let example = CarmaContact(
    .example, on: ListID(1_000_000_005), unsubscribedAt: nil, bouncedAt: nil)

  public static let fieldTable: FieldTable = [
    "id": "The contact's number, as `lastId` takes it.",
    "listId": "The list that the request names.",
    "originalId": "The contact's id in the customer's own system.",
    "texts": .fields(
      ContactField.allCases.map { Schema.Field($0.name, .string().orNull, isRequired: false, $0.meaning) }),
    "dateOfBirth": "A day, as in 1980-02-29.",
    "unsubscribed": "Whether the contact gets no marketing.",
    "bounced": "Whether it has devices, and none that is valid.",
    "mobileUnsubscribed": "As `unsubscribed`.",
    "audioUnsubscribed": "As `unsubscribed`.",
    "preferredContentVersionId": "Always 0.",
    "optOutDate": "Since when it has got no marketing, in milliseconds since 1970.",
    "optOutMobileDate": "As `optOutDate`.",
    "optOutAudioDate": "As `optOutDate`.",
    "dateOfInvalidation": "Since when it has had no valid device, in milliseconds since 1970.",
    "active": "Whether it has a valid device, or never had one.",
    "dateCreated": "When the contact was added, in milliseconds since 1970.",
    "dateModified": "When it last changed, in milliseconds since 1970.",
    "properties": "Further fields, by their names. Numbers, true and false are texts here.",
    "namedProperties": "As `properties`.",
    "mobileNumberValid": "Whether `mobileNumber` is a telephone number in international form.",
  ]
}

/// Body of `PUT /rest/{customerId}/lists/{id}/contacts/{originalId}/update`.
///
/// Tolerances are those of `PushDevicesBody`: texts that are absent or null stay as they are, "" clears, unknown fields are ignored.
/// `CarmaSchemas` describes the body, and a test compares the two.
public struct CarmaContactBody: Sendable, Equatable {
  public var originalId: String?
  public var texts = ContactTexts()
  public var dateOfBirth: Change<CarmaDate> = .keep
  public var properties: [UTF8String: JSONValue]?
  public var unsubscribed: Bool?
  public var mobileUnsubscribed: Bool?

  public init() {}

  /// - Throws: `JSONProblem` with the path of the field that is wrong.
  public init(json bytes: UnsafeRawBufferPointer) throws(JSONProblem) {
    self = try JSONReader.read(bytes) { reader throws(JSONProblem) in
      var body = CarmaContactBody()
      try reader.object { reader, key throws(JSONProblem) in try body.read(key, &reader) }
      return body
    }
  }

  private mutating func read(_ key: JSONKey, _ reader: inout JSONReader) throws(JSONProblem) {
    switch key {
    case "originalId", "originalid": originalId = try reader.text() ?? originalId
    case "dateOfBirth": dateOfBirth = try reader.date()
    case "properties", "namedProperties": try merge(try reader.properties())
    case "unsubscribed": unsubscribed = try reader.flag()
    case "mobileUnsubscribed": mobileUnsubscribed = try reader.flag()
    // As Carma's client for PHP spells it.
    case "zipCode": texts[.zipcode] = try reader.text() ?? texts[.zipcode]
    default:
      if let field = ContactField(key) { texts[field] = try reader.text() ?? texts[field] } else { try reader.skip() }
    }
  }

  private mutating func merge(_ json: String?) throws(JSONProblem) {
    guard let json else { return }
    let value: JSONValue
    do { value = try JSONValue(json: Array(json.utf8), rules: .own) } catch { throw JSONProblem("must be an object") }
    guard case .object(let members) = value else { return }
    properties = (properties ?? [:]).merging(members) { $1 }
  }

  /// What it asks for, as a request of the management API.
  public var request: ContactRequest {
    let birth: String? =
      switch dateOfBirth {
      case .keep: nil
      case .clear: ""
      case .set(let date):
        Date(timeIntervalSince1970: Double(date.day) * 86_400).formatted(.iso8601.year().month().day())
      }
    return ContactRequest(texts: texts, dateOfBirth: birth, properties: properties)
  }
}

/// A property that contacts have, as Carma shows it (protocol notes, section 12).
public struct CarmaProperty: APIObject, Equatable {
  public var id: Int
  public var propertyTypeId: Int
  public var name: String
  public var description: String
  public var dataType: String
  public var includeInBaExport: Bool
  public var dateCreated: String
  public var dateModified: String
  public var userCreated: String
  public var userModified: String
  public var staticProperty: Bool
  public var fileHeaders: [String]

  /// - Parameter isInteger: whether all of its values are whole numbers.
  public init(name: String, isInteger: Bool) {
    // The same name has the same number always (FNV-1a).
    id = Int(name.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 } & 0x7FFF_FFFF)
    propertyTypeId = 1
    self.name = name
    description = ""
    dataType = isInteger ? "BIGINT" : "STRING"
    includeInBaExport = false
    (dateCreated, dateModified, userCreated, userModified) = ("", "", "", "")
    staticProperty = false
    fileHeaders = [name]
  }

  public static let schemaName: String? = "CarmaProperty"
  public static let schemaDescription = "A property of contacts in Carma's form."
  public static let example = CarmaProperty(name: "food", isInteger: false)

  public static let fieldTable: FieldTable = [
    "id": "A number of the name, which never changes.",
    "propertyTypeId": "Always 1.",
    "name": "The property's name.",
    "description": "Always empty: properties are not declared.",
    "dataType": "`BIGINT` if all values that were looked at are whole numbers, else `STRING`.",
    "includeInBaExport": "Always false.",
    "dateCreated": "Always empty.", "dateModified": "Always empty.", "userCreated": "Always empty.",
    "userModified": "Always empty.",
    "staticProperty": "Always false.",
    "fileHeaders": "The headings that imports know it by: its name.",
  ]
}

/// A sendout as Carma shows campaigns. Dates are milliseconds since 1970.
public struct CarmaCampaign: APIObject, Equatable {
  public var id: SendoutID
  public var name: String
  public var projectId: Int
  public var campaignTypeId: Int
  public var active: Bool
  public var locked: Bool
  public var dateCreated: Int
  public var dateModified: Int
  public var lastActivated: Int?

  public init(_ sendout: SendoutReply) {
    id = sendout.sendoutId
    name = sendout.name
    projectId = 0
    let types = Set(sendout.apps.map(\.appType))
    campaignTypeId = types.contains(.ios) ? 20 : types == [.windows] ? 21 : 19
    active = sendout.state == .running || sendout.state == .freezing
    locked = sendout.state != .draft
    dateCreated = Int(sendout.createdAt.milliseconds)
    let last = sendout.finishedAt ?? sendout.startedAt ?? sendout.createdAt
    dateModified = Int(last.milliseconds)
    lastActivated = sendout.startedAt.map { Int($0.milliseconds) }
  }

  public static let schemaName: String? = "CarmaCampaign"
  public static let schemaDescription = "A sendout in Carma's form. Dates are milliseconds since 1970."
  public static let example = CarmaCampaign(.example)

  public static let fieldTable: FieldTable = [
    "id": "The sendout's number.",
    "name": "The sendout's name.",
    "projectId": "Always 0: there are no projects.",
    "campaignTypeId": "20 if it goes to an app on iOS, 21 if only to Windows, else 19.",
    "active": "Whether it is being sent.",
    "locked": "Whether it was started, so that it cannot be changed.",
    "dateCreated": "When it was made.",
    "dateModified": "When it finished, else when it started, else when it was made.",
    "lastActivated": "When it was started. Absent for a draft.",
  ]
}
