import Operations
import Registry
import Wire

/// The composer's form. A refusal names its fields, as they have the names of a request for a sendout: those of the message begin with
/// `message.`. A message's fields come from its schema: one that the API gets stands in the form, too.
struct ComposerForm: Sendable {
  let values: FormValues
  /// Of the moments in it.
  let zone: ConsoleZone

  init(values: FormValues, in zone: ConsoleZone = ConsoleZone()) {
    self.values = values
    self.zone = zone
  }

  /// The names of fields that are no part of a request.
  enum Own {
    /// Beginning of what the contact is looked up by for the preview.
    static let contact = "contact"
    /// Original id of who gets the message to try it.
    static let me = "me"
    /// What follows once the draft is saved.
    static let then = "then"
    /// What a button does with the form: another fieldset, or a look at the zones.
    static let act = "act"
    /// Which variant and which language are previewed, by the numbers of their fieldsets.
    static let variant = "show.variant"
    static let language = "show.language"
    /// What the preview is made for.
    static let shown = [contact, variant, language]
  }

  static let fieldsOfMessage: [Schema.Field] = {
    guard case .object(let fields, _, _) = MessageBody.schema.shape else {
      preconditionFailure("a message is an object")
    }
    return fields
  }()

  /// What is asked for first; the rest of a message is among the options.
  static let first = ["alert", "info", "image", "url"]

  // MARK: Fields

  static func fields(
    apps: [PushAppReply], lists: [ListReply], segments: [SegmentReply], templates: [String]
  ) -> [FormField] {
    let request = SendoutRequest.form
    let types = AppType.allCases.filter { type in apps.contains { $0.appType == type } }
    return [
      FormField("name", label: "Name", hint: "For you alone. The beginning of the text if empty.", limits: 1...200),
      FormField(
        "audience", label: "Who",
        kind: .choice([
          FormField.Choice("all", "Every contact"), FormField.Choice("list", "One list or several"),
          FormField.Choice("segment", "A segment"), FormField.Choice("filter", "Who meets a filter"),
          FormField.Choice("ids", "Some contacts"),
        ]), isRequired: true),
      FormField(
        "audience.listId", label: "Lists",
        kind: lists.count > mostChoices
          ? .text : .choices(lists.map { FormField.Choice("\($0.listId)", "\($0.name) (\($0.listId))") }),
        hint: lists.count > mostChoices
          ? "The numbers of the lists, with commas between them. Who is on several gets one."
          : "Who is on several gets one."),
      FormField(
        "audience.segmentId", label: "Segment",
        kind: segments.count > mostChoices
          ? .number : .choice(segments.map { FormField.Choice("\($0.segmentId)", "\($0.name) (\($0.segmentId))") }),
        hint: segments.count > mostChoices ? "The number of the segment." : ""),
      FormField(
        "audience.filter", label: "Filter", kind: .area(rows: 2),
        hint: "One line, as in country = 'SE' and received >= 1 within 30 days."),
      FormField(
        "audience.originalIds", label: "Original ids", kind: .area(rows: 4),
        hint: "One a line, at most \(grouped(Audience.originalIdLimit)). More belong on a list."),
      FormField(
        "audience.exclude", label: "But not who meets", kind: .area(rows: 2),
        hint: "A filter as well, as in opened >= 1 within 2 days or in segment 3. Empty for nobody."),
      FormField(
        "appIds", label: "Apps", kind: .choices(appIDs(apps).map { FormField.Choice($0) }), isRequired: true),
      FormField(
        "appType", label: "Platform", kind: .choice(types.map { FormField.Choice("\($0.rawValue)", $0.platform) }),
        hint: "All of the apps' platforms if none is chosen."),
      FormField(
        "template", label: "Rich page",
        kind: templates.count > mostChoices ? .text : .choice(templates.map { FormField.Choice($0) }),
        hint: "The page that a tap opens. Without one it is the url."),
      request.field(
        "purpose", label: "Purpose", hint: "Who gets it: some people want no marketing, but transactional messages."),
      request.field("onUncertain", label: "After a crash", hint: "What becomes of pushes that may have been sent."),
    ] + fieldsOfMessage.map { field($0, "message.\($0.name)") }
      + [
        FormField(
          Own.contact, label: "Shown for",
          hint: "The beginning of an original id, an e-mail address, a number or a name."),
        FormField(Own.me, label: "Send a test to", hint: "Your own original id, as your app sends it."),
      ]
  }

  /// Names of the fields that are options.
  static let options =
    ["appType", "purpose", "onUncertain"]
    + fieldsOfMessage.map(\.name).filter { !first.contains($0) }.map { "message.\($0)" }
  /// Names of the first fields of the message.
  static let texts = first.map { "message.\($0)" }

  /// More choices than this are typed: a page has 60 KiB.
  static let mostChoices = 100

