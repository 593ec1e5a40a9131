import Operations
import Wire

/// What a form of a message can have several of: other languages, or variants. Each is a fieldset, whose fields are called
/// `translation.0.alert` and so on.
enum MessageVersion: String, CaseIterable {
  case translation, variant

  /// How many fieldsets there can be, as a page is not to be long. More languages stand as JSON among the options.
  var most: Int { self == .translation ? 10 : Int(MessageVariant.counts.upperBound) }

  func name(_ place: Int, _ field: String) -> String { "\(rawValue).\(place).\(field)" }

  /// A hidden field that says that the fieldset is there.
  func mark(_ place: Int) -> String { name(place, "place") }

  /// A hidden field that says that the fieldset shows those fields, too, that few need.
  func whole(_ place: Int) -> String { name(place, "all") }

  /// What a button of the form does: `add.variant`, `remove.variant.1` or `more.variant.1`.
  /// - Returns: the form with one fieldset more or less, or with a whole one; nil for any other text.
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
    case ("more", 3): return Int(words[2]).map { values.with(version.whole($0), "true") }
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
  /// What a fieldset has of a message from the beginning.
  private static let usual = ["alert", "info"]

  /// Whether a fieldset shows all of its fields: somebody asked for them, or one of those that few need has something.
  func isWhole(_ version: MessageVersion, at place: Int) -> Bool {
    let seldom = Self.first.filter { !Self.usual.contains($0) } + ["template", "more"]
    return ([version.whole(place)] + seldom.map { version.name(place, $0) }).contains { values.text($0) != nil }
  }

