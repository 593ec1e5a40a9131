/// One of several ways to say something, which a share of the contacts get.
public struct MessageVariant: APIRequest, Hashable {
  public var name: String
  public var share: Int
  public var message: MessageBody
  public var template: String?

  /// How many a sendout has, if any.
  public static let counts: ClosedRange<Int64> = 2...5

  public init(name: String, share: Int, message: MessageBody, template: String? = nil) {
    self.name = name
    self.share = share
    self.message = message
    self.template = template
  }

  public static let schemaName: String? = "MessageVariant"
  public static let schemaDescription = "One of several ways to say something, which a share of the contacts get."
  public static let example = MessageVariant(name: "A", share: 10, message: MessageBody(alert: "20 % off today"))

  public static let fieldTable: FieldTable = [
    "name": FieldDescription("Its name, unlike those of the others.", limits: 1...50),
    "share": FieldDescription(
      "Percent of the contacts left after the holdout that get it. All of a contact's devices get the same.",
      limits: 1...100),
    "message":
      """
    What differs from the sendout's message: its members replace those of the message, and members of objects those of the same name.
    """,
    "template": "The rich page's template in place of the sendout's.",
  ]
}

/// When the rest of the contacts gets the variant that more people opened.
public struct WinnerRule: APIRequest, Hashable {
  public var afterMinutes: Int
  public var undecided: UndecidedPolicy?

  public init(afterMinutes: Int, undecided: UndecidedPolicy? = nil) {
    self.afterMinutes = afterMinutes
    self.undecided = undecided
  }

  public static let schemaName: String? = "WinnerRule"
  public static let schemaDescription =
    """
    The contacts that no variant's share names wait, and get the variant that more people opened. It wins if its open rate differs from that \
    of each other variant by a two-sided test of two proportions, p ≤ 0.05 after Holm's correction.
    """
  public static let example = WinnerRule(afterMinutes: 240, undecided: .best)

  public static let fieldTable: FieldTable = [
    "afterMinutes": FieldDescription(
      "When it is decided, from the first planned moment on. It is decided once.", limits: 1...43_200),
    "undecided":
      """
    What happens if none wins: `best` sends the one with the highest rate, of equals the first; `hold` waits for `POST …/winner`; `stop` sends \
    the rest nothing. `hold` if absent.
    """,
  ]
}

/// What happens to the rest of the contacts if no variant wins.
public enum UndecidedPolicy: String, Codable, Sendable, Hashable, CaseIterable, SchemaProviding {
  case best, hold, stop
}

/// What a message says in another language. Members that are absent are those of the message.
public struct MessageTranslation: APIRequest, Hashable {
  public var alert: String?
  public var info: String?
  public var image: String?
  public var url: String?
  public var sound: String?
  public var category: String?
  public var fields: [UTF8String: JSONValue]?
  public var overrides: MessageOverrides?

  /// Most languages of a message.
  public static let maximumCount = 50

  public init(
    alert: String? = nil, info: String? = nil, image: String? = nil, url: String? = nil, sound: String? = nil,
    category: String? = nil, fields: [UTF8String: JSONValue]? = nil, overrides: MessageOverrides? = nil
  ) {
    self.alert = alert
    self.info = info
    self.image = image
    self.url = url
    self.sound = sound
    self.category = category
    self.fields = fields
    self.overrides = overrides
  }

  public static let schemaName: String? = "MessageTranslation"
  public static let schemaDescription = "What a message says in another language. Absent members are the message's own."
  public static let example = MessageTranslation(alert: "Hej {{firstName}}", info: "20 % rabatt idag")

  public static let fieldTable: FieldTable = [
    "alert": "The line next to the app's icon.",
    "info": "The line below it.",
    "image": "The address of a picture to show, by https.",
    "url": "The address that a tap opens.",
    "sound": "The name of the sound.",
    "category": "Which actions the notification offers.",
    "fields": "Further fields for the app, which replace those of the same name.",
    "overrides": "Changes for one push service each, merged over those of the message.",
  ]
}

extension MessageTranslation {
  /// This translation as JSON.
  var value: JSONValue {
    let texts: [UTF8String: String?] = [
      "alert": alert, "info": info, "image": image, "url": url, "sound": sound, "category": category,
    ]
    var members = texts.compactMapValues { $0.map(JSONValue.string) }
    members["fields"] = fields.map(JSONValue.object)
    members["overrides"] = overrides?.value
    return .object(members)
  }
}

extension MessageBody {
  /// This message with what another says in its place: members replace those of the same name, and objects are merged. Translations into
  /// the same language are, however its tag is written.
  /// - Parameter change: a variant's message, or a `MessageTranslation`.
  /// - Throws: `DecodingError` if the result is no message.
  public func merged(with change: some APIRequest) throws -> MessageBody {
    let change = Self.withUsualTags(try JSONValue(encoding: change))
    return try MessageBody(from: Self.withUsualTags(JSONValue(encoding: self)).overlaid(with: change))
  }

  /// This message as it is said in another language, without translations of its own.
  public func translated(by translation: MessageTranslation) throws -> MessageBody {
    var message = self
    message.translations = nil
    return try message.merged(with: translation)
  }

  private static func withUsualTags(_ message: JSONValue) -> JSONValue {
    guard case .object(var members) = message, case .object(let translations)? = members["translations"] else {
      return message
    }
    let tagged = Dictionary(
      translations.map { name, value in (LanguageTag(spelled: name.text).map { UTF8String($0.text) } ?? name, value) }
    ) { first, _ in first }
    // A language that is there twice stays so, and is refused.
    if tagged.count == translations.count { members["translations"] = .object(tagged) }
    return .object(members)
  }
}

extension LanguageTag {
  /// - Parameter text: a tag in any case, and with underscores, as some phones write it.
  public init?(spelled text: String) { self.init(text.replacing("_", with: "-")) }

  /// The tags to look for, for what a contact or a device says of itself; none for nil and for what is no tag.
  public static func lookup(_ wanted: String?) -> [String] {
    wanted.flatMap(LanguageTag.init(spelled:))?.lookup ?? []
  }

  /// The tags to look for in this order: the tag itself, then without its last part, and so on, as in `zh-Hans-CN`, `zh-Hans`, `zh`.
  /// What is left never ends with a single letter or digit (RFC 4647, section 3.4).
  public var lookup: [String] {
    var parts = text.split(separator: "-")
    var tags: [String] = []
    while !parts.isEmpty {
      tags.append(parts.joined(separator: "-"))
      parts.removeLast()
      while let last = parts.last, last.utf8.count == 1 { parts.removeLast() }
    }
    return tags
  }

  /// The one of some languages that is meant by what a contact or a device says of itself.
  /// - Parameters:
  ///   - wanted: as in `sv-FI` or `sv_SE`, in any case of its letters; nil and what is no tag stand for nothing.
  ///   - languages: tags in their usual case.
  public static func match(_ wanted: String?, among languages: some Sequence<String>) -> String? {
    let known = Set(languages.map { UTF8String($0) })
    return lookup(wanted).first { known.contains(UTF8String($0)) }
  }
}
