/// What a push says, and how it travels (Carma iOS Integration Guide, "Handling Push Notifications"). Every text is a Mustache
/// template over the contact's, the device's and the sendout's fields, unless `verbatim` is true.
///
/// A field is a stored property and a line of `allFields`. Callers set what the initializer does not take.
public struct MessageBody: APIRequest, Hashable {
  public var verbatim: Bool?
  public var alert: String?
  public var info: String?
  public var badge: Badge?
  public var sound: String?
  public var category: String?
  public var image: String?
  public var url: String?
  public var ttl: Int?
  public var priority: MessagePriority?
  public var collapseKey: String?
  public var threadId: String?
  public var silent: Bool?
  public var pushType: PushType?
  public var fields: [UTF8String: JSONValue]?
  public var optionalFields: [String]?
  public var trackOpens: Bool?
  public var overrides: MessageOverrides?
  public var translations: [UTF8String: MessageTranslation]?

  /// Longest time to live in seconds: four weeks, the most that push services take.
  public static let maximumTTL = 2_419_200

  public init(
    verbatim: Bool? = nil, alert: String? = nil, info: String? = nil, badge: Badge? = nil, sound: String? = nil,
    category: String? = nil,
    image: String? = nil, url: String? = nil, ttl: Int? = nil, priority: MessagePriority? = nil,
    collapseKey: String? = nil, threadId: String? = nil, silent: Bool? = nil, pushType: PushType? = nil,
    fields: [UTF8String: JSONValue]? = nil, optionalFields: [String]? = nil, trackOpens: Bool? = nil,
    overrides: MessageOverrides? = nil, translations: [UTF8String: MessageTranslation]? = nil
  ) {
    self.verbatim = verbatim
    self.alert = alert
    self.info = info
    self.badge = badge
    self.sound = sound
    self.category = category
    self.image = image
    self.url = url
    self.ttl = ttl
    self.priority = priority
    self.collapseKey = collapseKey
    self.threadId = threadId
    self.silent = silent
    self.pushType = pushType
    self.fields = fields
    self.optionalFields = optionalFields
    self.trackOpens = trackOpens
    self.overrides = overrides
    self.translations = translations
  }

  public static let schemaName: String? = "Message"
  public static let schemaDescription =
    """
    What a push says, and how it travels. Every text is a Mustache template, unless `verbatim` is true. The payload may have 4096 bytes, of pushType voip \
    5120. One that is larger for a recipient loses the info, then the end of the alert, then its `optionalFields`. If that is \
    not enough, it is refused. The ledger's reason says which.
    """
  public static let example = MessageBody(
    alert: "Hi {{firstName}}", info: "20 % off today", badge: 1, fields: ["campaign": "friday"])

  public static let fieldTable = FieldTable(allFields.map { ($0.name, $0.description) })

