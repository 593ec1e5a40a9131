/// An app on one platform.
public struct PushAppID: Identifier {
  public let rawValue: Int64
  public init(_ rawValue: Int64) { self.rawValue = rawValue }
}

/// What an app makes of its pushes.
public enum PushAppKind: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// Any app that shows the message.
  case app
  /// A softphone of Acrobits or Cloud Softphone: texts have the form of its verb NotifyGenericTextMessage.
  case softphone
  /// The PushKit AppId of a softphone on iOS: every push goes as a call, with the appId as its topic.
  case pushkit

  /// `iOS, Android and …`
  public static let softphonePlatforms = AppType.ofSoftphones.map(\.platform).asList()
}

/// Body of `POST /api/v1/apps` and of `PATCH /api/v1/apps/{id}`.
///
/// `appId` and `appType` cannot change: the tokens registered under them belong to that app.
public struct PushAppRequest: APIRequest, Equatable {
  public var name: String?
  public var appId: String?
  public var appType: AppType?
  public var kind: PushAppKind?
  public var voipAppId: String?
  public var fields: PushAppFields

  public init(
    name: String? = nil, appId: String? = nil, appType: AppType? = nil, kind: PushAppKind? = nil,
    voipAppId: String? = nil, fields: PushAppFields = PushAppFields()
  ) {
    self.name = name
    self.appId = appId
    self.appType = appType
    self.kind = kind
    self.voipAppId = voipAppId
    self.fields = fields
  }

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      name: try body.decodeIfPresent(String.self, forKey: .name),
      appId: try body.decodeIfPresent(String.self, forKey: .appId),
      appType: try body.decodeIfPresent(AppType.self, forKey: .appType),
      kind: try body.decodeIfPresent(PushAppKind.self, forKey: .kind),
      voipAppId: try body.decodeIfPresent(String.self, forKey: .voipAppId), fields: try PushAppFields(from: decoder))
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    try body.encodeIfPresent(name, forKey: .name)
    try body.encodeIfPresent(appId, forKey: .appId)
    try body.encodeIfPresent(appType, forKey: .appType)
    try body.encodeIfPresent(kind, forKey: .kind)
    try body.encodeIfPresent(voipAppId, forKey: .voipAppId)
    try fields.encode(to: encoder)
  }

  public enum CodingKeys: String, CodingKey, CaseIterable { case name, appId, appType, kind, voipAppId }
  public static let schemaName: String? = "PushAppRequest"
  public static let schemaDescription = "An app to add."
  public static let example = PushAppRequest(name: "Acme", appId: "com.acme.app", appType: .ios)

  public static var form: BodyForm<Self> {
    BodyForm(schemaName, schemaDescription, required: ["name", "appId", "appType"], example: example)
  }
  public static let change = BodyForm(
    "PushAppChangeRequest", "What to change about an app.", absent: ["appId", "appType", "kind", "voipAppId"],
    example: PushAppRequest(name: "Acme for iPhone"))

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("A name for people.", limits: 1...200),
    "appId": FieldDescription("Bundle id or package name.", limits: 1...200),
    "appType": "Platform: \(AppType.listOfApps).",
    "kind":
      """
    `app` if absent, or `softphone` beside `voipAppId`. `softphone` is for \(PushAppKind.softphonePlatforms). `pushkit` is the \
    PushKit AppId of a softphone on iOS, if that is to have credentials of its own.
    """,
    "voipAppId":
      FieldDescription(
        """
        The softphone's PushKit AppId, which is added too, as an app of the kind `pushkit` with the same credentials. iOS only.
        """, limits: 1...200),
    "fields": .fields(of: PushAppFields.self),
  ]
}

/// What can be said of an app when it is added, and changed later: its credentials and the rules for device keys.
///
/// In JSON these stand among the fields of the request.
public struct PushAppFields: APIRequest, Equatable {
  /// The bytes of a file, or of a text in UTF-8. Commands take files that are no text.
  public var credentials: [CredentialField: [UInt8]] = [:]
  public var identity: IdentityMode?
  public var deviceFields: [String]?

