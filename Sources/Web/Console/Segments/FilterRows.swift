import Wire

/// A filter as rows of field, operator and value, for a form: comparisons that are joined by one `and` or one `or`.
struct FilterRows {
  struct Row: Equatable {
    /// As a line has it, as in `properties.food`.
    var field = ""
    var op = FilterOperator.equal.rawValue
    /// As people type it: texts without quotes, the values of `in` with commas between them.
    var value = ""

    /// Whether nothing was chosen yet.
    var isBlank: Bool { field.trimmed.isEmpty }
  }

  /// Whether one of the rows is enough.
  var isAny = false
  var rows: [Row]

  /// Operators in the order of a row's choice.
  static let operators =
    FilterOperator.allCases.map(\.rawValue) + [
      "in", "contains", "starts with", "ends with", "is set", "is not set", "within last", "within next",
    ]

  /// Names that a row can have, of which properties are but the beginning.
  static let fieldNames = FilterField.ofContacts.map(\.name) + ["properties."]

  init(rows: [Row], isAny: Bool = false) {
    self.rows = rows
    self.isAny = isAny
  }

  /// - Returns: nil for a filter that is more than one level of comparisons.
  init?(_ filter: Filter) {
    switch filter {
    case .everyone: self.init(rows: [])
    case .and(let parts): self.init(parts, isAny: false)
    case .or(let parts): self.init(parts, isAny: true)
    default: self.init([filter], isAny: false)
    }
  }

  private init?(_ parts: [Filter], isAny: Bool) {
    let rows = parts.compactMap { Row($0) }
    guard rows.count == parts.count else { return nil }
    self.init(rows: rows, isAny: isAny)
  }

  /// What the rows say; those without a field say nothing.
  /// - Throws: `FilterRowProblem`.
  func filter() throws(FilterRowProblem) -> Filter {
    var parts: [Filter] = []
    for (number, row) in rows.enumerated() where !row.isBlank {
      do {
        parts.append(try row.filter())
      } catch {
        throw FilterRowProblem(number: number + 1, problem: error.problem)
      }
    }
    if parts.isEmpty { return .everyone }
    return parts.count == 1 ? parts[0] : isAny ? .or(parts) : .and(parts)
  }
}

/// Which row cannot be read, counted from 1, and why.
struct FilterRowProblem: Error {
  let number: Int
  let problem: String
}

extension FilterRows.Row {
  /// - Returns: nil for what is no comparison.
  init?(_ filter: Filter) {
    guard case .compare(let field, let comparison) = filter else { return nil }
    let name = Self.name(of: field)
    let rest = filter.text.utf8.dropFirst(name.utf8.count + 1)
    let op = FilterRows.operators.filter { rest.starts(with: $0.utf8) }.max { $0.utf8.count < $1.utf8.count }
    guard let op else { return nil }
    let raw = String(Substring(rest.dropFirst(op.utf8.count))).trimmed
    let type = Self.type(of: field, op)
    var value = String(raw)
    switch comparison {
    case .oneOf(let literals):
      let shown = literals.map { literal in
        let raw = Self.raw(literal, of: field)
        let short = Self.short(raw, type)
        return short.contains(",") ? raw : short
      }
      value = shown.joined(separator: ", ")
      if !Self.line(value, op, type).hasSameBytes(as: raw) { value = String(raw) }
    default: value = Self.short(String(raw), type)
    }
    self.init(field: name, op: op, value: value)
  }

  /// - Throws: `FilterError`, whose place means nothing to people: they have typed no line.
  func filter() throws(FilterError) -> Filter {
    let name = String(field.trimmed)
    guard case .compare(let known, _) = try Filter(text: "\(name) is set") else {
      throw FilterError(.character(1), "\(name) is no field")
    }
    return try Filter(text: "\(name) \(op) \(Self.line(String(value.trimmed), op, Self.type(of: known, op)))")
  }

  private static func name(of field: FilterField) -> String {
    String(Filter.compare(field, .isSet).text.dropLast(" is set".count))
  }

  /// A literal as a line has it.
  private static func raw(_ literal: FilterLiteral, of field: FilterField) -> String {
    let line = Filter.compare(field, .compare(.equal, literal)).text
    return String(Substring(line.utf8.dropFirst(name(of: field).utf8.count + " = ".utf8.count)))
  }

  /// What the value behind the operator is.
  private static func type(of field: FilterField, _ op: String) -> FilterFieldType {
    switch op {
    case "contains", "starts with", "ends with": .text
    default: field.type
    }
  }

  // MARK: Values

  /// What people type for a literal of a line: without quotes where that says the same.
  private static func short(_ raw: String, _ type: FilterFieldType) -> String {
    guard raw.utf8.last == UInt8(ascii: "'"), let start = raw.utf8.firstIndex(of: UInt8(ascii: "'")) else { return raw }
    let inside = raw.utf8[start...].dropFirst().dropLast()
    let short = String(Substring(inside)).replacing("''", with: "'")
    // Blanks around what is typed do not count.
    return short.trimmed.hasSameBytes(as: short) && literal(short, type).hasSameBytes(as: raw) ? short : raw
  }

  /// What follows the operator in a line.
  private static func line(_ value: String, _ op: String, _ type: FilterFieldType) -> String {
    switch op {
    case "is set", "is not set": ""
    case "within last", "within next": value
    case "in":
      value.hasPrefix("(")
        ? value : "(" + items(value).map { literal($0, type) }.joined(separator: ", ") + ")"
    default: literal(value, type)
    }
  }

  /// A literal of a line for what people type.
  private static func literal(_ value: String, _ type: FilterFieldType) -> String {
    let isWritten = ["'", "date '", "version '"].contains { value.utf8.starts(with: $0.utf8) }
    if isWritten, value.utf8.last == UInt8(ascii: "'"), value.utf8.count > 1 { return value }
    let quoted = "'" + value.replacing(each: "'", with: "''") + "'"
    switch type {
    case .text, .word: return quoted
    case .version: return "version \(quoted)"
    case .boolean: return value
    case .date: return "date \(quoted)"
    case .property:
      if CalendarDay(value) != nil { return "date \(quoted)" }
      // A number, true or false.
      let isBare = value.utf8.allSatisfy { $0 > 0x20 } && (try? Filter(text: "properties.x = \(value)")) != nil
      return isBare ? value : quoted
    }
  }

  /// The parts between commas that stand in no quotes.
  private static func items(_ value: String) -> [String] {
    var items = [""]
    var isQuoted = false
    for character in value.unicodeScalars {
      if character == "'" { isQuoted.toggle() }
      if character == ",", !isQuoted {
        items.append("")
      } else {
        items[items.count - 1].unicodeScalars.append(character)
      }
    }
    return items.map { String($0.trimmed) }.filter { !$0.isEmpty }
  }
}