  /// All fields, in the order of the command line's help. The API has them in the order of the stored properties.
  public static let allFields: [MessageField] = [
    MessageField(
      "alert", .source({ $0.alert }), "The line next to the app's icon.", help: "The line next to the icon."),
    MessageField("info", .source({ $0.info }), "The line below it.", help: "The line under it."),
    MessageField(
      "badge", .badge({ $0.badge }), "The number on the app's icon, or a template for it. 0 removes the number.",
      help: "Number on the app's icon, or a template that gives one; 0 removes it."),
    MessageField(
      "sound", .text({ $0.sound }, rendered: \.sound, services: .ofApps),
      "The name of the sound.",
      help: "Name of the sound."),
    MessageField(
      "category", .text({ $0.category }, rendered: \.category, services: .ofApps),
      "Which actions the notification offers."),
    MessageField(
      "pushType", .pushType({ $0.pushType }),
      """
      The kind of push at APNs. Of other services WNS alone heeds it: `background` is a raw notification. The default is \
      `alert`, or `background` if nothing is shown or heard. `background` allows no alert, badge or sound. An app with \
      certificates alone cannot send `liveactivity` and `location`.
      """,
      help: "Kind of push at Apple's push service. (default: alert, or background if nothing is shown or heard)"),
    MessageField(
      "image", .source({ $0.image }),
      "The address of a picture to show, by https. On iOS the app's service extension has to load it.",
      help: "Address of a picture to show, by https."),
    MessageField(
      "url", .source({ $0.url }),
      "Where a tap leads, if there is no template: a link of your own in place of the rich page.",
      help: "Where a tap leads, if there is no template."),
    MessageField(
      "ttl", .seconds({ $0.ttl }), limits: 0...Int64(maximumTTL),
      """
      Seconds after which the message is not sent any more, counted from the moment when it is due, or its sendout is started. \
      With 0 it is sent once, and a push service that cannot deliver it at once drops it. If absent, the service's own default \
      holds: \(PushService.all.compactMap(\.usualLifetime).asList()).
      """,
      help: "Seconds after which it is not sent any more, counted from when it is due or started."),
    MessageField(
      "priority", .priority({ $0.priority }), "`high` if absent, or `normal` for a silent message.",
      help: "high or normal. (default: high)"),
    MessageField(
      "collapseKey", .source({ $0.collapseKey }), limits: 1...200,
      """
      A later message with the same key replaces this one on the screen. A key of more than 64 bytes, or with other than \
      visible ASCII, is sent as its hash. Without one, most push services keep each message for a phone that is away.
      """,
      help: "A later message with the same key replaces this one on the screen."),
    MessageField(
      "threadId", .text({ $0.threadId }, rendered: \.threadID, services: [.apns, .fcm, .hms, .wns]), limits: 1...200,
      "Messages with the same name are shown as a group. Android has none.",
      help: "Messages with the same name are shown as a group."),
    MessageField(
      "silent", .flag({ $0.silent }, option: true),
      """
      Whether nothing is shown and the app alone gets the message, its alert too. It has no badge and no sound. Browsers have to \
      show it.
      """,
      help: "Show nothing: the app alone gets it."),
    MessageField(
      "verbatim", .flag({ $0.verbatim }, option: true),
      """
      Whether texts are sent as they are, `{{` too. False if absent: they are templates. Neither contact nor device is read for \
      a verbatim message.
      """,
      help: "Send texts as they are: they are no templates."),
    MessageField(
      "trackOpens", .flag({ $0.trackOpens }, option: false),
      """
      Whether each push has a `pushreadurl` that counts its open. True if absent. Pushes without one that say the same share \
      requests to a push service that takes several devices in one.
      """,
      option: "noTracking", help: "Count no opens: pushes have no pushreadurl."),
    MessageField(
      "overrides", .overrides({ $0.overrides }),
      "What a push service gets beside or in place of what the hub makes of the message."
    ),
    MessageField(
      "fields", .members({ $0.fields }), "Further fields for the app. The hub's own fields cannot be replaced."),
    MessageField(
      "optionalFields", .names({ $0.optionalFields }), limits: 0...100,
      "Names of `fields` that are left out where the message is too large otherwise."),
    MessageField(
      "translations", .translations({ $0.translations }),
      """
      What it says in other languages, by their tags, such as `sv` and `pt-BR`; \(MessageTranslation.maximumCount) at most. Each \
      contact gets that of its language, else that of its newest valid device: `sv-FI`, then `sv`, then the message itself.
      """),
  ]
}

/// Changes for one push service each, merged into its request last (RFC 7396: null removes). Texts in them are templates.
public struct MessageOverrides: APIRequest, Hashable {
  public var apns: APNsOverride?
  /// Of services whose override is any members of their message, as `PushService.overriddenMembers` describes them.
  public var members: [PushServiceName: [UTF8String: JSONValue]]
  public var wns: WNSOverride?
  public var webpush: WebPushOverride?
  public var sms: SMSOverride?

