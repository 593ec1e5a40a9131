import Wire
/// A template as a tree of texts, variables and sections, for rendering many times over.
///
/// swift-mustache says what a template means: it parses each of them first, and those with transforms, such as
/// `{{uppercased(firstName)}}`, are rendered by it. All others are rendered from this tree, to the same bytes, in a tenth of the
/// time: pages are made while somebody waits, and messages a hundred thousand at a time. A test holds the two to each other.
struct TemplateTree: Sendable {
  indirect enum Node: Sendable {
    case text([UInt8])
    /// `escapes`: whether the value is escaped as the format needs it.
    case variable(Name, escapes: Bool)
    case section(Name, [Node])
    case inverted(Name, [Node])
  }

  /// A name in a tag.
  struct Name: Sendable {
    /// The names between the dots; empty for `.`, the thing that the section is about.
    let path: [String]
    /// What the name stands for at the top of the page.
    let variable: Variable
  }

  let nodes: [Node]

  /// - Parameters:
  ///   - tags: what `TagScanner` found in the text.
  ///   - isJSON: whether the texts between the tags, and every value, are to be written as parts of a JSON string.
  /// - Returns: `nil` when this template is left to swift-mustache.
  init?(_ text: String, _ tags: [TemplateTag], isJSON: Bool = false) {
    guard tags.allSatisfy({ $0.kind == .comment || $0.name == "." || $0.path != nil }),
      Self.hasPlainLineEnds(text), Self.bracesStandAlone(text, tags)
    else { return nil }
    var builder = TreeBuilder(text, tags)
    let nodes = builder.nodes(atLineStart: true)
    self.nodes = isJSON ? nodes.map(\.inJSON) : nodes
  }

  /// The parser takes six more characters for line ends at the end of a tag's line; who uses them is left to it.
  private static func hasPlainLineEnds(_ text: String) -> Bool {
    !text.contains { $0.isNewline && $0 != "\n" && $0 != "\r\n" }
  }

  /// Whether no brace of a tag is part of a larger character, as it is before a combining accent: the parser reads characters.
  private static func bracesStandAlone(_ text: String, _ tags: [TemplateTag]) -> Bool {
    let bytes = text.utf8
    return tags.allSatisfy { tag in
      [tag.range.lowerBound, tag.range.lowerBound + 1, tag.range.upperBound - 1, tag.range.upperBound].allSatisfy {
        bytes.index(bytes.startIndex, offsetBy: $0).samePosition(in: text) != nil
      }
    }
  }
}

extension TemplateTree.Node {
  fileprivate var inJSON: Self {
    switch self {
    case .text(let bytes):
      var escaped: [UInt8] = []
      JSONText.append(String(decoding: bytes, as: UTF8.self), to: &escaped)
      return .text(escaped)
    case .variable(let name, _): return .variable(name, escapes: true)
    case .section(let name, let nodes): return .section(name, nodes.map(\.inJSON))
    case .inverted(let name, let nodes): return .inverted(name, nodes.map(\.inJSON))
    }
  }
}
