import Operations
import Wire

/// The form of a contact's fields. Hidden beside each is what it showed at first, so that only what the user has changed is sent: apps change
/// the same contact meanwhile.
enum ContactForm {
  static let fields: [FormField] =
    ContactField.allCases.map { field in
      ContactRequest.form.field(field.name, label: ContactPages.label(of: field), kind: .text, hint: "")
    } + [
      ContactRequest.form.field("dateOfBirth", label: "Date of birth", hint: "A day, as in 1980-02-29."),
      FormField(
        "listIds", label: "Lists",
        hint: "The numbers of the lists it is on, with commas between them; empty for no list."),
      FormField(
        "properties", label: "Properties", kind: .area(rows: 8),
        hint: "A line for each, as in food=fish. A line that is taken away removes its property."),
    ]

  /// What the fields showed at first.
  static let hidden = fields.map { FormField(before($0.name), label: "", kind: .hidden) }

  private static func before(_ name: String) -> String { "before.\(name)" }

  static func initial(_ contact: ContactDetails) -> [String: String?] {
    let values = values(of: contact)
    return values.reduce(into: values) { $0[before($1.key)] = $1.value }
  }

  private static func values(of contact: ContactDetails) -> [String: String?] {
    var values: [String: String?] = [:]
    for field in ContactField.allCases { values[field.name] = contact.texts[field].map(asInput) }
    values["dateOfBirth"] = contact.dateOfBirth
    values["listIds"] = contact.listIds.map(\.description).joined(separator: ", ")
    values["properties"] = lines(of: contact).map { "\($0.name)=\(shown($0.value))" }.joined(separator: "\n")
    return values
  }

  /// Browsers show no line ends in a field of one line, and send none.
  private static func asInput(_ text: String) -> String {
    String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\n" && $0 != "\r" }))
  }

  /// What the form changes: the fields that the user has changed. An empty one removes what there was.
  /// - Throws: `HTTPErrorResponse`, naming the field: 409 if one of them has been changed by somebody else, too.
  static func request(_ form: FormValues, _ known: ContactDetails) throws -> ContactRequest {
    let changed = Set(fields.map(\.name).filter { !isSame(form.text($0), form.text(before($0))) })
    let properties = try PropertyLines(form, known)
    try refuse(overwritten(form, changed, known) + properties.overwritten)
    return ContactRequest(
      listIds: changed.contains("listIds") ? try lists(form) : nil,
      texts: ContactTexts { changed.contains($0.name) ? form.text($0.name) ?? "" : nil },
      dateOfBirth: changed.contains("dateOfBirth") ? form.text("dateOfBirth") ?? "" : nil,
      properties: properties.request)
  }

  private static func lists(_ form: FormValues) throws(HTTPErrorResponse) -> [ListID] {
    var lists: [ListID] = []
    for text in (form.text("listIds") ?? "").split(separator: ",") {
      guard let list = ListID(String(text.trimmed)) else {
        throw .badRequest("listIds must be numbers of lists, with commas between them.")
      }
      lists.append(list)
    }
    return lists
  }

  /// What a refused form shows again: what the user has changed, and else what is known by now.
  static func merged(_ form: FormValues, _ known: ContactDetails) -> FormValues {
    var values = initial(known)
    for name in fields.map(\.name) where name != "properties" && !isSame(form.text(name), form.text(before(name))) {
      values[name] = form.text(name)
    }
    if let properties = try? PropertyLines(form, known) {
      values["properties"] = properties.merged
    } else {
      for name in ["properties", before("properties")] { values[name] = form.text(name) }
    }
    return FormValues(values.compactMap { name, value in value.map { (name: name, value: $0) } })
  }

  /// Fields that both the user and somebody else have changed, and what they are now.
  private static func overwritten(
    _ form: FormValues, _ changed: Set<String>, _ known: ContactDetails
  ) -> [(field: String, now: String)] {
    let values = values(of: known)
    return fields.filter { changed.contains($0.name) && $0.name != "properties" }.compactMap { field in
      let now = values[field.name] ?? nil
      if isSame(now, form.text(before(field.name))) || isSame(now, form.text(field.name)) { return nil }
      return (field.name, now.map { "is \($0) now" } ?? "is empty now")
    }
  }

