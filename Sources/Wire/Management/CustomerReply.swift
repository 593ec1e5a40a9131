/// A customer with their settings.
public struct CustomerReply: APIObject, Equatable {
  public var customerId: CustomerID
  public var name: String
  public var linkMaxAgeDays: Int32?
  public var devicesPerContact: Int32
  public var retentionDays: Int32?
  public var reporterFields: [String: String]?
  public var timeZone: String
  public var approval: Bool
  public var sendThreshold: Int32
  public var quietHours: QuietHours?
  public var caps: [Cap]
  public var createdAt: Timestamp

  public init(
    customerId: CustomerID, name: String, linkMaxAgeDays: Int32? = nil, devicesPerContact: Int32,
    retentionDays: Int32? = nil, reporterFields: [String: String]? = nil, timeZone: String = "UTC",
    approval: Bool = false, sendThreshold: Int32 = 1000, quietHours: QuietHours? = nil, caps: [Cap] = [],
    createdAt: Timestamp
  ) {
    self.quietHours = quietHours
    self.caps = caps
    self.reporterFields = reporterFields
    self.timeZone = timeZone
    self.approval = approval
    self.sendThreshold = sendThreshold
    self.customerId = customerId
    self.name = name
    self.linkMaxAgeDays = linkMaxAgeDays
    self.devicesPerContact = devicesPerContact
    self.retentionDays = retentionDays
    self.createdAt = createdAt
  }

  public static let schemaName: String? = "Customer"
  public static let schemaDescription = "A customer and the settings of all their apps."
  public static let example = CustomerReply(
    customerId: CustomerID(1), name: "ACME", linkMaxAgeDays: 90, devicesPerContact: 50, retentionDays: 365,
    timeZone: "Europe/Berlin", quietHours: .example, caps: [.example], createdAt: .example)

  /// What fields mean that are set as they are shown.
  fileprivate static let timeZone = FieldDescription(
    """
    The time zone of the console's times, and of contacts whose own is not known, by its name in the IANA database, as in \
    `Europe/Berlin`.
    """, limits: 1...100)
  fileprivate static let approval: FieldDescription =
    "Whether a second person has to start a sendout that somebody wrote in the console."
  fileprivate static let sendThreshold = FieldDescription(
    "The console sends to more devices than this only after somebody has typed their number.",
    limits: 0...Int64(Int32.max))
  fileprivate static let quietHours = FieldDescription(
    """
    When marketing waits, or is not sent, by the recipient's clock. A sendout can have its own. A change concerns sendouts that \
    start later.
    """, isRemovable: true)
  fileprivate static let caps = FieldDescription(
    """
    How often a contact is reached at most. Whoever would be reached more often is left out as `capped`. Counting begins with the first \
    rule. Calls and PINs are neither counted nor left out.
    """, limits: 0...Int64(Cap.maximumCount))

  public static let fieldTable: FieldTable = [
    "customerId": "The number in the paths of Carma's API.",
    "name": "A name for people.",
    "linkMaxAgeDays": FieldDescription("Days after which a page link answers 404. Absent for never.", limits: 1...3650),
    "devicesPerContact":
      FieldDescription(
        "Most valid devices of a contact. One more invalidates the one that was registered the longest time ago.",
        limits: 1...1000),
    "retentionDays":
      FieldDescription(
        "Days after its end that a sendout keeps pushes, messages and opens. Absent for as long as the hub keeps them.",
        limits: 1...36_500),
    "reporterFields":
      "What softphones' push token reporter calls its fields. Absent for the names of the provisioning's variables.",
    "timeZone": timeZone,
    "approval": approval,
    "sendThreshold": sendThreshold,
    "quietHours": quietHours,
    "caps": caps,
    "createdAt": "When the customer was added.",
  ]
}

/// Body of `PATCH /api/v1/customer`. A field that is absent or null stays as it is.
public struct CustomerChangeRequest: APIRequest, Equatable {
  public var name: String?
  public var linkMaxAgeDays: Int32?
  public var devicesPerContact: Int32?
  public var retentionDays: Int32?
  public var reporterFields: [String: String]?
  public var timeZone: String?
  public var approval: Bool?
  public var sendThreshold: Int32?
  public var quietHours: Change<QuietHours>?
  public var caps: [Cap]?

  public init(
    name: String? = nil, linkMaxAgeDays: Int32? = nil, devicesPerContact: Int32? = nil, retentionDays: Int32? = nil,
    reporterFields: [String: String]? = nil, timeZone: String? = nil, approval: Bool? = nil,
    sendThreshold: Int32? = nil, quietHours: Change<QuietHours>? = nil, caps: [Cap]? = nil
  ) {
    self.quietHours = quietHours
    self.caps = caps
    self.name = name
    self.reporterFields = reporterFields
    self.timeZone = timeZone
    self.approval = approval
    self.sendThreshold = sendThreshold
    self.linkMaxAgeDays = linkMaxAgeDays
    self.devicesPerContact = devicesPerContact
    self.retentionDays = retentionDays
  }

  public static let schemaName: String? = "CustomerChangeRequest"
  public static let schemaDescription = "What to change about a customer's settings."
  public static let example = CustomerChangeRequest(
    linkMaxAgeDays: 90, devicesPerContact: 50, retentionDays: 365, quietHours: .set(.example), caps: [.example])
  public static let form = BodyForm(schemaName, schemaDescription, isChange: true, example: example)

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("A name for people.", limits: 1...200),
    "linkMaxAgeDays": FieldDescription("Days after which a page link answers 404. 0 for never.", limits: 0...3650),
    "devicesPerContact":
      FieldDescription(
        "Most valid devices of a contact. One more invalidates the one that was registered the longest time ago.",
        limits: 1...1000),
    "retentionDays":
      FieldDescription(
        """
        Days after its end that a sendout keeps pushes, messages and opens, if the hub keeps them longer. 0 for as long as the \
        hub keeps them. Its totals stay.
        """, limits: 0...36_500),
    "reporterFields":
      """
    What softphones' push token reporter calls its fields, by the names of the provisioning's variables, as in \
    `{"selector": "acc", "pushTokenOther": "tok"}`. It replaces the mapping as a whole; `{}` stands for the variables' names.
    """,
    "timeZone": CustomerReply.timeZone,
    "approval": CustomerReply.approval,
    "sendThreshold": CustomerReply.sendThreshold,
    "quietHours": CustomerReply.quietHours,
    "caps": CustomerReply.caps,
  ]
}

/// The key that signs page links from now on, as `pushcart links rotate` prints it. The REST API has none: all customers share it.
public struct LinkKeyReply: Codable, Sendable, Equatable {
  public var linkKeyId: Int64

  public init(linkKeyId: Int64) { self.linkKeyId = linkKeyId }
}
