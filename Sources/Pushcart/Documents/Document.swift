/// A page of `docs/` that is written from the hub's own tables. Whoever changes a table runs `make docs`; a test compares the two.
struct Document {
  /// Its name in `docs/`.
  let name: String
  /// The whole page, with a line end.
  let text: String

  /// - Throws: if the help cannot be read.
  static func all() throws -> [Document] {
    [
      Document(name: "settings.md", text: SettingsPage.text),
      Document(name: "cli.md", text: try CommandPage(PushcartCommand.self).text),
      Document(name: "errors.md", text: ErrorPage.text),
    ]
  }

  /// Stands below the heading of each page.
  static let note = "<!-- Written by `make docs`. Change the table that it comes from, and not this page. -->"
}

/// Tables in Markdown.
enum Markdown {
  /// - Parameters:
  ///   - heads: of the columns.
  ///   - rows: cells of text, without line ends.
  static func table(_ heads: [String], _ rows: [[String]]) -> String {
    ([heads, heads.map { _ in "---" }] + rows).map { row in
      "| " + row.map { $0.replacing("|", with: "\\|") }.joined(separator: " | ") + " |"
    }.joined(separator: "\n")
  }

  /// Text of people in which `<` and `*` mean themselves, except within backticks.
  static func escaped(_ text: String) -> String {
    text.split(separator: "`", omittingEmptySubsequences: false).enumerated().map { index, part in
      let part = String(part)
      return index.isMultiple(of: 2) ? part.replacing("<", with: "&lt;").replacing("*", with: "\\*") : part
    }.joined(separator: "`")
  }
}
