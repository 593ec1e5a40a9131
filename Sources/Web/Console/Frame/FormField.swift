import Foundation
import Operations
import Wire

/// A field of a form: its label, its control, and what the browser knows of its limits.
struct FormField: Sendable {
  enum Kind: Sendable {
    case text, email, number, flag, hidden
    /// In the customer's time zone.
    case moment
    /// Never shown again.
    case password
    /// So many lines.
    case area(rows: Int)
    /// A file, or its text, pasted or dropped; with one of these extensions if there are any. What is no text comes in base64. Its form
    /// is sent as `multipart/form-data`.
    case file([String])
    case choice([Choice])
    /// Several of them.
    case choices([Choice])
  }

  struct Choice: Sendable, Hashable {
    let value: String
    let label: String

    init(_ value: String, _ label: String? = nil) {
      self.value = value
      self.label = label ?? value
    }
  }

  /// As of the API's body.
  let name: String
  let label: String
  var kind: Kind
  var hint: String
  var isRequired: Bool
  /// Characters of a text, values of a number.
  var limits: ClosedRange<Int64>?
  /// The attribute `autocomplete`.
  var autocomplete: String?

  init(
    _ name: String, label: String, kind: Kind = .text, hint: String = "", isRequired: Bool = false,
    limits: ClosedRange<Int64>? = nil, autocomplete: String? = nil
  ) {
    self.name = name
    self.label = label
    self.kind = kind
    self.hint = hint
    self.isRequired = isRequired
    self.limits = limits
    self.autocomplete = autocomplete
  }
}

/// Names of the API, as people and the command line have them.
extension String {
  /// `collapseKey` becomes `Collapse key`.
  var inWords: String {
    let words = separated(by: " ")
    return words.prefix(1).uppercased() + words.dropFirst()
  }

  /// With `-`, `withCreated` becomes `with-created`.
  func separated(by separator: String) -> String {
    reduce(into: "") { $0 += $1.isUppercase ? separator + String($1).lowercasedASCII : String($1) }
  }
}

extension BodyForm {
  /// The form's field for one of the body, with the hint and the limits that the API has.
  /// - Parameters:
  ///   - kind: `nil` for the usual one of its type.
  ///   - hint: in place of the API's sentence.
  func field(
    _ name: String, label: String, kind: FormField.Kind? = nil, hint: String? = nil, isRequired: Bool? = nil
  ) -> FormField {
    guard case .object(let fields, _, _) = schema.shape, let field = fields.first(where: { $0.name == name }) else {
      preconditionFailure("\(self.name ?? "a body") has no field \(name)")
    }
    let (usual, limits) = FormField.Kind.usual(of: field.schema)
    return FormField(
      name, label: label, kind: kind ?? usual, hint: hint ?? field.description.replacing("`", with: ""),
      isRequired: isRequired ?? field.isRequired, limits: limits)
  }
}

extension FormField.Kind {
  fileprivate static func usual(of schema: Schema) -> (FormField.Kind, ClosedRange<Int64>?) {
    switch schema.shape {
    case .string(let length, _):
      let limits = length.map { Int64($0.lowerBound)...Int64($0.upperBound) }
      return (limits.map { $0.upperBound > 300 } == true ? .area(rows: 4) : .text, limits)
    case .strings(let words): return (.choice(words.map { FormField.Choice($0) }), nil)
    case .integer(let range): return (.number, range)
    case .boolean, .onlyTrue: return (.flag, nil)
    case .timestamp: return (.moment, nil)
    case .either(let choices): return choices.first.map(usual) ?? (.text, nil)
    default: return (.text, nil)
    }
  }
}

/// What was sent with a form. Texts stand as they were typed; an empty field is absent.
struct FormValues: Sendable {
  private var pairs: [(name: String, value: String)]

  init(_ pairs: [(name: String, value: String)] = []) { self.pairs = pairs }

  /// Whether nothing was sent: the form is shown for the first time.
  var isEmpty: Bool { pairs.isEmpty }

  /// Every name, once, in the order of the form.
  var names: [String] {
    var seen: Set<UTF8String> = []
    return pairs.map(\.name).filter { seen.insert(UTF8String($0)).inserted }
  }

  /// The text; `nil` if it is absent or empty. Line ends are single line feeds, as browsers send others than were typed.
  func text(_ name: String) -> String? { all(name).last { !$0.isEmpty } }

  /// All values of a name that are not empty, as of boxes that can be ticked.
  func all(_ name: String) -> [String] {
    pairs.filter { $0.name.hasSameBytes(as: name) && !$0.value.isEmpty }.map { $0.value.replacing("\r\n", with: "\n") }
  }

  /// The lines of a text without white space around them; those without anything are passed over.
  func lines(_ name: String) -> [String] {
    (text(name) ?? "").split(separator: "\n").map { String($0.trimmed) }.filter { !$0.isEmpty }
  }

  /// Whether a box was ticked.
  func flag(_ name: String) -> Bool { text(name) != nil && text(name) != "false" }

  /// A whole number; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func number<Number: FixedWidthInteger>(_ name: String, _: Number.Type = Number.self) throws -> Number? {
    guard let text = text(name) else { return nil }
    guard let number = Number(text.trimmed) else {
      throw HTTPErrorResponse.badRequest("\(name) must be a whole number.")
    }
    return number
  }

  /// The number of something; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func number<ID: Identifier>(_ name: String, _: ID.Type = ID.self) throws -> ID? {
    guard let text = text(name) else { return nil }
    guard let id = ID(String(text.trimmed)) else {
      throw HTTPErrorResponse.badRequest("\(name) must be a whole number, such as 7.")
    }
    return id
  }

  /// One of an enumeration; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func choice<Choice: RawRepresentable<String> & CaseIterable>(
    _ name: String, _: Choice.Type = Choice.self
  ) throws -> Choice? {
    guard let text = text(name) else { return nil }
    guard let choice = Choice(rawValue: text) else {
      throw HTTPErrorResponse.badRequest(
        "\(name) must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", ")).")
    }
    return choice
  }

  /// A moment in the customer's zone; `nil` if absent.
  /// - Throws: `HTTPErrorResponse` (400), naming the field.
  func moment(_ name: String, in zone: ConsoleZone) throws -> Timestamp? {
    guard let text = text(name) else { return nil }
    guard let moment = zone.moment(ofField: text) else {
      throw HTTPErrorResponse.badRequest("\(name) must be a day and a time, such as 2026-11-20T22:13.")
    }
    return moment
  }

  /// With another value for a name.
  func with(_ name: String, _ value: String) -> FormValues {
    FormValues(pairs.filter { !$0.name.hasSameBytes(as: name) } + [(name, value)])
  }

  /// Without the values of some names.
  func without(_ isLeft: (String) -> Bool) -> FormValues { FormValues(pairs.filter { !isLeft($0.name) }) }
}
