import Operations
import Wire

/// What a form of a message can have several of: other languages, or variants. Each is a fieldset, whose fields are called
/// `translation.0.alert` and so on.
enum MessageVersion: String, CaseIterable {
  case translation, variant

  /// How many there can be.
  var most: Int { self == .translation ? MessageTranslation.maximumCount : Int(MessageVariant.counts.upperBound) }

  func name(_ place: Int, _ field: String) -> String { "\(rawValue).\(place).\(field)" }

  /// A hidden field that says that the fieldset is there.
  func mark(_ place: Int) -> String { name(place, "place") }

  /// What a button of the form does: `add.variant` or `remove.variant.1`.
  /// - Returns: the form with one fieldset more or less; nil for any other text.
  static func values(_ values: FormValues, after act: String) -> FormValues? {
    let words = act.split(separator: ".").map { String($0) }
    guard words.count > 1, let version = MessageVersion(rawValue: words[1]) else { return nil }
    let places = version.places(in: values)
    switch (words[0], words.count) {
    case ("add", 2):
      guard places.count < version.most else { return values }
      var added = values
      // One variant alone is none.
      for place in places.count..<max(places.count + 1, version == .variant ? 2 : 1) {
        let next = (places.max() ?? -1) + 1 + place - places.count
        added = added.with(version.mark(next), "\(next)")
        if version == .variant { added = added.with(version.name(next, "name"), letter(place)) }
      }
      return added
    case ("remove", 3): return values.without { $0.hasPrefix("\(version.rawValue).\(words[2]).") }
    default: return nil
    }
  }

  /// As in `A` for the first.
  private static func letter(_ place: Int) -> String {
    String(Character(UnicodeScalar(UInt8(ascii: "A") + UInt8(clamping: place))))
  }

  /// The numbers of the fieldsets that the form has, in their order.
  func places(in values: FormValues) -> [Int] {
    Set(
      values.names.compactMap { name -> Int? in
        let words = name.split(separator: ".")
        guard words.count == 3, words[0] == rawValue, words[2] == "place", let place = Int(words[1]),
          (0..<1000).contains(place)
        else { return nil }
        return place
      }
    ).sorted().prefix(most).map { $0 }
  }
}

// MARK: - Fields

extension ComposerForm {
  private static let fieldsOfTranslation: [Schema.Field] = {
    guard case .object(let fields, _, _) = MessageTranslation.schema.shape else {
      preconditionFailure("a translation is an object")
    }
    return fields
  }()

  /// The fields of one fieldset. Their labels name it, as the summary of errors does not show where they stand.
  func fields(of version: MessageVersion, at place: Int, templates: [String]) -> [FormField] {
    switch version {
    case .translation:
      let of = values.text(version.name(place, "language")).map { ", \($0)" } ?? ""
      return [
        FormField(version.mark(place), label: "", kind: .hidden),
        FormField(
          version.name(place, "language"), label: "Language", hint: "As in sv or pt-BR.",
          limits: 1...Int64(LanguageTag.maximum)),
      ]
        + Self.fieldsOfTranslation.map { field in
          Self.field(field, version.name(place, field.name), of: of)
        }
    case .variant:
      let of = values.text(version.name(place, "name")).map { ", variant \($0)" } ?? ""
      let texts = Self.fieldsOfMessage.filter { Self.first.contains($0.name) }.map { field in
        var shown = Self.field(field, version.name(place, field.name), of: of)
        shown.hint = ""
        return shown
      }
      return [
        FormField(version.mark(place), label: "", kind: .hidden),
        FormField(version.name(place, "name"), label: "Name", isRequired: true, limits: 1...50),
        FormField(
          version.name(place, "share"), label: "Share\(of), in percent", kind: .number, isRequired: true,
          limits: 1...100),
      ] + texts + [
        FormField(
          version.name(place, "template"), label: "Rich page\(of)",
          kind: templates.count > Self.mostChoices ? .text : .choice(templates.map { FormField.Choice($0) })),
        FormField(
          version.name(place, "more"), label: "Other members\(of)", kind: .area(rows: 2),
          hint: #"Of the message, as JSON, such as {"sound":"bell"}."#),
      ]
    }
  }

  /// Of the choice among variants.
  static let winnerFields = [
    WinnerRule.form.field(
      "afterMinutes", label: "Decide after minutes",
      hint:
        "Then the contacts whom no share names get the variant that more people opened. Empty for no such decision: shares add up to 100."
    ).named("winner.afterMinutes", isRequired: false),
    WinnerRule.form.field(
      "undecided", label: "If none is better by the test",
      kind: .choice([
        FormField.Choice(UndecidedPolicy.hold.rawValue, "They wait for a person"),
        FormField.Choice(UndecidedPolicy.best.rawValue, "They get the one with the highest rate"),
        FormField.Choice(UndecidedPolicy.stop.rawValue, "They get nothing"),
      ]), hint: "They wait if none is chosen."
    ).named("winner.undecided", isRequired: false),
  ]

  /// Which of them the preview shows, and a test to oneself sends.
  var shownFields: [FormField] {
    let languages = MessageVersion.translation.places(in: values).compactMap { place in
      values.text(MessageVersion.translation.name(place, "language")).map { FormField.Choice("\(place)", $0) }
    }
    let variants = MessageVersion.variant.places(in: values).map { place in
      FormField.Choice("\(place)", values.text(MessageVersion.variant.name(place, "name")) ?? "\(place)")
    }
    return [
      (Own.variant, "Variant", variants, "The message itself if none is chosen."),
      (Own.language, "Language", languages, "The contact's own if none is chosen."),
    ].compactMap { name, label, choices, hint in
      choices.isEmpty ? nil : FormField(name, label: label, kind: .choice(choices), hint: hint)
    }
  }
}

extension FormField {
  /// The same field under another name.
  fileprivate func named(_ name: String, isRequired: Bool) -> FormField {
    FormField(name, label: label, kind: kind, hint: hint, isRequired: isRequired, limits: limits)
  }
}

// MARK: - Requests

extension ComposerForm {
  /// What the message says in other languages; `nil` for none.
  func translations() throws -> JSONValue? {
    var languages: [UTF8String: JSONValue] = [:]
    for place in MessageVersion.translation.places(in: values) {
      let translation = try translation(at: place)
      let name = MessageVersion.translation.name(place, "language")
      guard let language = values.text(name).map({ String($0.trimmed) }) else {
        guard translation.isEmpty else {
          throw HTTPErrorResponse.badRequest("\(name) is missing: give its tag, such as sv or pt-BR.")
        }
        continue
      }
      let tag = UTF8String(LanguageTag(spelled: language)?.text ?? language)
      guard !languages.keys.contains(tag) else {
        throw HTTPErrorResponse.badRequest("\(name) is that of another translation: remove one of them.")
      }
      languages[tag] = .object(translation)
    }
    return languages.isEmpty ? .none : .some(.object(languages))
  }