  /// The fields of one fieldset. Their labels name it, as the summary of errors does not show where they stand. A page with many
  /// fieldsets stays small, as fields that few need are shown where they are asked for.
  func fields(of version: MessageVersion, at place: Int, templates: [String]) -> [FormField] {
    func name(_ field: String) -> String { version.name(place, field) }
    let whole = title(of: version, at: place).map { ", \($0)" } ?? ""
    var fields = [FormField(version.mark(place), label: "", kind: .hidden)]
    switch version {
    case .translation:
      fields.append(FormField(name("language"), label: "Language", limits: 1...Int64(LanguageTag.maximum)))
    case .variant:
      fields += [
        FormField(name("name"), label: "Name", isRequired: true, limits: 1...50),
        FormField(name("share"), label: "Share in percent\(whole)", kind: .number, isRequired: true, limits: 1...100),
      ]
    }
    let isWhole = isWhole(version, at: place)
    fields += Self.fieldsOfMessage.filter { (isWhole ? Self.first : Self.usual).contains($0.name) }.map { field in
      var shown = Self.field(field, name(field.name), of: whole)
      shown.hint = ""
      return shown
    }
    guard isWhole else { return fields }
    if version == .variant {
      fields.append(
        FormField(
          name("template"), label: "Rich page\(whole)",
          kind: templates.count > Self.mostChoices ? .text : .choice(templates.map { FormField.Choice($0) })))
    }
    return fields + [
      FormField(
        name("more"), label: "Other members\(whole)", kind: .area(rows: 2),
        hint: #"Of the message, as JSON, such as {"sound":"bell"}."#),
      FormField(version.whole(place), label: "", kind: .hidden),
    ]
  }

  /// As in `sv` and `A`.
  func title(of version: MessageVersion, at place: Int) -> String? {
    values.text(version.name(place, version == .translation ? "language" : "name")).map { String($0.trimmed) }
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

  /// What the variants' shares come to, while one types; empty without variants.
  var shares: String {
    let places = MessageVersion.variant.places(in: values)
    guard places.count > 1 else { return "" }
    let sum = places.reduce(0) { sum, place in
      let typed = values.text(MessageVersion.variant.name(place, "share")).flatMap { Int($0.trimmed) }
      return sum + min(max(typed ?? 0, 0), 100)
    }
    let hasWinner = values.text("winner.afterMinutes") != nil
    return switch (hasWinner, sum) {
    case (true, ..<100): "\(sum) % of the contacts get a variant at once, and the other \(100 - sum) % the winner."
    case (true, _): "The shares add up to \(sum) %. With a decision they have to leave somebody: less than 100."
    case (false, 100): "The shares add up to 100 %: each contact gets a variant."
    case (false, _): "The shares add up to \(sum) %. Without a decision they have to add up to 100."
    }
  }

  /// Which of them the preview shows, and a test to oneself sends.
  var shownFields: [FormField] {
    func choices(_ version: MessageVersion) -> [FormField.Choice] {
      version.places(in: values).compactMap { place in
        title(of: version, at: place).map { FormField.Choice("\(place)", $0) }
      }
    }
    return [
      (Own.variant, "Variant", choices(.variant), "The message itself if none is chosen."),
      (Own.language, "Language", choices(.translation), "The contact's own if none is chosen."),
    ].compactMap { name, label, choices, hint in
      choices.isEmpty ? nil : FormField(name, label: label, kind: .choice(choices), hint: hint)
    }
  }
}

extension FormField {
  fileprivate func named(_ name: String, isRequired: Bool) -> FormField {
    FormField(name, label: label, kind: kind, hint: hint, isRequired: isRequired, limits: limits)
  }
}

// MARK: - Requests

extension ComposerForm {
  /// What the message says in other languages; `nil` for none.
  /// - Parameter others: that have no fieldset.
  func translations(beside others: JSONValue?) throws -> JSONValue? {
    var languages: [UTF8String: JSONValue] = [:]
    if let others {
      guard case .object(let members) = others else { return others }
      languages = members
    }
    for place in MessageVersion.translation.places(in: values) {
      let translation = try message(of: .translation, at: place)
      let name = MessageVersion.translation.name(place, "language")
      guard let tag = languageTag(at: place) else {
        guard translation.isEmpty else {
          throw HTTPErrorResponse.badRequest("\(name) is missing: give its tag, such as sv or pt-BR.")
        }
        continue
      }
      guard !languages.keys.contains(tag) else {
        throw HTTPErrorResponse.badRequest("\(name) is that of another translation: remove one of them.")
      }
      languages[tag] = .object(translation)
    }
    return languages.isEmpty ? .none : .some(.object(languages))
  }

  /// In the usual case, if it is a tag.
  private func languageTag(at place: Int) -> UTF8String? {
    title(of: .translation, at: place).map { UTF8String(LanguageTag(spelled: $0)?.text ?? $0) }
  }

  /// Variants and winner, as a request has them.
  func variantMembers() throws -> [UTF8String: JSONValue] {
    var members: [UTF8String: JSONValue] = [:]
    let places = MessageVersion.variant.places(in: values)
    if places.count == 1 {
      throw HTTPErrorResponse.badRequest(
        "\(MessageVersion.variant.name(places[0], "name")) is that of the only variant: add another one, or remove it.")
    }
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
    var members: [UTF8String: JSONValue] = ["message": .object(try message(of: .variant, at: place))]
    members["name"] = values.text(name("name")).map { .string($0) }
    members["share"] = try number(name("share"))
    members["template"] = values.text(name("template")).map { .string($0) }
    return .object(members)
  }

  /// What a fieldset says in place of the message.
  private func message(of version: MessageVersion, at place: Int) throws -> [UTF8String: JSONValue] {
    var message: [UTF8String: JSONValue] = [:]
    let more = version.name(place, "more")
    if let text = values.text(more) {
      guard case .object(let members)? = try? JSONValue(json: Array(text.utf8)) else {
        throw HTTPErrorResponse.badRequest(#"\#(more) must be an object of JSON, such as {"sound":"bell"}."#)
      }
      message = members
    }
    for field in Self.fieldsOfMessage where Self.first.contains(field.name) {
      let name = version.name(place, field.name)
      guard let text = values.text(name) else { continue }
      message[UTF8String(field.name)] = try Self.value(of: text, as: field.schema, name)
    }
    return message
  }

  /// The message as the preview shows it: as the chosen variant has it, in the chosen language.
  /// - Throws: what becomes a 400.
  func shown(_ message: MessageBody) throws -> MessageBody {
    var message = message
    if let place: Int = try values.number(Own.variant), MessageVersion.variant.places(in: values).contains(place) {
      let variant = JSONValue.object(try self.message(of: .variant, at: place))
      message = try message.merged(with: MessageBody.schema.decode(MessageBody.self, from: variant.json))
    }
    // A variant can say something of its own in this language.
    if let place: Int = try values.number(Own.language), let tag = languageTag(at: place),
      let translation = message.translations?[tag]
    {
      message = try message.translated(by: translation)
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
      guard let tag = languageTag(at: place), let rest = sentence.rest(behind: "message.translations.\(tag.text)")
      else {
        continue
      }
      return rest.hasPrefix(".")
        ? placed(.translation, place, member: rest.dropFirst())
        : MessageVersion.translation.name(place, "language") + rest
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
      return inMessage.hasPrefix(".")
        ? placed(version, place, member: inMessage.dropFirst()) : version.name(place, "alert") + inMessage
    }
    if let place = places.first, let rest = sentence.rest(behind: "variants") {
      return "\(version.name(place, "share")): the variants\(rest)"
    }
    return sentence.rest(behind: "winner").flatMap { $0.hasPrefix(" ") ? "winner.afterMinutes" + $0 : nil }
  }

  /// - Parameter member: a sentence that begins with a member of the message. Those without a field stand among the others.
  private func placed(_ version: MessageVersion, _ place: Int, member: Substring) -> String {
    Self.first.contains(String(member.prefix { !" .[:".contains($0) }))
      ? version.name(place, String(member)) : "\(version.name(place, "more")): \(member)"
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
    let all = (draft.message?.translations ?? [:]).sorted { $0.key < $1.key }
    let translations = all.count > MessageVersion.translation.most ? [] : all
    for (place, (language, translation)) in translations.enumerated() {
      add(.translation, place, texts(of: translation).merging(["language": language.text]) { $1 })
    }
    for (place, variant) in (draft.campaign.variants ?? []).enumerated() {
      let own = ["name": variant.name, "share": "\(variant.share)", "template": variant.template]
      add(.variant, place, texts(of: variant.message).merging(own) { $1 })
    }
    if let winner = draft.campaign.winner {
      values["winner.afterMinutes"] = ["\(winner.afterMinutes)"]
      values["winner.undecided"] = winner.undecided.map { [$0.rawValue] }
    }
    return values
  }

  /// The first members of a message each, and the others together.
  private static func texts(of part: some Encodable) -> [String: String?] {
    guard case .object(let all)? = try? JSONValue(encoding: part) else { return [:] }
    var (texts, more): ([String: String?], [UTF8String: JSONValue]) = ([:], [:])
    for (name, value) in all where value != .null {
      let isFirst = first.contains { name == UTF8String($0) }
      if isFirst { texts[name.text] = written(value) } else { more[name] = value }
    }
    if !more.isEmpty { texts["more"] = String(decoding: JSONValue.object(more).json, as: UTF8.self) }
    return texts
  }
}
