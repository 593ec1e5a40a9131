/// What a push says (Carma iOS Integration Guide, "Handling Push Notifications"). Every text is a Mustache template over
/// the contact's, the device's and the sendout's fields.
public struct MessageBody: APIRequest, Hashable {
  public var alert: String?
  public var info: String?
  public var badge: Badge?
  public var sound: String?
  public var category: String?
  public var pushType: PushType?
  public var fields: [String: JSONValue]?

  public init(
    alert: String? = nil, info: String? = nil, badge: Badge? = nil, sound: String? = nil, category: String? = nil,
    pushType: PushType? = nil, fields: [String: JSONValue]? = nil
  ) {
    self.alert = alert
    self.info = info
    self.badge = badge
    self.sound = sound
    self.category = category
    self.pushType = pushType
    self.fields = fields
  }

  public enum CodingKeys: String, CodingKey, CaseIterable { case alert, info, badge, sound, category, pushType, fields }
  public static let schemaName: String? = "Message"
  public static let schemaDescription =
    "What a push says. Every text is a Mustache template. The payload may have 4096 bytes, of pushType voip 5120."
  public static let example = MessageBody(
    alert: "Hi {{firstName}}", info: "20 % off today", badge: 1, fields: ["campaign": "friday"])

  public static func describe(_ field: CodingKeys) -> FieldDescription {
    switch field {
    case .alert: "The line next to the app's icon."
    case .info: "The line below it."
    case .badge: "The number on the app's icon, or a template for it. 0 removes the number."
    case .sound: "The name of the sound."
    case .category: "Which actions the notification offers."
    case .pushType:
      """
      The kind of push, for APNs; other services ignore it. The default is `alert`, or `background` if nothing is shown or \
      heard. `background` allows no alert, badge or sound. An app with certificates alone cannot send `liveactivity` and \
      `location`.
      """
    case .fields: "Further fields for the app. The hub's own fields cannot be replaced."
    }
  }
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