  public init(
    apns: APNsOverride? = nil, members: [PushServiceName: [UTF8String: JSONValue]] = [:], wns: WNSOverride? = nil,
    webpush: WebPushOverride? = nil, sms: SMSOverride? = nil
  ) {
    self.apns = apns
    self.members = members
    self.wns = wns
    self.webpush = webpush
    self.sms = sms
  }

  public init(from decoder: any Decoder) throws {
    let services = try decoder.container(keyedBy: NamedKey.self)
    func change<Change: Decodable>(of service: PushServiceName) throws -> Change? {
      try services.decodeIfPresent(Change.self, forKey: NamedKey(service.rawValue))
    }
    self.init(
      apns: try change(of: .apns), wns: try change(of: .wns), webpush: try change(of: .webpush),
      sms: try change(of: .sms))
    for service in Self.withMembers { members[service.name] = try change(of: service.name) }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(value)
  }

  /// The services whose overrides are in `members`.
  private static let withMembers = PushService.all.filter { $0.overriddenMembers != nil }

  /// Largest overrides of a message, in bytes of JSON.
  public static let sizeLimit = 8192

  /// These overrides as JSON.
  public var value: JSONValue {
    func object(_ members: [UTF8String: JSONValue?]) -> JSONValue { .object(members.compactMapValues(\.self)) }
    var services: [UTF8String: JSONValue?] = [
      "apns": apns.map {
        object(["headers": $0.headers.map(JSONValue.object), "payload": $0.payload.map(JSONValue.object)])
      },
      "wns": wns.map { object(["headers": $0.headers.map(JSONValue.object), "type": $0.type.map(JSONValue.string)]) },
      "webpush": webpush.map { object(["headers": $0.headers.map(JSONValue.object)]) },
      "sms": sms.map {
        object([
          "from": $0.from.map(JSONValue.string), "text": $0.text.map(JSONValue.string),
          "coding": $0.coding.map { .string($0.rawValue) },
          "maximumParts": $0.maximumParts.map { .integer(Int64($0)) },
        ])
      },
    ]
    for (service, members) in members { services[UTF8String(service.rawValue)] = JSONValue.object(members) }
    return object(services)
  }

  public static let schemaName: String? = "MessageOverrides"
  public static let schemaDescription =
    """
    Changes for one push service each; the others' requests stay as they are. They are merged last, member by member, and null \
    removes a member (RFC 7396). Texts are templates. All of them together may have \(sizeLimit) bytes.
    """
  public static let example = MessageOverrides(
    apns: .example, members: [.fcm: ["android": ["notification": ["channel_id": "offers"]]]])

  public static let fieldTable: FieldTable = [
    "apns": "Headers and payload at APNs.",
    "members": .fields(
      withMembers.map { service in
        FieldDescription(service.overriddenMembers ?? "").field(
          service.name.rawValue, Optional<[UTF8String: JSONValue]>.schema, allowsNull: allowsNull, isChange: false)
      }),
    "wns": "Headers and the kind of notification at WNS.",
    "webpush": "Headers of Web Push.",
    "sms": "Sender, text and length of SMS.",
  ]
}

/// What a message is as an SMS.
public struct SMSOverride: APIRequest, Hashable {
  public var from: String?
  public var text: String?
  public var coding: SMSCoding?
  public var maximumParts: Int?

  public init(from: String? = nil, text: String? = nil, coding: SMSCoding? = nil, maximumParts: Int? = nil) {
    self.from = from
    self.text = text
    self.coding = coding
    self.maximumParts = maximumParts
  }

  public static let schemaName: String? = "SMSOverride"
  public static let schemaDescription = "What a message is as an SMS."
  public static let example = SMSOverride(from: "Acme", text: "Hi {{firstName}}, 20 % off today: acme.example/friday")