  public init() {}

  public init(from decoder: any Decoder) throws {
    let body = try decoder.container(keyedBy: CodingKeys.self)
    for field in CredentialField.all {
      credentials[field] = try body.decodeIfPresent(String.self, forKey: CodingKeys(field.name)).map { Array($0.utf8) }
    }
    identity = try body.decodeIfPresent(IdentityMode.self, forKey: .identity)
    deviceFields = try body.decodeIfPresent([String].self, forKey: .deviceFields)
  }

  public func encode(to encoder: any Encoder) throws {
    var body = encoder.container(keyedBy: CodingKeys.self)
    for field in CredentialField.all {
      let text = credentials[field].map { String(decoding: $0, as: UTF8.self) }
      try body.encodeIfPresent(text, forKey: CodingKeys(field.name))
    }
    try body.encodeIfPresent(identity, forKey: .identity)
    try body.encodeIfPresent(deviceFields, forKey: .deviceFields)
  }

  /// Those of the services' fields, and the two rules.
  public struct CodingKeys: CodingKey, CaseIterable, Equatable {
    public let stringValue: String
    public var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    public init?(stringValue: String) { self.init(stringValue) }
    public init?(intValue: Int) { nil }

    static let identity = Self("identity")
    static let deviceFields = Self("deviceFields")
    public static let allCases = CredentialField.all.map { Self($0.name) } + [identity, deviceFields]
  }
  public static let schemaName: String? = nil
  public static let schemaDescription = ""
  public static let example = PushAppFields()

  public static let fieldTable: FieldTable = [
    "credentials": .fields(
      CredentialField.all.map {
        $0.fieldDescription.field($0.name, String?.schema, allowsNull: allowsNull, isChange: false)
      }),
    "identity":
      "Whether requests with a device key must carry `X-Pushcart-Identity`, to this and every other app of the customer.",
    "deviceFields":
      FieldDescription(
        """
        What requests with a device key may write: contact fields such as `firstName`, `listId`, `properties`, or one property \
        as in `properties.food`. Other fields are ignored. `["all"]` for no limit.
        """, limits: 0...100),
  ]
}

