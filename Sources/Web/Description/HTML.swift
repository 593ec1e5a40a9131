import Wire

/// Prose as HTML.
enum HTML {
  /// One line of prose, escaped. Text between backticks becomes code.
  static func line(_ text: some StringProtocol) -> String {
    let parts = text.split(separator: "`", omittingEmptySubsequences: false)
    return parts.indices.map { index in
      index % 2 == 1 && index < parts.count - 1 ? "<code>\(parts[index].htmlEscaped)</code>" : parts[index].htmlEscaped
    }.joined()
  }

  /// Paragraphs of prose, separated by empty lines.
  static func prose(_ text: String) -> String {
    var paragraphs: [String] = []
    var current: [Substring] = []
    for line in (text + "\n").split(separator: "\n", omittingEmptySubsequences: false) {
      if !line.isEmpty {
        current.append(line)
      } else if !current.isEmpty {
        paragraphs.append("<p>\(Self.line(current.joined(separator: " ")))</p>")
        current = []
      }
    }
    return paragraphs.joined(separator: "\n")
  }
}
