/// A contact as people manage it.
public struct ContactDetails: APIObject, Equatable {
  public var contactId: ContactID
  public var originalId: String
  public var listIds: [ListID]
  public var segments: [ContactSegment]?
  public var texts: ContactTexts
  public var dateOfBirth: String?
  public var properties: [UTF8String: JSONValue]?
  public var createdAt: Timestamp
  public var updatedAt: Timestamp
  public var devices: [DeviceDetails]?
  public var timeline: [ContactEvent]?

  public init(
    contactId: ContactID, originalId: String, listIds: [ListID] = [], segments: [ContactSegment]? = nil,
    texts: ContactTexts = ContactTexts(), dateOfBirth: String? = nil, properties: [UTF8String: JSONValue]? = nil,
    createdAt: Timestamp, updatedAt: Timestamp, devices: [DeviceDetails]? = nil, timeline: [ContactEvent]? = nil
  ) {
    self.contactId = contactId
    self.originalId = originalId
    self.listIds = listIds
    self.segments = segments
    self.texts = texts
    self.dateOfBirth = dateOfBirth
    self.properties = properties
    self.createdAt = createdAt
    self.updatedAt = updatedAt
    self.devices = devices
    self.timeline = timeline
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      contactId: try body.decode(ContactID.self, forKey: .contactId),
      originalId: try body.decode(String.self, forKey: .originalId),
      listIds: try body.decode([ListID].self, forKey: .listIds),
      segments: try body.decodeIfPresent([ContactSegment].self, forKey: .segments),
      texts: try ContactTexts(from: decoder),
      dateOfBirth: try body.decodeIfPresent(String.self, forKey: .dateOfBirth),
      properties: try body.decodeIfPresent([UTF8String: JSONValue].self, forKey: .properties),
      createdAt: try body.decode(Timestamp.self, forKey: .createdAt),
      updatedAt: try body.decode(Timestamp.self, forKey: .updatedAt),
      devices: try body.decodeIfPresent([DeviceDetails].self, forKey: .devices),
      timeline: try body.decodeIfPresent([ContactEvent].self, forKey: .timeline))
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encode(contactId, forKey: .contactId)
    try body.encode(originalId, forKey: .originalId)
    try body.encode(listIds, forKey: .listIds)
    try body.encodeIfPresent(segments, forKey: .segments)
    try texts.encode(to: encoder)
    try body.encodeIfPresent(dateOfBirth, forKey: .dateOfBirth)
    try body.encodeIfPresent(properties, forKey: .properties)
    try body.encode(createdAt, forKey: .createdAt)
    try body.encode(updatedAt, forKey: .updatedAt)
    try body.encodeIfPresent(devices, forKey: .devices)
    try body.encodeIfPresent(timeline, forKey: .timeline)
  }

  private enum CodingKeys: String, CodingKey {
    case contactId, originalId, listIds, segments, dateOfBirth, properties, createdAt, updatedAt, devices, timeline
  }

  /// First, middle and last name as people read them; `nil` if none is known.
  public var fullName: String? {
    let names = [ContactField.firstName, .middleName, .lastName].compactMap { texts[$0] }
    return names.isEmpty ? nil : names.joined(separator: " ")
  }

  /// Most events that are shown with a contact.
  public static let mostEvents = 100
  /// Most segments that are asked whether a contact is in them.
  public static let mostSegments = 100

  public static let schemaName: String? = "ContactDetails"
  public static let schemaDescription = "A user of the customer's apps."
  public static let example: ContactDetails = {
    var texts = ContactTexts()
    texts[.firstName] = "Lars"
    texts[.emailAddress] = "lars@example.com"
    return ContactDetails(
      contactId: ContactID(1), originalId: "lars@example.com", segments: [.example], texts: texts, createdAt: .example,
      updatedAt: .example, devices: [.example], timeline: [.example])
  }()
  /// After a change.
  public static let changedExample: ContactDetails = {
    var contact = example
    contact.segments = nil
    contact.timeline = nil
    return contact
  }()
  /// A line of a list.
  public static let listedExample: ContactDetails = {
    var contact = changedExample
    contact.devices = nil
    return contact
  }()

  public static let fieldTable: FieldTable = [
    "contactId": "The contact's number.",
    "originalId": "Your own id of the user. It cannot change.",
    "listIds": "The lists that the contact is on, by their numbers.",
    "segments":
      "The segments that it is in now, of the customer's first \(mostSegments), without those that look back further than pushes are kept. Only where one contact is shown.",
    "texts": .fields(
      ContactField.allCases.map { Schema.Field($0.name, .string(), isRequired: false, $0.meaning) }),
    "dateOfBirth": "A day, as in `1980-02-29`.",
    "properties": "Further fields, by their names. Lists of contacts leave them out.",
    "createdAt": "When the contact was first registered.",
    "updatedAt": "When a field of it last changed.",
    "devices": "Its devices, valid or not, the oldest first, at most 1,000. Lists of contacts leave them out.",
    "timeline":
      "What happened with it, the newest first, at most \(mostEvents). The report `timeline` has more. Only where one contact is shown.",
  ]
}

