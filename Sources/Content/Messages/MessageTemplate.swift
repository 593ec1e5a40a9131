public import Wire

/// A sendout's message made ready once, to be rendered for each recipient.
///
/// Its payload is APNs' (Apple, "Generating a remote notification") with the guide's fields ("Handling Push Notifications").
/// Texts are plain text: nothing is escaped but what JSON needs.
public struct MessageTemplate: Sendable {
  /// Most bytes APNs takes in a payload.
  public static let payloadLimit = 4096
  /// Names that a further field cannot have, since the hub writes them itself or has a field of its own for them.
  public static let reservedFields: Set<String> = [
    "aps", "alert", "info", "url", "pushreadurl", "badge", "sound", "category", "source",
  ]

  let alert: TextTemplate?
  let info: TextTemplate?
  let badge: BadgeTemplate?
  let sound: TextTemplate?
  let category: TextTemplate?
  /// By name; each name also as JSON.
  let fields: [(name: String, json: [UInt8], value: FieldTemplate)]
  /// Whether there is a template in them.
  private let hasRenderedFields: Bool

  /// Whether what it says depends on the recipient, the links apart. If not, `payload` never looks at contact or device.
  public let isPersonal: Bool
  /// Whether it may name a contact's property, so that properties have to be fetched.
  public let namesProperties: Bool
  /// Whether a text of it names `url` or `pushreadurl`.
  public let namesLinks: Bool

  /// - Throws: `ContentError.invalid` and `.unparsable` with fields such as `message.alert` and `message.fields.source`.
  public init(_ message: MessageBody) throws(ContentError) {
    func text(_ text: String?, _ field: String) throws(ContentError) -> TextTemplate? {
      guard let text, !text.isEmpty else { return nil }
      return try TextTemplate(text, field: "message.\(field)")
    }
    alert = try text(message.alert, "alert")
    info = try text(message.info, "info")
    badge = try message.badge.map { badge throws(ContentError) in try BadgeTemplate(badge, field: "message.badge") }
    sound = try text(message.sound, "sound")
    category = try text(message.category, "category")
    fields = try Self.fields(message.fields ?? [:])
    guard alert != nil || info == nil else { throw .invalid(field: "message.alert", problem: "is missing beside info") }
    guard alert != nil || badge != nil || sound != nil else {
      throw .invalid(field: "message.alert", problem: "is missing: a message has an alert, a badge or a sound")
    }
    let fieldTexts = fields.flatMap(\.value.texts)
    hasRenderedFields = !fieldTexts.isEmpty
    var texts = [alert, info, sound, category].compactMap(\.self) + fieldTexts
    if case .text(let text) = badge { texts.append(text) }
    isPersonal = texts.contains(where: \.isPersonal)
    namesProperties = texts.contains(where: \.namesProperties)
    namesLinks = texts.contains(where: \.namesLinks)
    let size = payload(for: PageContext()).count
    guard size <= Self.payloadLimit else {
      throw .invalid(
        field: "message",
        problem: "makes \(size) bytes before any variable or link is filled in; APNs takes \(Self.payloadLimit)")
    }
  }

  private static func fields(
    _ fields: [String: JSONValue]
  ) throws(ContentError) -> [(name: String, json: [UInt8], value: FieldTemplate)] {
    var templates: [(name: String, json: [UInt8], value: FieldTemplate)] = []
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      let field = "message.fields.\(name.prefix(100))"
      guard !reservedFields.contains(name) else { throw .invalid(field: field, problem: "has a name that is taken") }
      guard (1...100).contains(name.unicodeScalars.count), !name.utf8.contains(where: { $0 < 0x20 }) else {
        throw .invalid(field: field, problem: "has a name that is not of 1 to 100 printable characters")
      }
      templates.append((name, JSONText.quoted(name), try FieldTemplate(value, field: field)))
    }
    return templates
  }

  /// The alert as this recipient gets it; `nil` when the message has none.
  public func alert(for context: PageContext) -> String? { alert?.render(context) }

  /// The info as this recipient gets it; `nil` when the message has none.
  public func info(for context: PageContext) -> String? { info?.render(context) }

  /// Puts into the context what this message says to its recipient, for the page behind it: `{{sendout.alert}}`,
  /// `{{sendout.info}}` and `{{sendout.fields.…}}`.
  public func fill(_ context: inout PageContext) {
    let (alert, info) = (alert(for: context), info(for: context))
    if hasRenderedFields {
      context.sendout.fields = Dictionary(fields.map { ($0.name, $0.value.value(context)) }) { first, _ in first }
    }
    context.sendout.alert = alert
    context.sendout.info = info
  }
}
