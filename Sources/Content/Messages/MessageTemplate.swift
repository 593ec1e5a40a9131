public import Wire

/// A sendout's message, compiled once and rendered for each recipient.
///
/// Its payload is APNs' (Apple, "Generating a remote notification") with the guide's fields ("Handling Push Notifications").
/// Texts are plain text: nothing is escaped but what JSON needs.
public struct MessageTemplate: Sendable {
  /// Most bytes APNs takes in a payload.
  public static let payloadLimit = 4096
  /// Names that a further field cannot have, since the message has a field of its own for them or the hub writes them.
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
  /// Whether one of them has a tag.
  private let hasRenderedFields: Bool

  /// Whether its texts may differ between recipients, links apart. If not, `payload` reads neither contact nor device.
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
    var texts = [alert, info, sound, category].compactMap { $0?.template } + fieldTexts.map(\.template)
    if case .text(let text) = badge { texts.append(text.template) }
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
  public func alert(for context: PageContext) -> String? {
    var budget = RenderBudget()
    return alert?.render(context, within: &budget)
  }

  /// Sets what the page behind this message can name: `{{sendout.alert}}`, `{{sendout.info}}` and `{{sendout.fields.…}}` as
  /// this recipient got them.
  public func fill(_ context: inout PageContext) {
    var budget = RenderBudget()
    let alert = alert?.render(context, within: &budget)
    let info = info?.render(context, within: &budget)
    if hasRenderedFields {
      context.sendout.fields = Dictionary(
        fields.map { ($0.name, $0.value.value(context, within: &budget)) }, uniquingKeysWith: { first, _ in first })
    }
    context.sendout.alert = alert
    context.sendout.info = info
  }
}

extension MessageTemplate {
  /// The payload for one recipient, as JSON. Its members are always in this order: `aps`, `source`, `url`,
  /// `pushreadurl`, `alert`, `info`, then the further fields by name. Links are included when the context has them.
  ///
  /// With an info, `aps.alert` is `{"title": alert, "body": info}`; without one, or with an empty one, it is the alert alone. A
  /// badge that is no number, an empty sound and an empty category are left out.
  public func payload(for context: PageContext) -> [UInt8] {
    // One for all texts: each could use up one of its own.
    var budget = RenderBudget()
    let alert = alert?.json(context, within: &budget)
    let info = (info?.json(context, within: &budget)).flatMap { $0.isEmptyJSON ? nil : $0 }
    var payload: [UInt8] = []
    payload.reserveCapacity(1024)
    payload.append(contentsOf: "{\"aps\":{".utf8)
    appendAlert(alert, info, to: &payload)
    if let badge = badge?.digits(context, within: &budget) { payload.appendMember("badge", badge) }
    if let sound = sound?.json(context, within: &budget), !sound.isEmptyJSON { payload.appendMember("sound", sound) }
    if let category = category?.json(context, within: &budget), !category.isEmptyJSON {
      payload.appendMember("category", category)
    }
    payload.append(contentsOf: "},\"source\":\"carma\"".utf8)
    if let url = context.url { payload.appendMember("url", JSONText.quoted(url)) }
    if let read = context.pushreadurl { payload.appendMember("pushreadurl", JSONText.quoted(read)) }
    if let alert { payload.appendMember("alert", alert) }
    if let info { payload.appendMember("info", info) }
    for field in fields {
      payload.append(UInt8(ascii: ","))
      payload.append(contentsOf: field.json)
      payload.append(UInt8(ascii: ":"))
      field.value.append(context, within: &budget, to: &payload)
    }
    payload.append(UInt8(ascii: "}"))
    return payload
  }

  private func appendAlert(_ alert: [UInt8]?, _ info: [UInt8]?, to payload: inout [UInt8]) {
    guard let alert else { return }
    guard let info else { return payload.appendMember("alert", alert) }
    payload.append(contentsOf: "\"alert\":{\"title\":".utf8)
    payload.append(contentsOf: alert)
    payload.appendMember("body", info)
    payload.append(UInt8(ascii: "}"))
  }
}

extension [UInt8] {
  /// Whether a JSON string has nothing between its quotation marks.
  fileprivate var isEmptyJSON: Bool { count <= 2 }

  /// Appends `"name":value`, after a comma unless it is the first member.
  fileprivate mutating func appendMember(_ name: StaticString, _ value: [UInt8]) {
    if last != UInt8(ascii: "{") { append(UInt8(ascii: ",")) }
    append(UInt8(ascii: "\""))
    name.withUTF8Buffer { append(contentsOf: $0) }
    append(contentsOf: "\":".utf8)
    append(contentsOf: value)
  }
}
