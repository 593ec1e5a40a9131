/// What a sendout would do now, told before it does. Nothing is stored or sent.
public struct PreflightReply: APIObject, Equatable {
  public var digest: String
  public var asOf: Timestamp
  public var steps: [Step]
  public var held: Int
  public var apps: [App]
  public var firstAt: Timestamp?
  public var lastAt: Timestamp?
  public var zones: [Zone]
  public var warnings: [Warning]

  public init(
    digest: String, asOf: Timestamp, steps: [Step], held: Int, apps: [App], firstAt: Timestamp? = nil,
    lastAt: Timestamp? = nil, zones: [Zone], warnings: [Warning]
  ) {
    self.digest = digest
    self.asOf = asOf
    self.steps = steps
    self.held = held
    self.apps = apps
    self.firstAt = firstAt
    self.lastAt = lastAt
    self.zones = zones
    self.warnings = warnings
  }

  /// How many contacts would get it.
  public var left: Int { steps.last { $0.name == .left }?.contacts ?? 0 }

  public static let schemaName: String? = "Preflight"
  public static let schemaDescription =
    """
    What a sendout would do now. The freeze counts with the same SQL; contacts and limits may change until then.
    """
  public static let example = PreflightReply(
    digest: SendoutReply.exampleDigest, asOf: .example,
    steps: [
      Step(name: .everyone, contacts: 100), Step(name: .excluded, contacts: 3), Step(name: .suppressed, contacts: 1),
      Step(name: .noDevice, contacts: 4), Step(name: .heldOut, contacts: 5), Step(name: .capped, contacts: 2),
      Step(name: .quiet, contacts: 0), Step(name: .missed, contacts: 0), Step(name: .left, contacts: 85),
    ], held: 7, apps: [.example], firstAt: .example, lastAt: .example, zones: [.example], warnings: [.example])

  public static let fieldTable: FieldTable = [
    "digest":
      """
    Stands for all that the sendout says, and for times, quiet hours and caps. A start that names it is refused (409, `changed`) once anything \
    of it is different.
    """,
    "asOf": "The moment of the counts.",
    "steps":
      """
    From everybody of the audience to those who are left, in this order. Each contact is counted in one step between. So `everyone` is the \
    sum of all others.
    """,
    "held": .count("How many of those left would wait until quiet hours end."),
    "apps": "The devices that would get a push, by app.",
    "firstAt": "When the first push would leave.",
    "lastAt": "When the last one is planned. A rate can take longer.",
    "zones": "The time zones of contacts, where the sendout asks for them, the earliest first.",
    "warnings": "What is worth a look before it starts.",
  ]

  /// A step from everybody to those who are left. `report.left_out` and the ledger use the same names, but for those of `missed` whose moment comes
  /// only after `endAt`: there they are `expired`.
  public enum StepName: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
    /// All contacts of the audience, those excluded too.
    case everyone
    case excluded
    case suppressed
    case noDevice = "no_device"
    case heldOut = "held_out"
    case capped
    /// Those whom quiet hours would leave out; others wait (`held`).
    case quiet
    /// Those whose moment was over already, or comes only after `endAt`.
    case missed
    case left
  }

  public struct Step: APIObject, Hashable {
    public var name: StepName
    public var contacts: Int

    public init(name: StepName, contacts: Int) {
      self.name = name
      self.contacts = contacts
    }

    public static let schemaName: String? = "PreflightStep"
    public static let schemaDescription = "How many contacts a step counts."
    public static let example = Step(name: .excluded, contacts: 3)

    public static let fieldTable: FieldTable = [
      "name":
        "The step. `everyone` is all of the audience and `left` those who get it; what is between leaves contacts out.",
      "contacts": .count("How many contacts."),
    ]
  }

  public struct App: APIObject, Hashable {
    public var appId: String
    public var appType: AppType
    public var devices: Int

    public init(appId: String, appType: AppType, devices: Int) {
      self.appId = appId
      self.appType = appType
      self.devices = devices
    }

    public static let schemaName: String? = "PreflightApp"
    public static let schemaDescription = "The devices of one app that would get a push."
    public static let example = App(appId: "com.acme.app", appType: .ios, devices: 91)

    public static let fieldTable: FieldTable = [
      "appId": "Bundle id or package name.", "appType": "Platform: \(AppType.list).",
      "devices": .count("Valid devices of those who are left."),
    ]
  }

  public struct Zone: APIObject, Hashable {
    public var zone: String
    public var source: ZoneSource
    public var plannedAt: Timestamp?
    public var contacts: Int

    public init(zone: String, source: ZoneSource, plannedAt: Timestamp? = nil, contacts: Int) {
      self.zone = zone
      self.source = source
      self.plannedAt = plannedAt
      self.contacts = contacts
    }

    public static let schemaName: String? = "PreflightZone"
    public static let schemaDescription = "Contacts in one time zone."
    public static let example = Zone(
      zone: "Europe/Stockholm", source: .contact, plannedAt: .example, contacts: 85)

    public static let fieldTable: FieldTable = [
      "zone": "Its name in the IANA database.",
      "source": "Who told it: `contact`, `device`, `country`, or `customer` where nobody did.",
      "plannedAt": "When the local time is there, before spread and quiet hours. Absent without a local time.",
      "contacts": .count("Contacts of the audience there."),
    ]
  }

  /// What is worth a look. Nothing is refused for it.
  public struct Warning: APIObject, Hashable {
    public var code: WarningCode
    public var text: String

    public init(code: WarningCode, text: String) {
      self.code = code
      self.text = text
    }

    public static let schemaName: String? = "PreflightWarning"
    public static let schemaDescription = "What is worth a look before a sendout starts."
    public static let example = Warning(
      code: .emptyVariable, text: "firstName is empty for 3 contacts, such as lars@example.com")

    public static let fieldTable: FieldTable = [
      "code": "What it is, for programs.", "text": "A sentence for people.",
    ]
  }

  public enum WarningCode: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
    case emptyVariable = "empty_variable"
    case cut
    case longest
    case credentialsMissing = "credentials_missing"
    case credentialsRefused = "credentials_refused"
    case credentialsExpiring = "credentials_expiring"
    case wrongEnvironment = "wrong_environment"
    case templateVariable = "template_variable"
    case overlap
    case endsTooEarly = "ends_too_early"
    case smallestDifference = "smallest_difference"
  }
}

/// Who told a contact's time zone.
public enum ZoneSource: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case contact, device, country, customer
}