/// An app on one platform. Its credentials are named, never shown.
public struct PushAppReply: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var appId: String
  public var appType: AppType
  public var kind: PushAppKind
  public var name: String
  public var teamId: String?
  public var keyId: String?
  public var vapidPublicKey: String?
  public var contact: String?
  public var identity: IdentityMode
  public var deviceFields: [String]?
  public var credentials: [Credential]
  public var alarm: Alarm?
  public var sandboxAlarm: Alarm?
  public var lastCheck: LastCheck?
  public var warnings: [String]
  public var createdAt: Timestamp
  public var updatedAt: Timestamp

  public init(
    pushAppId: PushAppID, appId: String, appType: AppType, kind: PushAppKind = .app, name: String,
    teamId: String? = nil, keyId: String? = nil, vapidPublicKey: String? = nil, contact: String? = nil,
    identity: IdentityMode = .off, deviceFields: [String]? = nil,
    credentials: [Credential] = [], alarm: Alarm? = nil, sandboxAlarm: Alarm? = nil,
    lastCheck: LastCheck? = nil, warnings: [String] = [], createdAt: Timestamp,
    updatedAt: Timestamp
  ) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.appType = appType
    self.kind = kind
    self.name = name
    self.teamId = teamId
    self.keyId = keyId
    self.vapidPublicKey = vapidPublicKey
    self.contact = contact
    self.identity = identity
    self.deviceFields = deviceFields
    self.credentials = credentials
    self.alarm = alarm
    self.sandboxAlarm = sandboxAlarm
    self.lastCheck = lastCheck
    self.warnings = warnings
    self.createdAt = createdAt
    self.updatedAt = updatedAt
  }

  public static let schemaName: String? = "PushApp"
  public static let schemaDescription = "An app on one platform."
  public static let example = PushAppReply(
    pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, name: "Acme", teamId: "A1B2C3D4E5",
    keyId: "F6G7H8J9K0", credentials: [.example], createdAt: .example, updatedAt: .example)
  /// An app without credentials.
  public static let added = BodyForm(
    schemaName, schemaDescription,
    example: PushAppReply(
      pushAppId: PushAppID(1), appId: "com.acme.app", appType: .ios, name: "Acme",
      warnings: ["There is no signingKey, so nothing can be sent to this app yet."], createdAt: .example,
      updatedAt: .example))

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app's number in this API.",
    "appId": "Bundle id or package name, as apps send it in Carma's paths.",
    "appType": "Platform: \(AppType.list).",
    "kind": "`app`, `softphone`, or `pushkit` for the PushKit AppId of a softphone, which takes calls alone.",
    "name": "A name for people.",
    "teamId": "Apple's Team Id. iOS only.",
    "keyId": "Apple's Key Id of the signing key. iOS only.",
    "vapidPublicKey": "The key that pages give to `subscribe` as `applicationServerKey`. Web only.",
    "contact": "Whom push services can contact about the app. Web only.",
    "identity":
      "Whether requests with a device key must carry `X-Pushcart-Identity`, to this and every other app of the customer.",
    "deviceFields": "What requests with a device key may write. Absent for everything.",
    "credentials": "The stored credentials, without their secrets.",
    "alarm":
      "Why the app needs attention, such as refused credentials or a certificate that expires within 30 days. Absent if all is well.",
    "sandboxAlarm": "The same of the push service's sandbox. iOS only. Absent if all is well there.",
    "lastCheck": "What the push service said of the credentials when it was last asked. Absent if it never was.",
    "warnings": "What looks odd but may be right, a sentence each.",
    "createdAt": "When the app was added.",
    "updatedAt": "When the app or one of its credentials last changed.",
  ]

  /// A credential that is stored for the app.
  public struct Credential: APIObject, Equatable {
    public var kind: PushCredentialKind
    public var account: String?
    public var fingerprint: String
    public var notAfter: Timestamp?
    public var updatedAt: Timestamp

    public init(
      kind: PushCredentialKind, account: String? = nil, fingerprint: String, notAfter: Timestamp? = nil,
      updatedAt: Timestamp
    ) {
      self.kind = kind
      self.account = account
      self.fingerprint = fingerprint
      self.notAfter = notAfter
      self.updatedAt = updatedAt
    }

    public static let schemaName: String? = "PushCredential"
    public static let schemaDescription = "A stored credential, without its secret."
    public static let example = Credential(
      kind: .apnsSigningKey, fingerprint: "3f0b9c1d2e4a5867", updatedAt: .example)

    public static let fieldTable: FieldTable = [
      "kind": "What the credential is.",
      "account": "Who signs in with it; of a VAPID key, its public key. Absent where `teamId` and `keyId` say so.",
      "fingerprint":
        "The first 16 hex digits of the SHA-256 of the public key, or of client id and secret, to tell two apart.",
      "notAfter": "When a certificate expires. Absent for keys.",
      "updatedAt": "When the credential was stored.",
    ]
  }

  /// What the push service said of the stored credentials when it was last asked.
  public struct LastCheck: APIObject, Equatable {
    public var at: Timestamp
    public var checks: [PushAppCheckReply.Check]

    public init(at: Timestamp, checks: [PushAppCheckReply.Check]) {
      self.at = at
      self.checks = checks
    }

    public static let schemaName: String? = "PushAppLastCheck"
    public static let schemaDescription = "What the push service said of the credentials when it was last asked."
    public static let example = LastCheck(at: .example, checks: [.example])

    public static let fieldTable: FieldTable = [
      "at": "When it was asked.", "checks": "One check for each environment.",
    ]
  }

  /// Why an app needs attention.
  public struct Alarm: APIObject, Equatable {
    public var reason: String
    public var since: Timestamp

    public init(reason: String, since: Timestamp) {
      self.reason = reason
      self.since = since
    }

    public static let schemaName: String? = "PushAppAlarm"
    public static let schemaDescription = "Why an app needs attention."
    public static let example = Alarm(reason: "InvalidProviderToken", since: .example)

    public static let fieldTable: FieldTable = [
      "reason": "The push service's reason.",
      "since": "When the alarm was raised.",
    ]
  }
}

