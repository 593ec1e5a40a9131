import Wire

// What a message says in other languages.
extension MessageTemplate {
  /// Compiles the message in each of its other languages.
  static func translations(
    of message: MessageBody, _ mayNamePIN: Bool
  ) throws(ContentError) -> [UTF8String: MessageTemplate] {
    guard let translations = message.translations, !translations.isEmpty else { return [:] }
    guard translations.count <= MessageTranslation.maximumCount else {
      throw .invalid(
        field: "message.translations",
        problem: "has \(translations.count) languages, and at most \(MessageTranslation.maximumCount) are allowed")
    }
    var compiled: [UTF8String: MessageTemplate] = [:]
    for (name, translation) in translations.sorted(by: { $0.key < $1.key }) {
      let field = Self.field(of: name)
      guard let tag = LanguageTag(spelled: name.text).map({ UTF8String($0.text) }) else {
        throw .invalid(field: field, problem: "names no language: use a tag of BCP 47, such as sv or pt-BR")
      }
      guard compiled[tag] == nil else {
        throw .invalid(field: field, problem: "is there twice, whatever the case of its letters: leave out one of them")
      }
      compiled[tag] = try ContentError.within(field) { () throws(ContentError) in
        let merged = try ContentError.merging(field) { try message.translated(by: translation) }
        return try MessageTemplate(merged, mayNamePIN: mayNamePIN)
      }
    }
    return compiled
  }

  private static func field(of language: UTF8String) -> String { "message.translations.\(language.text.prefix(100))" }

  /// Whether it says something else in another language.
  public var isTranslated: Bool { !translations.isEmpty }

  /// The message as somebody gets it.
  /// - Parameter language: what a contact or a device says of itself, such as `sv-FI` or `sv_SE`. It is looked for from the whole tag to its
  ///   first part.
  /// - Returns: itself where it is in none of these.
  public func inLanguage(_ language: String?) -> MessageTemplate {
    guard isTranslated else { return self }
    for tag in LanguageTag.lookup(language) {
      if let translated = translations[UTF8String(tag)] { return translated }
    }
    return self
  }

  /// Checks the message, and then as it is in each other language, whose problems name it.
  package func checkEach(_ check: (MessageTemplate) throws(ContentError) -> Void) throws(ContentError) {
    try check(self)
    for (language, translated) in translations.sorted(by: { $0.key < $1.key }) {
      try ContentError.within(Self.field(of: language)) { () throws(ContentError) in try check(translated) }
    }
  }
}

extension ContentError {
  /// Runs what deals with a message that stands in a field, whose name then takes the place of `message` in problems.
  static func within<Answer>(_ field: String, _ body: () throws(ContentError) -> Answer) throws(ContentError) -> Answer
  {
    do throws(ContentError) {
      return try body()
    } catch {
      throw error.moved(to: field)
    }
  }

  /// Runs what merges messages.
  /// - Parameter field: has what was merged.
  static func merging<Answer>(_ field: String, _ body: () throws -> Answer) throws(ContentError) -> Answer {
    do {
      return try body()
    } catch {
      throw .invalid(field: field, problem: "makes no message with what it is merged over")
    }
  }

  private func moved(to field: String) -> ContentError {
    func path(_ old: String) -> String {
      guard old == "message" || old.hasPrefix("message.") else { return old }
      return field + old.dropFirst("message".count)
    }
    return switch self {
    case .invalid(let field, let problem): .invalid(field: path(field), problem: problem)
    case .unparsable(let field, let line, let reason): .unparsable(field: path(field), line: line, reason: reason)
    case .templateUnknown, .customerUnknown: self
    }
  }
}