  private func translation(at place: Int) throws -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    for field in Self.fieldsOfTranslation {
      let name = MessageVersion.translation.name(place, field.name)
      if let text = values.text(name) {
        members[UTF8String(field.name)] = try Self.value(of: text, as: field.schema, name)
      }
    }
    return members
  }

  /// Variants and winner, as a request has them.
  func variantMembers() throws -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    let places = MessageVersion.variant.places(in: values)
    if !places.isEmpty { members["variants"] = .array(try places.map { try variant(at: $0) }) }
    if let minutes = try number("winner.afterMinutes") {
      var winner: [UTF8String: JSONValue] = ["afterMinutes": minutes]
      winner["undecided"] = values.text("winner.undecided").map { .string($0) }
      members["winner"] = .object(winner)
    }
    return members
  }

  private func variant(at place: Int) throws -> JSONValue {
    func name(_ field: String) -> String { MessageVersion.variant.name(place, field) }
    var members: [UTF8String: JSONValue] = ["message": .object(try messageOfVariant(at: place))]
    members["name"] = values.text(name("name")).map { .string($0) }
    members["share"] = try number(name("share"))
    members["template"] = values.text(name("template")).map { .string($0) }
    return .object(members)
  }

  private func messageOfVariant(at place: Int) throws -> [UTF8String: JSONValue] {
    func name(_ field: String) -> String { MessageVersion.variant.name(place, field) }
    var message: [UTF8String: JSONValue] = [:]
    if let more = values.text(name("more")) {
      guard case .object(let members)? = try? JSONValue(json: Array(more.utf8)) else {
        throw HTTPErrorResponse.badRequest(#"\#(name("more")) must be an object of JSON, such as {"sound":"bell"}."#)
      }
      message = members
    }
    for field in Self.fieldsOfMessage where Self.first.contains(field.name) {
      guard let text = values.text(name(field.name)) else { continue }
      message[UTF8String(field.name)] = try Self.value(of: text, as: field.schema, name(field.name))
    }
    return message
  }

  /// The message as the preview shows it: as the chosen variant has it, in the chosen language.
  /// - Throws: what becomes a 400.
  func shown(_ message: MessageBody) throws -> MessageBody {
    var message = message
    if let place: Int = try values.number(Own.variant), MessageVersion.variant.places(in: values).contains(place) {
      message = try message.merged(
        with: MessageBody.schema.decode(from: JSONValue.object(messageOfVariant(at: place)).json) as MessageBody)
    }
    if let place: Int = try values.number(Own.language), MessageVersion.translation.places(in: values).contains(place) {
      message = try message.translated(
        by: MessageTranslation.schema.decode(from: JSONValue.object(translation(at: place)).json))
    }
    return message
  }

  /// The page of the chosen variant, in place of the sendout's.
  var shownTemplate: String? {
    values.text(Own.variant).flatMap { Int($0) }.flatMap {
      values.text(MessageVersion.variant.name($0, "template"))
    } ?? values.text("template")
  }
}