/// A push service's answer about an app's credentials. Nothing is sent to a phone for it.
public struct PushAppCheckReply: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var appId: String
  public var checks: [Check]

  public init(pushAppId: PushAppID, appId: String, checks: [Check]) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.checks = checks
  }

  public static let schemaName: String? = "PushAppCheck"
  public static let schemaDescription = "A push service's answer about an app's credentials."
  public static let example = PushAppCheckReply(
    pushAppId: PushAppID(1), appId: "com.acme.app",
    checks: [
      Check(environment: .production, verdict: .accepted),
      Check(environment: .sandbox, verdict: .refused, reason: "BadEnvironmentKeyInToken"),
    ])

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app's number.",
    "appId": "The app's bundle id.",
    "checks": "One check for each environment.",
  ]

  /// One environment's answer.
  public struct Check: APIObject, Equatable {
    public enum Environment: String, Codable, Sendable, CaseIterable, SchemaProviding { case production, sandbox }
    public enum Verdict: String, Codable, Sendable, CaseIterable, SchemaProviding {
      case accepted, refused, unasked, unreachable
    }

    public var environment: Environment
    public var verdict: Verdict
    public var reason: String?
    public var advice: String?

    public init(environment: Environment, verdict: Verdict, reason: String? = nil, advice: String? = nil) {
      self.environment = environment
      self.verdict = verdict
      self.reason = reason
      self.advice = advice
    }

    public static let schemaName: String? = "EnvironmentCheck"
    public static let schemaDescription = "One environment's answer about an app's credentials."
    public static let example = Check(environment: .production, verdict: .accepted)

    public static let fieldTable: FieldTable = [
      "environment": "The environment that was asked.",
      "verdict": "Whether the credentials were accepted. `unasked` if no service tells that without a push.",
      "reason": "The push service's reason, or why it was not asked or could not be reached. Absent if accepted.",
      "advice": "What to do about a refusal, if that is known.",
    ]
  }
}

/// Whether an app asks requests with a device key for `X-Pushcart-Identity`.
public enum IdentityMode: String, Codable, Sendable, CaseIterable, SchemaProviding {
  /// Anyone who has the device key may register and invalidate for any contact.
  case off
  /// The customer's back end has to vouch for the contact.
  case required
}

/// A new identity secret of an app. It is shown only here.
public struct AppIdentityReply: APIObject, Equatable {
  public var pushAppId: PushAppID
  public var appId: String
  public var identitySecret: String
  public var previousAccepted: Bool

  public init(pushAppId: PushAppID, appId: String, identitySecret: String, previousAccepted: Bool) {
    self.pushAppId = pushAppId
    self.appId = appId
    self.identitySecret = identitySecret
    self.previousAccepted = previousAccepted
  }

  public static let schemaName: String? = "AppIdentity"
  public static let schemaDescription = "A new identity secret of an app."
  public static let example = AppIdentityReply(
    pushAppId: PushAppID(1), appId: "com.acme.app",
    identitySecret: "pis_Vt0c2nUe0nEJzN0bXwKpQy8sR4LmZ7aHd3fGjK5oTiU", previousAccepted: false)

  public static let fieldTable: FieldTable = [
    "pushAppId": "The app's number in this API.",
    "appId": "Bundle id or package name.",
    "identitySecret": "The key of the HMAC, as it stands. It is shown only once.",
    "previousAccepted": "Whether identities of the secret before it are accepted for another 30 days.",
  ]
}
