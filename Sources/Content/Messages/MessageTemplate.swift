public import Wire

/// A sendout's message, compiled once and rendered for each recipient.
///
/// Its fields are the guide's ("Handling Push Notifications"); each push service's folder gives them its own form. Texts are plain
/// text: nothing is escaped but what JSON needs. Those of a verbatim message are nobody's templates. It is a class,
/// since a message is copied often on its way.
public final class MessageTemplate: Sendable {
  /// Names that a further field cannot have, since the message has a field of its own for them or the hub writes them.
  public static let reservedFields: Set<UTF8String> = [
    "aps", "alert", "info", "url", "pushreadurl", "badge", "sound", "category", "image", "source",
    UTF8String(SMSText.pinField),
  ]

  let alert: TextTemplate?
  let info: TextTemplate?
  let badge: BadgeTemplate?
  /// What push services get as it is rendered, and where it stands then.
  private let texts: [(template: TextTemplate, place: MessageField.RenderedText)]
  let pushType: PushType?
  private let isSilent: Bool
  /// By name; each name also as JSON.
  let fields: [(name: UTF8String, json: [UInt8], value: FieldTemplate)]
  /// Names of fields that are left out where the message is too large otherwise.
  private let optionalFields: Set<UTF8String>
  private let extras: MessageExtras?
  /// Whether one of them has a tag.
  private let hasRenderedFields: Bool
  /// The fields as they were given.
  public let givenFields: [UTF8String: JSONValue]
  /// The same message in other languages, by their tags in the usual case.
  let translations: [UTF8String: MessageTemplate]

  /// Whether its texts may differ between recipients, links apart. If not, `rendered` reads neither contact nor device.
  public let isPersonal: Bool
  /// What its texts may name of the contact and the device, of `PageContext.recipientFields`, in whatever language. Nothing else has to be
  /// read for them.
  public let recipientFields: Set<String>
  /// Whether a text of it names `url`, `pushreadurl` or `unsubscribeUrl`.
  public let namesLinks: Bool
  /// Seconds after which it is not sent any more; nil for never. With 0 it is sent once.
  public let ttl: Int?
  public let priority: MessagePriority
  /// Whether its pushes have a `pushreadurl`.
  public let tracksOpens: Bool
  /// Whether it has a link of its own in place of the rich page, in some language.
  public var hasLink: Bool { extras?.url != nil || translations.values.contains(where: \.hasLink) }
  /// Changes for single push services, as they were given.
  public var overrides: MessageOverrides? { extras?.overrides?.source }

  /// - Parameter mayNamePIN: whether it can have the field `SMSText.pinField`. The hub's own messages alone can: who reads the source of
  ///   somebody's PIN in the database could show the PIN by a message of their own.
  /// - Throws: `ContentError.invalid` and `.unparsable` with fields such as `message.alert`, `message.fields.source` and
  ///   `message.translations.sv.alert`.
  public init(_ message: MessageBody, mayNamePIN: Bool = false) throws(ContentError) {
    let isVerbatim = message.verbatim ?? false
    func text(_ text: String?, _ field: String) throws(ContentError) -> TextTemplate? {
      guard let text, !text.isEmpty else { return nil }
      return try TextTemplate(text, field: "message.\(field)", isVerbatim: isVerbatim)
    }
    alert = try text(message.alert, "alert")
    info = try text(message.info, "info")
    badge = try message.badge.map { badge throws(ContentError) in
      try BadgeTemplate(badge, field: "message.badge", isVerbatim: isVerbatim)
    }
    var rendered: [(template: TextTemplate, place: MessageField.RenderedText)] = []
    for (name, read, place) in MessageBody.renderedTexts {
      if let template = try text(read(message), name) { rendered.append((template, place)) }
    }
    texts = rendered
    pushType = message.pushType
    givenFields = message.fields ?? [:]
    fields = try Self.fields(givenFields, isVerbatim, mayNamePIN)
    optionalFields = try Self.optionalFields(message)
    extras = try MessageExtras(message)
    isSilent = message.silent ?? false
    ttl = message.ttl
    priority = message.priority ?? (isSilent ? .normal : .high)
    tracksOpens = message.trackOpens ?? true
    try Self.check(message, isShown: alert != nil || badge != nil || message.sound?.isEmpty == false)
    translations = try Self.translations(of: message, mayNamePIN)
    let fieldTexts = fields.flatMap(\.value.texts)
    hasRenderedFields = !fieldTexts.isEmpty
    var all = [alert, info].compactMap { $0?.template } + texts.map(\.template.template) + fieldTexts.map(\.template)
    if case .text(let text) = badge { all.append(text.template) }
    if let extras { all += extras.texts.map(\.template) }
    isPersonal = all.contains(where: \.isPersonal)
    let own = all.reduce(into: Set<String>()) { $0.formUnion($1.recipientFields) }
    recipientFields = translations.values.reduce(into: own) { $0.formUnion($1.recipientFields) }
    namesLinks = all.contains(where: \.namesLinks)
  }