  /// The field of a member of a message.
  /// - Parameter whole: the end of its label, as in `, variant A`.
  static func field(_ field: Schema.Field, _ name: String, of whole: String = "") -> FormField {
    let (word, rows): (String, Int?) =
      switch field.name {
      case "alert": ("Text", 3)
      case "info": ("Second text", 3)
      case "image": ("Picture", nil)
      case "url": ("Link", nil)
      case "translations": ("Further languages", nil)
      default: (field.name.inWords, nil)
      }
    let label = word + whole
    let hint =
      field.name == "translations"
      ? "What has no fields of its own below." : field.description.replacing("`", with: "")
    switch field.schema.shape {
    case .boolean:
      return FormField(
        name, label: label, kind: .choice([FormField.Choice("true", "Yes"), FormField.Choice("false", "No")]),
        hint: hint)
    case .strings(let words):
      return FormField(name, label: label, kind: .choice(words.map { FormField.Choice($0) }), hint: hint)
    case .integer(let range): return FormField(name, label: label, kind: .number, hint: hint, limits: range)
    case .array: return FormField(name, label: label, kind: .area(rows: 2), hint: hint + " One a line.")
    case .object: return FormField(name, label: label, kind: .area(rows: 4), hint: hint + " As JSON.")
    default:
      return FormField(name, label: label, kind: rows.map { .area(rows: $0) } ?? .text, hint: hint)
    }
  }

  /// The apps' ids that a sendout can go to, each once.
  static func appIDs(_ apps: [PushAppReply]) -> [String] {
    apps.filter { !$0.kind.traits.takesCallsAlone }.map(\.appId).reduce(into: []) {
      if !$0.contains($1) { $0.append($1) }
    }
  }

  // MARK: Requests

  /// The sendout that the form asks for.
  /// - Parameter isNew: whether it is made, and stays a draft although it may have a time.
  /// - Throws: what becomes a 400 that names the field.
  func request(isNew: Bool = false) throws -> SendoutRequest {
    var message = try message()
    message["translations"] = try translations(beside: message["translations"])
    var members: [UTF8String: JSONValue] = [
      "audience": try audience(), "appIds": .array(appIDs.map { .string($0) }), "message": .object(message),
    ]
    members.merge(try campaign()) { $1 }
    if isNew, try when != .now { members["draft"] = .bool(true) }
    for name in ["name", "template", "purpose", "onUncertain"] {
      members[UTF8String(name)] = text(name).map { .string($0) }
    }
    members["appType"] = try appType.map { .integer($0.rawValue) }
    return try SendoutRequest.form.schema.decode(from: JSONValue.object(members).json)
  }

  /// The message alone, for the preview and to try it.
  /// - Parameter target: who gets it; `nil` for nobody.
  func messageRequest(to target: MessageTarget?) throws -> MessagePreviewRequest {
    var message = try message()
    message["translations"] = try translations(beside: message["translations"])
    var members: [UTF8String: JSONValue] = ["message": .object(message)]
    if !appIDs.isEmpty { members["appIds"] = .array(appIDs.map { .string($0) }) }
    members["template"] = shownTemplate.map { .string($0) }
    members["appType"] = try appType.map { .integer($0.rawValue) }
    var request: MessagePreviewRequest = try MessagePreviewRequest.schema.decode(from: JSONValue.object(members).json)
    request.message = try shown(request.message)
    request.to = target
    return request
  }

  /// Whom the form names.
  /// - Throws: what becomes a 400 that names the field.
  func audienceRequest() throws -> Audience {
    try Audience.schema.decode(from: try audience().json)
  }

  var appIDs: [String] { values.all("appIds") }

  /// Whether the message has anything yet.
  var isWritten: Bool {
    Self.fieldsOfMessage.contains { text("message.\($0.name)") != nil } || text(Own.variant) != nil
  }

  var appType: AppType? {
    get throws {
      try values.number("appType", Int16.self).map { number in
        guard let type = AppType(rawValue: number) else {
          throw HTTPErrorResponse.badRequest("appType must be one of the platforms.")
        }
        return type
      }
    }
  }

  private func text(_ name: String) -> String? { values.text(name) }

  private func audience() throws -> JSONValue {
    var members = try included()
    if let exclude = text("audience.exclude") {
      members["exclude"] = .string(try Self.checked(exclude, "audience.exclude"))
    }
    return .object(members)
  }

  /// A filter's line as it was typed, since errors count its characters.
  private static func checked(_ line: String, _ field: String) throws -> String {
    _ = try FilterLine(line).require(field)
    return line
  }

