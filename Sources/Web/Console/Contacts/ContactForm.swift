import Operations
import Wire

/// The form of a contact's fields.
enum ContactForm {
  /// Most lists that can be ticked. Where there are more, their numbers are typed.
  static let mostLists = 50

  static let fields = form(lists: nil)

  /// - Parameter lists: all lists of the customer; `nil` if they are too many.
  static func form(lists: [ListReply]?) -> [FormField] {
    ContactField.allCases.map { field in
      ContactRequest.form.field(field.name, label: ContactPages.label(of: field), kind: .text, hint: "")
    } + [
      ContactRequest.form.field("dateOfBirth", label: "Date of birth", hint: "A day, as in 1980-02-29."),
      lists.map { lists in
        FormField(
          "listIds", label: "Lists",
          kind: .choices(lists.map { FormField.Choice("\($0.listId)", "\($0.name) (\($0.listId))") }))
      }
        ?? FormField("listIds", label: "Lists", hint: "Their numbers, with commas between them; empty for no list."),
      FormField(
        "properties", label: "Properties", kind: .area(rows: 8),
        hint: "A line for each, as in food=fish. A line that is taken away removes its property."),
    ]
  }

  /// - Parameter ticksLists: whether the form has the lists to tick.
  static func initial(_ contact: ContactDetails, ticksLists: Bool) -> [String: [String]] {
    var values: [String: [String]] = [:]
    for field in ContactField.allCases { values[field.name] = contact.texts[field].map { [$0] } }
    values["dateOfBirth"] = contact.dateOfBirth.map { [$0] }
    let lists = contact.listIds.map { "\($0)" }
    values["listIds"] = ticksLists ? lists : [lists.joined(separator: ", ")]
    values["properties"] = [lines(of: contact).map { "\($0.name)=\(shown($0.value))" }.joined(separator: "\n")]
    return values
  }

  /// What the form changes: every field of it, as an empty one removes what there was.
  /// - Throws: `HTTPErrorResponse`, naming the field.
  static func request(_ form: FormValues, _ known: ContactDetails) throws -> ContactRequest {
    let lists = try form.all("listIds").flatMap { $0.split(separator: ",") }.map { text in
      guard let list = ListID(String(text.trimmed)) else {
        throw HTTPErrorResponse.badRequest("listIds must be numbers of lists, with commas between them.")
      }
      return list
    }
    return ContactRequest(
      listIds: lists, texts: ContactTexts { form.text($0.name) ?? "" },
      dateOfBirth: form.text("dateOfBirth") ?? "",
      properties: try properties(form.text("properties") ?? "", known))
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

  private static func properties(
    _ text: String, _ known: ContactDetails
  ) throws -> [UTF8String: JSONValue]? {
    var wanted: [UTF8String: String] = [:]
    for line in text.split(separator: "\n") where !line.trimmed.isEmpty {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2, !parts[0].trimmed.isEmpty, !parts[1].trimmed.isEmpty else {
        throw HTTPErrorResponse.badRequest("properties must have a line such as food=fish for each property.")
      }
      wanted[UTF8String(parts[0].trimmed)] = String(parts[1].trimmed)
    }
    var changes: [UTF8String: JSONValue] = [:]
    for line in lines(of: known) {
      guard let text = wanted.removeValue(forKey: line.name) else {
        changes[line.name] = .null
        continue
      }
      // What was a number or a flag stays one, if it can.
      if !shown(line.value).hasSameBytes(as: text) { changes[line.name] = value(text, in: line.value) }
    }
    for (name, text) in wanted { changes[name] = .string(text) }
    return changes.isEmpty ? nil : changes
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