// MARK: - Refusals

extension ComposerForm {
  /// A refusal that names the field of the form in place of the request's.
  func placed(_ refusal: HTTPErrorResponse) -> HTTPErrorResponse {
    var placed = refusal
    placed.sentence = placedInTranslation(refusal.sentence) ?? placedInVariant(refusal.sentence) ?? refusal.sentence
    return placed
  }

  private func placedInTranslation(_ sentence: String) -> String? {
    for place in MessageVersion.translation.places(in: values) {
      let name = MessageVersion.translation.name(place, "language")
      guard let language = values.text(name).map({ String($0.trimmed) }) else { continue }
      let start = "message.translations.\(LanguageTag(spelled: language)?.text ?? language)"
      guard let rest = sentence.rest(behind: start) else { continue }
      guard rest.hasPrefix(".") else { return name + rest }
      // Of an object's member it is the object.
      let member = rest.dropFirst().prefix { !" .[:".contains($0) }
      let field = MessageVersion.translation.name(place, String(member))
      return field + rest.dropFirst(1 + member.count)
    }
    return nil
  }

  private func placedInVariant(_ sentence: String) -> String? {
    let version = MessageVersion.variant
    let places = version.places(in: values)
    for (index, place) in places.enumerated() {
      guard let rest = sentence.rest(behind: "variants[\(index)]") else { continue }
      guard let inMessage = rest.rest(behind: ".message") else {
        return rest.hasPrefix(".") ? version.name(place, String(rest.dropFirst())) : version.name(place, "name") + rest
      }
      guard inMessage.hasPrefix(".") else { return version.name(place, "alert") + inMessage }
      let member = inMessage.dropFirst().prefix { !" .[:".contains($0) }
      return Self.first.contains(String(member))
        ? version.name(place, String(inMessage.dropFirst()))
        : "\(version.name(place, "more")): \(inMessage.dropFirst())"
    }
    if let place = places.first, let rest = sentence.rest(behind: "variants") {
      return version.name(place, "share") + rest
    }
    return sentence.rest(behind: "winner").flatMap { $0.hasPrefix(" ") ? "winner.afterMinutes" + $0 : nil }
  }
}

extension String {
  /// What follows a path of fields, if the sentence begins with that.
  fileprivate func rest(behind path: String) -> String? {
    guard utf8.starts(with: path.utf8) else { return nil }
    let rest = String(decoding: utf8.dropFirst(path.utf8.count), as: UTF8.self)
    return rest.utf8.first.map { " .[:".utf8.contains($0) } ?? true ? rest : nil
  }
}

// MARK: - Drafts

extension ComposerForm {
  /// What the fields have of a draft's languages, variants and winner.
  static func versions(of draft: SendoutReply) -> [String: [String]] {
    var values: [String: [String]] = [:]
    func add(_ version: MessageVersion, _ place: Int, _ texts: [String: String?]) {
      values[version.mark(place)] = ["\(place)"]
      for (field, text) in texts { values[version.name(place, field)] = text.map { [$0] } }
    }
    let translations = (draft.message?.translations ?? [:]).sorted { $0.key < $1.key }
    for (place, (language, translation)) in translations.enumerated() {
      add(.translation, place, texts(of: translation).merging(["language": language.text]) { $1 })
    }
    for (place, variant) in (draft.campaign.variants ?? []).enumerated() {
      let message = texts(of: variant.message)
      var shown: [String: String?] = message.filter { first.contains($0.key) }
      guard case .object(let all)? = try? JSONValue(encoding: variant.message) else { continue }
      let more = all.filter { !first.contains($0.key.text) && $0.value != .null }
      shown["name"] = variant.name
      shown["share"] = "\(variant.share)"
      shown["template"] = variant.template
      shown["more"] = more.isEmpty ? nil : String(decoding: JSONValue.object(more).json, as: UTF8.self)
      add(.variant, place, shown)
    }
    if let winner = draft.campaign.winner {
      values["winner.afterMinutes"] = ["\(winner.afterMinutes)"]
      values["winner.undecided"] = winner.undecided.map { [$0.rawValue] }
    }
    return values
  }

  private static func texts(of part: some Encodable) -> [String: String?] {
    guard case .object(let members)? = try? JSONValue(encoding: part) else { return [:] }
    var texts: [String: String?] = [:]
    for (name, value) in members where value != .null { texts[name.text] = written(value) }
    return texts
  }
}