  /// Whom the form names, but for those whom it excludes.
  private func included() throws -> [UTF8String: JSONValue] {
    switch text("audience") {
    case "list":
      let lists = try listIDs()
      guard let first = lists.first else {
        throw HTTPErrorResponse.badRequest("audience.listId is missing: choose a list.")
      }
      return lists.count == 1 ? ["listId": first] : ["lists": .array(lists)]
    case "segment":
      guard let segment: SegmentID = try values.number("audience.segmentId") else {
        throw HTTPErrorResponse.badRequest("audience.segmentId is missing: choose a segment.")
      }
      return ["segmentId": .integer(segment.rawValue)]
    case "filter":
      guard let filter = text("audience.filter") else {
        throw HTTPErrorResponse.badRequest("audience.filter is missing: write who gets it.")
      }
      return ["filter": .string(try Self.checked(filter, "audience.filter"))]
    case "ids":
      let ids = values.lines("audience.originalIds")
      guard !ids.isEmpty else {
        throw HTTPErrorResponse.badRequest("audience.originalIds is empty: write an id on each line.")
      }
      guard ids.count <= Audience.originalIdLimit else {
        throw HTTPErrorResponse.badRequest(
          "audience.originalIds holds \(ids.count) ids, and at most \(Audience.originalIdLimit) are allowed. Put more on a list."
        )
      }
      return ["originalIds": .array(ids.map { .string($0) })]
    default: return ["all": true]
    }
  }

  /// The lists that are ticked, or typed with commas between them.
  private func listIDs() throws -> [JSONValue] {
    try values.all("audience.listId").flatMap { $0.split(separator: ",") }.map { text in
      guard let list = ListID(String(text.trimmed)) else {
        throw HTTPErrorResponse.badRequest("audience.listId must be numbers of lists, with commas between them.")
      }
      return .integer(list.rawValue)
    }
  }

  private func message() throws -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    for field in Self.fieldsOfMessage {
      let name = "message.\(field.name)"
      guard let text = text(name) else { continue }
      members[UTF8String(field.name)] = try Self.value(of: text, as: field.schema, name)
    }
    return members
  }

  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  static func value(of text: String, as schema: Schema, _ name: String) throws -> JSONValue {
    switch schema.shape {
    case .boolean: return .bool(text == "true")
    case .integer:
      guard let number = Int64(text.trimmed) else {
        throw HTTPErrorResponse.badRequest("\(name) must be a whole number.")
      }
      return .integer(number)
    case .either: return Int64(text.trimmed).map { .integer($0) } ?? .string(text)
    case .array:
      return .array(text.split(separator: "\n").map(\.trimmed).filter { !$0.isEmpty }.map { .string(String($0)) })
    case .object, .anything:
      do {
        return try JSONValue(json: Array(text.utf8))
      } catch {
        throw HTTPErrorResponse.badRequest(#"\#(name) must be JSON, such as {"campaign":"friday"}."#)
      }
    default: return .string(text)
    }
  }

  // MARK: Drafts

  /// What the fields have of a draft.
  static func values(
    of draft: SendoutReply, apps: [PushAppReply], in zone: ConsoleZone = ConsoleZone()
  ) -> [String: [String]] {
    let appIDs = draft.apps.map(\.appId).reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }
    var values: [String: [String]] = [
      "name": [draft.name], "appIds": appIDs, "purpose": [draft.purpose.rawValue],
      "onUncertain": [draft.onUncertain.rawValue],
      "template": draft.template.map { [$0] } ?? [],
    ]
    // A platform was chosen if the apps have others, too.
    let others = apps.filter { app in
      appIDs.contains(app.appId) && !draft.apps.contains { $0.pushAppId == app.pushAppId }
        && !app.kind.traits.takesCallsAlone
    }
    if let type = draft.apps.first?.appType, !others.isEmpty, draft.apps.allSatisfy({ $0.appType == type }) {
      values["appType"] = ["\(type.rawValue)"]
    }
    switch draft.audience?.included {
    case .list(let list): (values["audience"], values["audience.listId"]) = (["list"], ["\(list)"])
    case .lists(let lists): (values["audience"], values["audience.listId"]) = (["list"], lists.map(\.description))
    case .segment(let segment): (values["audience"], values["audience.segmentId"]) = (["segment"], ["\(segment)"])
    case .filter(let filter): (values["audience"], values["audience.filter"]) = (["filter"], [filter.text])
    case .originalIds(let ids):
      (values["audience"], values["audience.originalIds"]) = (["ids"], [ids.joined(separator: "\n")])
    case .all, .excluding, nil: values["audience"] = ["all"]
    }
    if let exclude = draft.audience?.exclude { values["audience.exclude"] = [exclude.text] }
    values.merge(Self.values(of: draft.campaign, zone)) { $1 }
    values.merge(versions(of: draft)) { $1 }
    guard case .object(let members) = draft.message.map({ APIContent.json($0) }) else { return values }
    let hasFieldsets = (draft.message?.translations?.count ?? 0) <= MessageVersion.translation.most
    for (name, value) in members where value != .null && !(name == "translations" && hasFieldsets) {
      values["message.\(name.text)"] = [written(value)]
    }
    return values
  }

  static func written(_ value: JSONValue) -> String {
    switch value {
    case .string(let text): text
    case .array(let items): items.compactMap(\.text).joined(separator: "\n")
    default: String(decoding: value.json, as: UTF8.self)
    }
  }

  /// As in `12,345`.
  static func grouped(_ number: Int) -> String {
    let digits = Array(String(number))
    return digits.enumerated().reduce(into: "") { text, digit in
      if digit.offset > 0, (digits.count - digit.offset) % 3 == 0 { text += "," }
      text.append(digit.element)
    }
  }
}
