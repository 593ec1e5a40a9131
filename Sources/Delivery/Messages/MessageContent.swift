public import Content
public import FoundationEssentials
import Postgres
import Registry
public import Wire

/// What a push says, and how it travels: the same for all of a broadcast, and its own for a single message.
public struct MessageContent: Sendable {
  public private(set) var template: MessageTemplate
  /// For `{{sendout.name}}` and so on.
  public private(set) var sendout: SendoutFields
  /// Whether there is a rich page, and so a `url`.
  public let hasPage: Bool
  /// What it is for, which suppressions go by.
  public var purpose: MessagePurpose
  /// What texts can name before the contact's own properties: a JSON object.
  public var properties: String?
  /// After this moment it is not sent any more.
  public var expiresAt: Date?
  /// The fields in which a push of a tracked message carries its `UpdateID`.
  public var idFields: [String] = []

  /// What `expiresAt` is once a message was withdrawn.
  private static let withdrawnAt = Date(timeIntervalSince1970: 0)

  /// Why a push is not sent whose message has expired.
  /// - Parameter moment: of the expiry; nil for a message that was to leave once.
  static func reason(expiredAt moment: Date?) -> String { .hub(moment == withdrawnAt ? .withdrawn : .expired) }

  public init(
    template: MessageTemplate, sendout: SendoutFields, hasPage: Bool, purpose: MessagePurpose = .transactional
  ) {
    self.template = template
    self.sendout = sendout
    self.hasPage = hasPage
    self.purpose = purpose
  }

  /// What somebody gets who speaks a language, as contacts and devices say it of themselves.
  package func inLanguage(_ language: String?) -> MessageContent {
    let translated = template.inLanguage(language)
    guard translated !== template else { return self }
    var content = self
    content.template = translated
    if !translated.givenFields.isEmpty { content.sendout.fields = translated.givenFields }
    return content
  }

  /// What has to be read of recipients for it.
  var recipientFields: RecipientFields {
    let named = RecipientFields(named: template.recipientFields)
    return template.isTranslated ? named.union(.spokenLanguage) : named
  }

  /// When a message that is due at `moment` is not sent any more; nil for never. With a time to live of 0 it is sent once, whenever its
  /// turn comes.
  public static func expiry(of ttl: Int?, from moment: Date) -> Date? {
    ttl.flatMap { $0 > 0 ? moment.addingTimeInterval(Double($0)) : nil }
  }
}

/// What the messages of a stream have in common.
public struct StreamTraits: Sendable {
  public let sendout: SendoutID
  public let name: String
  public let hasPage: Bool
  public let purpose: MessagePurpose
  /// Of tracked messages: the fields in which a push carries its `UpdateID`.
  public let idFields: [String]

  public init(sendout: SendoutID, name: String, hasPage: Bool, purpose: MessagePurpose, idFields: [String] = []) {
    self.sendout = sendout
    self.name = name
    self.hasPage = hasPage
    self.purpose = purpose
    self.idFields = idFields
  }

  public func content(_ body: MessageBody, _ template: MessageTemplate) -> MessageContent {
    var content = MessageContent(
      template: template,
      sendout: SendoutFields(id: sendout.rawValue, name: name, fields: body.fields ?? [:]), hasPage: hasPage,
      purpose: purpose)
    content.idFields = idFields
    return content
  }
}

extension MessageContent {
  /// Reads the columns of `MessageQueries.contents`, behind the number.
  init(_ row: Row, _ traits: StreamTraits) throws {
    let (_, body, properties, expiresAt) = try row.decode(Int32.self, JSONDocument.self, JSONDocument?.self, Date?.self)
    let message = try JSONCoding.decode(MessageBody.self, from: body.text.utf8, rules: .own)
    self = traits.content(message, try MessageTemplate(message, mayNamePIN: true))
    self.properties = properties?.text
    self.expiresAt = expiresAt
  }
}
