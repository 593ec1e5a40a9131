/// Rows of text in columns, for people. Control characters in cells are escaped, line ends too.
struct TextTable {
  struct Column {
    var title: String
    /// Numbers are aligned to the right.
    var isNumber = false
  }

  var columns: [Column]
  var rows: [[String]] = []

  /// - Parameter titles: of the columns; a leading `#` marks a column of numbers.
  init(_ titles: String...) { self.init(titles) }

  /// A row for each item.
  init<Item>(_ columns: [TableColumn<Item>], of items: [Item]) {
    self.init(columns.map(\.title))
    rows = items.map { item in columns.map { $0.cell(item) ?? "–" } }
  }

  private init(_ titles: [String]) {
    columns = titles.map { title in
      title.hasPrefix("#") ? Column(title: String(title.dropFirst()), isNumber: true) : Column(title: title)
    }
  }

  init(_ columns: [Column]) { self.columns = columns }

  /// Adds a row; an absent value shows as a dash.
  mutating func add(_ cells: String?...) { rows.append(cells.map { $0 ?? "–" }) }

  /// The table with a line under its titles, or a sentence when it has no rows.
  func text(empty: String) -> String {
    guard !rows.isEmpty else { return empty + "\n" }
    let rows = rows.map { $0.map(\.onOneLine) }
    let titles = columns.map(\.title)
    let widths = columns.indices.map { column in
      ([titles] + rows).map { $0[column].count }.max() ?? 0
    }
    let line = widths.map { String(repeating: "─", count: $0) }
    return ([titles, line] + rows).map { row in
      let cells = row.indices.map { pad(row[$0], to: widths[$0], right: columns[$0].isNumber) }
      return cells.joined(separator: "  ").trimmedEnd + "\n"
    }.joined()
  }

  private func pad(_ text: String, to width: Int, right: Bool) -> String {
    let space = String(repeating: " ", count: width - text.count)
    return right ? space + text : text + space
  }
}

/// A column of a table, and what it shows of each item.
struct TableColumn<Item> {
  let title: String
  let cell: (Item) -> String?

  /// - Parameter title: a leading `#` marks a column of numbers.
  init(_ title: String, _ cell: @escaping (Item) -> String?) {
    self.title = title
    self.cell = cell
  }
}

extension String {
  fileprivate var trimmedEnd: String { String(reversed().drop { $0 == " " }.reversed()) }
}