/// A segment that a contact is in.
public struct ContactSegment: APIObject, Equatable {
  public var segmentId: SegmentID
  public var name: String

  public init(segmentId: SegmentID, name: String) {
    self.segmentId = segmentId
    self.name = name
  }

  public static let schemaName: String? = "ContactSegment"
  public static let schemaDescription = "A segment that a contact is in."
  public static let example = ContactSegment(segmentId: SegmentID(3), name: "Nordic regulars")

  public static let fieldTable: FieldTable = [
    "segmentId": "The segment's number.",
    "name": "Its name.",
  ]
}

/// Something that happened with a contact, as the view `report.contact_timeline` has it.
public struct ContactEvent: APIObject, Equatable {
  public var at: Timestamp?
  public var event: String
  public var detail: String?
  public var deviceId: DeviceID?
  public var sendoutId: SendoutID?

  public init(
    at: Timestamp? = nil, event: String, detail: String? = nil, deviceId: DeviceID? = nil, sendoutId: SendoutID? = nil
  ) {
    self.at = at
    self.event = event
    self.detail = detail
    self.deviceId = deviceId
    self.sendoutId = sendoutId
  }

  public static let schemaName: String? = "ContactEvent"
  public static let schemaDescription = "Something that happened with a contact."
  public static let example = ContactEvent(at: .example, event: "device registered", deviceId: DeviceID(12))

  public static let fieldTable: FieldTable = [
    "at": "When it happened. Absent for what is to come.",
    "event": "What happened, such as `device registered` and `push accepted`.",
    "detail": "More about it, such as why a device was invalidated.",
    "deviceId": "The device.",
    "sendoutId": "The sendout of the push.",
  ]
}

extension ContactTexts: Codable {
  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: NamedKey.self)
    try self.init { try body.decodeIfPresent(String.self, forKey: NamedKey($0.name)) }
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: NamedKey.self)
    for field in ContactField.allCases { try body.encodeIfPresent(self[field], forKey: NamedKey(field.name)) }
  }
}

/// A device of a contact, as people manage it. Its token is not shown.
public struct DeviceDetails: APIObject, Equatable {
  public var deviceId: DeviceID
  public var contactId: ContactID
  public var appId: String
  public var appType: AppType
  public var sandbox: Bool
  public var manufacturer: String?
  public var model: String?
  public var osVersion: String?
  public var country: String?
  public var timeZone: String?
  public var locale: String?
  public var registeredAt: Timestamp
  public var invalidatedAt: Timestamp?
  public var invalidationReason: String?

  public init(
    deviceId: DeviceID, contactId: ContactID, appId: String, appType: AppType, sandbox: Bool = false,
    manufacturer: String? = nil, model: String? = nil, osVersion: String? = nil, country: String? = nil,
    timeZone: String? = nil, locale: String? = nil, registeredAt: Timestamp, invalidatedAt: Timestamp? = nil,
    invalidationReason: String? = nil
  ) {
    self.deviceId = deviceId
    self.contactId = contactId
    self.appId = appId
    self.appType = appType
    self.sandbox = sandbox
    self.manufacturer = manufacturer
    self.model = model
    self.osVersion = osVersion
    self.country = country
    self.timeZone = timeZone
    self.locale = locale
    self.registeredAt = registeredAt
    self.invalidatedAt = invalidatedAt
    self.invalidationReason = invalidationReason
  }

  public static let schemaName: String? = "DeviceDetails"
  public static let schemaDescription = "An app on one phone or in one browser. Its token is not shown."
  public static let example = DeviceDetails(
    deviceId: DeviceID(12), contactId: ContactID(1), appId: "com.acme.app", appType: .ios, model: "iPhone17,1",
    osVersion: "19.1", registeredAt: .example)
  /// After it was retired.
  public static let retiredExample: DeviceDetails = {
    var device = example
    (device.invalidatedAt, device.invalidationReason) = (.example, Self.retired)
    return device
  }()

  /// Why a device is invalid that somebody retired by hand.
  public static let retired = "retired"

  public static let fieldTable: FieldTable = [
    "deviceId": "The device's number.",
    "contactId": "The contact that registered it last.",
    "appId": "The app's bundle id or package name.",
    "appType": "Platform: \(AppType.list).",
    "sandbox": "Whether its token belongs to APNs' development environment.",
    "manufacturer": "As the app sent it.",
    "model": "As the app sent it.",
    "osVersion": "As the app sent it.",
    "country": "As the app sent it.",
    "timeZone": "Where it was when it was last registered with one: a name of the IANA database.",
    "locale": "The app's locale as a language tag.",
    "registeredAt": "When its token was last registered.",
    "invalidatedAt": "Since when nothing is sent to it. Absent while it is valid.",
    "invalidationReason":
      "Why nothing is sent to it: the push service's own reason, `app` for the app or its user, `\(retired)` for this API.",
  ]
}

/// What of contacts a search looks at.
public enum ContactSearchField: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case originalId, emailAddress, mobileNumber, name
}
