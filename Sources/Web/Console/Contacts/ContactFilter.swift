import Operations
import Wire

/// The filter of the page of contacts: its line, a chip for each of its conditions, and a row that adds one.
struct ContactFilter {
  /// Query parameters of the row.
  static let row = ["field", "op", "value"]

  private let line: FilterLine
  private let row: FilterRows.Row
  private let rowProblem: String?

  init(_ call: ConsoleCall) {
    let row = FilterRows.Row(
      field: call.given("field") ?? "", op: call.given("op") ?? FilterOperator.equal.rawValue,
      value: call.given("value") ?? "")
    let line = FilterLine(call.given("filter"))
    guard !row.isBlank, let filter = line.filter else {
      (self.line, self.row, rowProblem) = (line, row, nil)
      return
    }
    do throws(FilterRowProblem) {
      let added = try FilterRows(rows: [row]).filter()
      (self.line, self.row, rowProblem) = (FilterLine(Self.joined(Self.parts(of: filter) + [added])), .init(), nil)
    } catch {
      (self.line, self.row, rowProblem) = (line, row, error.problem)
    }
  }

  /// Whether line and row say something.
  var isReadable: Bool { line.filter != nil && rowProblem == nil }

  /// What contacts have to meet; `nil` for nothing.
  var filter: Filter? { line.text.trimmed.isEmpty ? nil : line.filter }

  /// The line; `nil` for none.
  var given: String? { line.text.trimmed.isEmpty ? nil : line.text }

  /// For the template.
  /// - Parameter query: what is searched for beside it.
  func values(_ query: String?) -> [String: Any] {
    let parts = line.filter.map(Self.parts) ?? []
    let chips = parts.enumerated().map { number, part -> [String: Any] in
      var rest = parts
      rest.remove(at: number)
      return [
        "text": part.text,
        "remove": ConsolePath.path("/console/contacts", ["query": query, "filter": Self.joined(rest)]),
      ]
    }
    return [
      "filter": line.text, "wrong": line.wrong, "chips": chips, "hasChips": !chips.isEmpty,
      "row": [
        [
          "field": row.field, "value": row.value,
          "ops": FilterRows.operators.map { ["op": $0, "isSelected": $0.hasSameBytes(as: row.op)] as [String: Any] },
          "problem": rowProblem.map { [["sentence": $0]] } ?? [], "isOpen": rowProblem != nil,
        ] as [String: Any]
      ],
      "fieldNames": FilterRows.fieldNames.map { ["name": $0] },
    ]
  }

  /// The conditions that all have to be met.
  private static func parts(of filter: Filter) -> [Filter] {
    switch filter {
    case .everyone: []
    case .and(let parts): parts
    default: [filter]
    }
  }

  /// - Returns: nil for no conditions.
  private static func joined(_ parts: [Filter]) -> String? {
    parts.isEmpty ? nil : parts.count == 1 ? parts[0].text : Filter.and(parts).text
  }
}