  /// Checks what fields mean beside each other.
  private static func check(_ message: MessageBody, isShown: Bool) throws(ContentError) {
    let hasAlert = message.alert?.isEmpty == false
    guard hasAlert || message.info?.isEmpty != false else {
      throw .invalid(field: "message.alert", problem: "is missing beside info")
    }
    if let ttl = message.ttl, !(0...MessageBody.maximumTTL).contains(ttl) {
      throw .invalid(field: "message.ttl", problem: "is not between 0 and \(MessageBody.maximumTTL)")
    }
    if message.silent == true {
      if message.badge != nil || message.sound?.isEmpty == false {
        throw .invalid(field: "message.silent", problem: "is true beside badge or sound: leave them out")
      }
      if let type = message.pushType, type != .background {
        throw .invalid(field: "message.pushType", problem: "is \(type.rawValue) beside silent: leave out one of them")
      }
      return
    }
    if message.pushType == .background, isShown {
      throw .invalid(
        field: "message.pushType", problem: "is background, which shows nothing: leave out alert, badge and sound")
    }
    if message.pushType ?? .alert == .alert, !isShown {
      throw .invalid(
        field: "message.alert", problem: "is missing: a message has an alert, a badge or a sound, or is silent")
    }
  }

  private static func optionalFields(_ message: MessageBody) throws(ContentError) -> Set<UTF8String> {
    guard let names = message.optionalFields else { return [] }
    for (index, name) in names.enumerated() where message.fields?[name] == nil {
      throw .invalid(field: "message.optionalFields[\(index)]", problem: "names no field of the message")
    }
    return Set(names.map { UTF8String($0) })
  }

  private static func fields(
    _ fields: [UTF8String: JSONValue], _ isVerbatim: Bool, _ mayNamePIN: Bool
  ) throws(ContentError) -> [(name: UTF8String, json: [UInt8], value: FieldTemplate)] {
    var templates: [(name: UTF8String, json: [UInt8], value: FieldTemplate)] = []
    for (name, value) in fields.sorted(by: { $0.key < $1.key }) {
      let field = "message.fields.\(name.text.prefix(100))"
      guard !reservedFields.contains(name) || mayNamePIN && name == UTF8String(SMSText.pinField) else {
        throw .invalid(field: field, problem: "has a name that is taken")
      }
      guard (1...100).contains(name.text.unicodeScalars.count), !name.text.utf8.contains(where: { $0 < 0x20 }) else {
        throw .invalid(field: field, problem: "has a name that is not of 1 to 100 printable characters")
      }
      templates.append(
        (name, JSONText.quoted(name.text), try FieldTemplate(value, field: field, isVerbatim: isVerbatim)))
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
  /// The message for one recipient. Links are included when the context has them. A badge that is no number, an image that is no
  /// address by https, and empty texts other than the alert are left out.
  public func rendered(for context: PageContext) -> RenderedMessage {
    // One for all texts: each could use up one of its own.
    var budget = RenderBudget()
    guard let extras else { return rendered(context, within: &budget) }
    var context = context
    if let url = extras.url?.render(context, within: &budget), !url.isEmpty { context.url = url }
    var message = rendered(context, within: &budget)
    extras.fill(&message, context, within: &budget)
    return message
  }

  private func rendered(_ context: PageContext, within budget: inout RenderBudget) -> RenderedMessage {
    var message = RenderedMessage()
    message.alert = alert?.json(context, within: &budget)
    message.info = info?.json(context, within: &budget).unlessEmpty
    message.badge = badge?.digits(context, within: &budget)
    for text in texts { message[keyPath: text.place] = text.template.json(context, within: &budget).unlessEmpty }
    message.isSilent = isSilent
    message.pushType = pushType
    message.url = context.url.map(JSONText.quoted)
    message.pushreadurl = context.pushreadurl.map(JSONText.quoted)
    if !fields.isEmpty {
      message.fields.reserveCapacity(fields.count)
      for field in fields {
        var value: [UInt8] = []
        field.value.append(context, within: &budget, to: &value)
        message.fields.append(
          RenderedMessage.Field(
            name: field.json, value: value,
            isOptional: !optionalFields.isEmpty && optionalFields.contains(field.name)))
      }
    }
    return message
  }
}

extension [UInt8] {
  /// A JSON string; `nil` if nothing is between its quotation marks.
  var unlessEmpty: [UInt8]? { count <= 2 ? nil : self }
}
