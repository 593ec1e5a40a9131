/// Builds a tree from a text and its tags.
///
/// Mustache drops the rest of a line on which a section's tag or a comment stands alone. Where exactly is told by following the
/// parser step by step, its oddities included: that a line ends a section does not make the next tag stand alone unless the
/// section was opened on a line of its own, and blanks at the very end are dropped.
struct TreeBuilder {
  private let bytes: [UInt8]
  private let tags: [TemplateTag]
  private var at = 0
  private var nextTag = 0

  init(_ text: String, _ tags: [TemplateTag]) {
    bytes = Array(text.utf8)
    self.tags = tags
  }

  /// What there is up to the closing tag of the section that is open, or the end.
  mutating func nodes(atLineStart: Bool) -> [TemplateTree.Node] {
    var nodes: [TemplateTree.Node] = []
    var atLineStart = atLineStart
    /// Blanks at the start of the line, not yet known to be part of the text.
    var indent: ArraySlice<UInt8> = []
    while at < bytes.count {
      if atLineStart { indent = takeBlanks() }
      let tag = nextTag < tags.count ? tags[nextTag] : nil
      let end = tag?.range.lowerBound ?? bytes.count
      if let lineEnd = bytes[at..<end].firstIndex(of: UInt8(ascii: "\n")) {
        nodes.append(indent, bytes[at...lineEnd])
        at = lineEnd + 1
        atLineStart = true
        continue
      }
      if end > at {
        nodes.append(indent, bytes[at..<end])
        indent = []
        atLineStart = false
      }
      guard let tag else { break }
      nextTag += 1
      at = tag.range.upperBound
      switch tag.kind {
      case .variable, .unescaped:
        nodes.append(indent, [])
        indent = []
        nodes.append(.variable(TemplateTree.Name(tag), escapes: tag.kind == .variable))
        atLineStart = false
      case .comment: atLineStart = atLineStart && endsLine()
      case .section, .inverted:
        atLineStart = atLineStart && endsLine()
        if !atLineStart {
          nodes.append(indent, [])
          indent = []
        }
        let inside = self.nodes(atLineStart: atLineStart)
        let name = TemplateTree.Name(tag)
        nodes.append(tag.kind == .section ? .section(name, inside) : .inverted(name, inside))
      case .close:
        if !(atLineStart && endsLine()) { nodes.append(indent, []) }
        return nodes
      }
    }
    return nodes
  }

  private mutating func takeBlanks() -> ArraySlice<UInt8> {
    let start = at
    while at < bytes.count, bytes[at] == 0x20 || bytes[at] == 0x09 { at += 1 }
    return bytes[start..<at]
  }

  /// Whether nothing but blanks follows on this line; then moves behind its end.
  private mutating func endsLine() -> Bool {
    guard at < bytes.count else { return true }
    let rest = bytes[at...].drop { $0 == 0x20 || $0 == 0x09 }
    if rest.starts(with: [0x0A]) {
      at = rest.startIndex + 1
    } else if rest.starts(with: [0x0D, 0x0A]) {
      at = rest.startIndex + 2
    } else {
      return false
    }
    return true
  }
}

extension [TemplateTree.Node] {
  /// Appends a text in two parts, to the text before it if there is one.
  fileprivate mutating func append(_ one: ArraySlice<UInt8>, _ other: ArraySlice<UInt8>) {
    guard !one.isEmpty || !other.isEmpty else { return }
    guard case .text(let before) = last else { return append(.text([UInt8](one) + other)) }
    self[count - 1] = .text(before + one + other)
  }
}

extension TemplateTree.Name {
  fileprivate init(_ tag: TemplateTag) {
    path = tag.name == "." ? [] : tag.path ?? []
    variable = path.isEmpty ? .nothing : Variable(path: path)
  }
}
