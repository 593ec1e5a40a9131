import Operations
import Wire

/// The form of a new import: the file, and where its contacts go. What its columns are is asked once it is here.
enum ImportForm {
  /// How the file is read, for one that is guessed wrongly.
  static let reading = [
    FormField(
      "encoding", label: "Encoding", kind: .choice(ImportEncoding.allCases.map { FormField.Choice($0.rawValue) }),
      hint: "Guessed if it is left open."),
    FormField(
      "delimiter", label: "Between cells",
      kind: .choice([",", ";", "\t", "|"].map { FormField.Choice($0 == "\t" ? "tab" : $0, label(ofDelimiter: $0)) }),
      hint: "Found by the first rows if it is left open."),
  ]

  static let mode = FormField(
    "mode", label: "What is done with the rows",
    kind: .choice(ImportMode.allCases.map { FormField.Choice($0.rawValue, label(of: $0)) }), isRequired: true)

  /// The template has the control itself: a field that streams is no text.
  static let file = FormField("file", label: "File", isRequired: true)

  static let all = [name, listNumber, segment, mode, file] + reading

  private static let name = ImportRequest.form.field(
    "name", label: "Your name for it", hint: "The file's name if it is empty.")
  private static let listNumber = FormField(
    "listId", label: "Put them on the list", kind: .number, hint: "Its number, as its page says. Empty for none.")
  private static let segment = FormField(
    "segmentId", label: "Put them in the static segment", kind: .number, hint: "Its number, as its page says.")

  /// The lists by name, unless there are very many.
  /// - Parameter segment: the number in the address, if there is one.
  static func new(_ call: ConsoleCall, segment: String?) async throws -> [FormField] {
    var list = listNumber
    if call.allows(ListOperations.list) {
      let lists = try await call.read(ListOperations.list, PageRequest(limit: 200))
      if lists.next == nil {
        list.kind = .choice(lists.items.map { FormField.Choice("\($0.listId)", $0.name) })
        list.hint = ""
      }
    }
    return [name, list] + (segment == nil ? [] : [Self.segment]) + [mode, file] + reading
  }

  /// - Parameter fileName: as the browser calls it.
  static func request(_ form: FormValues, fileName: String?) throws -> ImportRequest {
    let visible = (fileName ?? "").unicodeScalars.filter { $0.value >= 0x20 }
    let shown = String(String.UnicodeScalarView(visible.suffix(100)))
    return ImportRequest(
      name: form.text("name") ?? (shown.isEmpty ? nil : shown), listId: try form.number("listId"),
      segmentId: try form.number("segmentId"), mode: try form.choice("mode"),
      delimiter: form.text("delimiter").map { $0 == "tab" ? "\t" : $0 }, encoding: try form.choice("encoding"),
      review: true)
  }

  // MARK: Words

  static func label(of mode: ImportMode) -> String {
    switch mode {
    case .upsert: "Add new contacts, and update known ones"
    case .add: "Add new contacts, and skip known ones"
    case .update: "Update known contacts, and skip new ones"
    case .replace: "Add and update, and take all others off the list or segment"
    case .suppress: "Send them no marketing from now on"
    }
  }

  static func label(of identity: ImportIdentity) -> String {
    switch identity {
    case .originalId: "the contact of its original id"
    case .emailAddress: "the contact of its e-mail address"
    case .mobileNumber: "the contact of its mobile number"
    }
  }

  static func label(ofDelimiter delimiter: String) -> String {
    switch delimiter {
    case ",": "Comma"
    case ";": "Semicolon"
    case "\t": "Tab"
    case "|": "Bar"
    default: delimiter
    }
  }
}
