/// Prose with code between backticks, as pieces for templates: `{{#code}}<code>{{code}}</code>{{/code}}{{text}}`. Links are `href`, and
/// prose has none.
package enum Prose {
  /// One line of prose. A piece has one of `code` and `text`, and the other is empty.
  package static func line(_ text: some StringProtocol) -> [[String: Any]] {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return parts.indices.map { index in
      let isCode = index % 2 == 1 && index < parts.count - 1
      return ["code": isCode ? String(parts[index]) : "", "text": isCode ? "" : String(parts[index]), "href": ""]
    }
  }

  /// Paragraphs, which empty lines separate, each with its `pieces`.
  package static func paragraphs(_ text: String) -> [[String: Any]] {
    var paragraphs: [[String: Any]] = []
    var current: [Substring] = []
    for line in (text + "\n").split(separator: "\n", omittingEmptySubsequences: false) {
      if !line.isEmpty {
        current.append(line)
      } else if !current.isEmpty {
        paragraphs.append(["pieces": Self.line(current.joined(separator: " "))])
        current = []
      }
    }
    return paragraphs
  }
}
