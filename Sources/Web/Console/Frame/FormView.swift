import Operations
import Wire

extension ConsoleCall {
  /// A form for a template: `{{#form}}{{>_errors}}{{#fields}}{{>_field}}{{/fields}}{{/form}}`, or a single field as
  /// `{{#form.name}}{{>_field}}{{/form.name}}`. A refused form has what was typed.
  /// - Parameters:
  ///   - initial: what the fields have at first.
  ///   - action: the path of the action, for a page with several forms; `nil` for its only one.
  func formView(
    _ fields: [FormField], _ initial: [String: String?] = [:], of action: String? = nil
  ) -> [String: Any] {
    formView(fields, all: initial.mapValues { $0.map { [$0] } ?? [] }, of: action)
  }

  /// As above, for fields that can have several values.
  func formView(
    _ fields: [FormField], all initial: [String: [String]], of action: String? = nil
  ) -> [String: Any] {
    let isOther = action.map { $0 != refused } ?? false
    return FormView(fields, initial, isOther ? FormValues() : form, isOther ? nil : refusal).values
  }
}

/// What a form's template shows.
struct FormView {
  let values: [String: Any]

  /// - Parameters:
  ///   - typed: what was sent; empty when the form is shown for the first time.
  ///   - refusal: whose sentence stands at the field that it names, and in the summary.
  init(
    _ fields: [FormField], _ initial: [String: [String]] = [:], _ typed: FormValues = FormValues(),
    _ refusal: HTTPErrorResponse? = nil
  ) {
    let error = refusal.map { Self.place($0.sentence, fields) }
    var values: [String: Any] = [:]
    var all: [[String: Any]] = []
    for field in fields {
      let current = typed.isEmpty ? initial[field.name] ?? [] : typed.all(field.name)
      let shown = field.shown(current, error: error?.field == field.name ? error?.sentence : nil)
      all.append(shown)
      values[field.name] = shown
    }
    values["fields"] = all
    if let error { values["errors"] = [["id": error.field.map(FormField.id) ?? "", "text": error.sentence]] }
    self.values = values
  }

  /// The field that a sentence begins with, and the sentence with the field's label.
  static func place(_ sentence: String, _ fields: [FormField]) -> (field: String?, sentence: String) {
    let named = fields.filter { field in
      guard sentence.hasPrefix(field.name) else { return false }
      guard let next = sentence.utf8.dropFirst(field.name.utf8.count).first else { return true }
      return " :.,[".utf8.contains(next)
    }
    guard let field = named.max(by: { $0.name.utf8.count < $1.name.utf8.count }) else { return (nil, sentence) }
    return (field.name, field.label + sentence.dropFirst(field.name.count))
  }
}

extension FormField {
  /// The `id` of its control.
  static func id(_ name: String) -> String {
    "f-" + String(name.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" })
  }

  /// For `{{>_field}}`.
  fileprivate func shown(_ current: [String], error: String?) -> [String: Any] {
    let id = Self.id(name)
    var described = hint.isEmpty ? [] : ["\(id)-hint"]
    if error != nil { described.append("\(id)-error") }
    var values: [String: Any] = [
      "name": name, "id": id, "label": label, "hint": hint, "error": error ?? "", "required": isRequired,
      "described": described.joined(separator: " "), "autocomplete": autocomplete ?? "", "maximum": "", "most": "",
      "isFile": false,
      "value": isHidden ? "" : current.last ?? "", "isChecked": current.last.map { $0 != "false" } ?? false,
    ]
    for kind in ["isInput", "isArea", "isChoice", "isChoices", "isFlag", "isHidden"] { values[kind] = false }
    switch kind {
    case .text: values.merge(input("text")) { $1 }
    case .email: values.merge(input("email")) { $1 }
    case .password: values.merge(input("password")) { $1 }
    case .moment: values.merge(input("datetime-local")) { $1 }
    case .number:
      values.merge(input("text")) { $1 }
      values.merge(["inputmode": "numeric", "maximum": "", "most": ""]) { $1 }
    case .hidden: values["isHidden"] = true
    case .flag: values["isFlag"] = true
    case .area(let rows):
      values["isArea"] = true
      values["rows"] = rows
      values["maximum"] = longest
      values["most"] = longest.isEmpty ? "" : limits.map { String($0.upperBound) } ?? ""
    case .file(let extensions):
      values["isArea"] = true
      values["isFile"] = true
      values["rows"] = 5
      values["accept"] = extensions.map { ".\($0)" }.joined(separator: ",")
    case .choice(let choices):
      values["isChoice"] = true
      values["choices"] = shown(choices, current)
      values["isOptional"] = !isRequired
    case .choices(let choices):
      values["isChoices"] = true
      values["choices"] = shown(choices, current)
    }
    return values
  }

  /// Whether it is never shown again.
  private var isHidden: Bool { if case .password = kind { true } else { false } }

  /// Whether it may hold a secret: a page for somebody who is not signed in has nothing of it. A form that is refused still has the file that
  /// was chosen.
  var isSecret: Bool {
    switch kind {
    case .password, .file: true
    default: false
    }
  }

  /// Most UTF-16 units that a browser lets in: a character of the API can be two.
  private var longest: String {
    limits.map { $0.upperBound < 1_000_000 ? String($0.upperBound * 2) : "" } ?? ""
  }

  private func input(_ type: String) -> [String: Any] {
    [
      "isInput": true, "type": type, "inputmode": "", "maximum": type == "text" ? longest : "",
      "most": type == "text" && !longest.isEmpty ? limits.map { String($0.upperBound) } ?? "" : "",
    ]
  }

  private func shown(_ choices: [Choice], _ current: [String]) -> [[String: Any]] {
    choices.enumerated().map { number, choice in
      [
        "value": choice.value, "label": choice.label, "name": name, "id": "\(Self.id(name))-\(number)",
        "isSelected": current.contains { $0.hasSameBytes(as: choice.value) },
      ]
    }
  }
}