  private static func refuse(_ overwritten: [(field: String, now: String)]) throws(HTTPErrorResponse) {
    guard let first = overwritten.first else { return }
    let others = overwritten.dropFirst().map { other in
      ", \(fields.first { $0.name == other.field }?.label ?? other.field) \(other.now)"
    }
    throw .conflict(
      "\(first.field) \(first.now)\(others.joined()): that was changed while you wrote. Save again to replace it.")
  }

  private static func isSame(_ one: String?, _ other: String?) -> Bool { (one ?? "").hasSameBytes(as: other ?? "") }

  /// The properties of a form, line by line.
  private struct PropertyLines {
    private let typed: [UTF8String: String]
    private let before: [UTF8String: String]
    private let known: [UTF8String: JSONValue]

    /// - Throws: `HTTPErrorResponse` (400).
    init(_ form: FormValues, _ contact: ContactDetails) throws {
      typed = try Self.lines(form.text("properties"))
      before = try Self.lines(form.text(ContactForm.before("properties")))
      known = Dictionary(uniqueKeysWithValues: ContactForm.lines(of: contact).map { ($0.name, $0.value) })
    }

    private static func lines(_ text: String?) throws -> [UTF8String: String] {
      var lines: [UTF8String: String] = [:]
      for line in (text ?? "").split(separator: "\n") where !line.trimmed.isEmpty {
        let parts = line.split(atEach: "=", maxSplits: 1)
        guard parts.count == 2, !parts[0].trimmed.isEmpty, !parts[1].trimmed.isEmpty else {
          throw HTTPErrorResponse.badRequest("properties must have a line such as food=fish for each property.")
        }
        lines[UTF8String(parts[0].trimmed)] = String(parts[1].trimmed)
      }
      return lines
    }

    /// The names of those that the user has added, changed or removed.
    private var changed: [UTF8String] {
      Set(typed.keys).union(before.keys).filter { !isSame(typed[$0], before[$0]) }.sorted()
    }

    var request: [UTF8String: JSONValue]? {
      var changes: [UTF8String: JSONValue] = [:]
      for name in changed {
        guard let text = typed[name] else {
          changes[name] = .null
          continue
        }
        // What was a number or a flag stays one, if it can.
        changes[name] = known[name].map { value(text, in: $0) } ?? .string(text)
      }
      return changes.isEmpty ? nil : changes
    }

    var overwritten: [(field: String, now: String)] {
      changed.compactMap { name in
        let now = known[name].map(ContactForm.shown)
        if isSame(now, before[name]) || isSame(now, typed[name]) { return nil }
        return ("properties", now.map { "has \(name.text)=\($0) now" } ?? "has no \(name.text) now")
      }
    }

    var merged: String {
      var lines = known.mapValues(ContactForm.shown)
      for name in changed { lines[name] = typed[name] }
      return lines.sorted { $0.key < $1.key }.map { "\($0.key.text)=\($0.value)" }.joined(separator: "\n")
    }
  }

  /// A property as a line has it.
  static func shown(_ value: JSONValue) -> String { value.text ?? String(decoding: value.json, as: UTF8.self) }

  /// The properties that a line can hold; others stay as they are.
  private static func lines(of contact: ContactDetails) -> [(name: UTF8String, value: JSONValue)] {
    (contact.properties ?? [:]).sorted { $0.key < $1.key }.map { (name: $0.key, value: $0.value) }.filter { line in
      let text = shown(line.value)
      return !text.isEmpty && !text.utf8.contains { $0 == 0x0A || $0 == 0x0D }
        && !line.name.text.utf8.contains { $0 == UInt8(ascii: "=") || $0 == 0x0A || $0 == 0x0D }
        && text.trimmed.hasSameBytes(as: text) && line.name.text.trimmed.hasSameBytes(as: line.name.text)
    }
  }

  private static func value(_ text: String, in place: JSONValue) -> JSONValue {
    guard place.text == nil, let value = try? JSONValue(json: Array(text.utf8), rules: .own) else {
      return .string(text)
    }
    switch value {
    case .object, .array, .null: return .string(text)
    default: return value
    }
  }
}