  public static let fieldTable: FieldTable = [
    "from":
      FieldDescription(
        "The sender: \(SMSAccount.senderForm). The provider's own sender if absent.",
        limits: 1...200),
    "text": "The text in place of the alert.",
    "coding":
      "`auto` for GSM-7 where the text has only its characters, and UCS-2 else, which is the default; or `gsm7` or `ucs2`.",
    "maximumParts": FieldDescription("The most SMS that the text takes; it is cut there. 8 if absent.", limits: 1...8),
  ]
}

public struct APNsOverride: APIRequest, Hashable {
  public var headers: [UTF8String: JSONValue]?
  public var payload: [UTF8String: JSONValue]?

  public init(headers: [UTF8String: JSONValue]? = nil, payload: [UTF8String: JSONValue]? = nil) {
    self.headers = headers
    self.payload = payload
  }

  public static let schemaName: String? = "APNsOverride"
  public static let schemaDescription = "Changes for APNs."
  public static let example = APNsOverride(
    headers: ["apns-priority": "5"], payload: ["aps": ["interruption-level": "time-sensitive"]])

  public static let fieldTable: FieldTable = [
    "headers":
      """
    Texts for `apns-topic`, `apns-push-type`, `apns-priority`, `apns-expiration` and `apns-collapse-id`. Null removes the last \
    two.
    """,
    "payload": "Members of the payload, `aps` among them.",
  ]
}

public struct WNSOverride: APIRequest, Hashable {
  public var headers: [UTF8String: JSONValue]?
  public var type: String?

  public init(headers: [UTF8String: JSONValue]? = nil, type: String? = nil) {
    self.headers = headers
    self.type = type
  }

  public static let schemaName: String? = "WNSOverride"
  public static let schemaDescription = "Changes for WNS."
  public static let example = WNSOverride(headers: ["X-WNS-Cache-Policy": "no-cache"], type: "wns/toast")

  public static let fieldTable: FieldTable = [
    "headers":
      "Texts for `X-WNS-Cache-Policy`, `X-WNS-TTL`, `X-WNS-RequestForStatus`, `X-WNS-Tag`, `X-WNS-Group` and `MS-CV`.",
    "type": "`wns/toast`, `wns/badge`, `wns/tile` or `wns/raw`.",
  ]
}

public struct WebPushOverride: APIRequest, Hashable {
  public var headers: [UTF8String: JSONValue]?

  public init(headers: [UTF8String: JSONValue]? = nil) { self.headers = headers }

  public static let schemaName: String? = "WebPushOverride"
  public static let schemaDescription = "Changes for Web Push."
  public static let example = WebPushOverride(headers: ["Urgency": "low"])

  public static let fieldTable: FieldTable = [
    "headers": "Texts for `TTL`, `Urgency` and `Topic`. Null removes the last two."
  ]
}

/// How urgently a push service delivers a message.
public enum MessagePriority: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  /// At once, even to a phone that sleeps.
  case high
  /// When it suits the phone's battery.
  case normal
}

/// The kind of a push at APNs, its header `apns-push-type` (Apple, "Sending notification requests to APNs").
public enum PushType: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case alert, background, voip, complication, fileprovider, mdm, liveactivity, location, pushtotalk
}

/// The number on an app's icon: the same for all, or a Mustache template that gives each recipient a number.
public enum Badge: Sendable, Hashable {
  case number(Int)
  case template(String)
}

extension Badge: Codable, SchemaProviding {
  public static var schema: Schema { Schema(.either([.integer(0...Int64(Int32.max)), .string()])) }

  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let number = try? container.decode(Int.self) {
      self = .number(number)
    } else {
      self = .template(try container.decode(String.self))
    }
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .number(let number): try container.encode(number)
    case .template(let text): try container.encode(text)
    }
  }
}

extension Badge: ExpressibleByIntegerLiteral, ExpressibleByStringLiteral {
  public init(integerLiteral value: Int) { self = .number(value) }
  public init(stringLiteral value: String) { self = .template(value) }
}
