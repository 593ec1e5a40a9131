import Wire

/// Parses a Mustache text in one pass, and refuses what this hub does not support.
///
/// Partials, inheritance, pragmas and changed delimiters are refused, so that a template is one text that means the same
/// everywhere and cannot include itself. Tags and nesting are limited, so that a hostile template costs little.
///
/// A line that holds only a section's tag or a comment leaves no line behind. Which lines these are follows
/// swift-mustache in every detail. After a section, the next tag counts as alone on its line only if the section's
/// opening tag did. Blanks at the very end are dropped. Lines end with LF or CR LF.
struct TemplateParser {
  /// Most sections within sections.
  static let depthLimit = 32
  /// Most tags in a text.
  static let tagLimit = 2_000
  /// Most bytes of a name, transforms included.
  private static let nameLimit = 1000

  private enum Kind {
    case variable, unescaped, section, inverted, close, comment
  }

  private struct Tag {
    let kind: Kind
    let name: Substring
    /// Where the tag begins in the text.
    let start: Int
  }

  private let bytes: [UInt8]
  private var position = 0
  /// The sections around, the innermost last.
  private var open: [Tag] = []
  private(set) var tagCount = 0
  /// What the tags name, comments apart.
  private(set) var names: [TemplateName] = []

  init(_ text: String) { bytes = Array(text.utf8) }

  /// Parses the whole text.
  mutating func parse() throws(TemplateProblem) -> [TemplateNode] {
    let nodes = try section(atLineStart: true)
    if let section = open.last {
      throw refusal(section.start, "the section \(section.name) is opened and never closed")
    }
    // Without a tag there is nothing to drop.
    return tagCount == 0 ? [.text(bytes)] : nodes
  }

  // MARK: Structure

  /// Reads up to the closing tag of the innermost section, or to the end.
  private mutating func section(atLineStart: Bool) throws(TemplateProblem) -> [TemplateNode] {
    var nodes: [TemplateNode] = []
    /// The text since the last node.
    var text: [UInt8] = []
    /// Blanks at the start of the line: part of the text unless a tag stands alone on the line.
    var indent: ArraySlice<UInt8> = []
    var atLineStart = atLineStart
    func keepIndent() {
      text += indent
      indent = []
    }
    func append(_ node: TemplateNode) {
      if !text.isEmpty { nodes.append(.text(text)) }
      text = []
      nodes.append(node)
    }
    func end() -> [TemplateNode] {
      if !text.isEmpty { nodes.append(.text(text)) }
      return nodes
    }
    while position < bytes.count {
      if atLineStart { indent = blanks() }
      let piece = untilTagOrLineEnd()
      if !piece.isEmpty {
        keepIndent()
        text += piece
        atLineStart = piece.last == UInt8(ascii: "\n")
        if atLineStart { continue }
      }
      guard position < bytes.count else { break }
      let tag = try tag()
      switch tag.kind {
      case .variable, .unescaped:
        keepIndent()
        append(.variable(try name(of: tag), escapes: tag.kind == .variable))
        atLineStart = false
      case .comment: atLineStart = atLineStart && endsLine()
      case .section, .inverted:
        let name = try name(of: tag)
        atLineStart = atLineStart && endsLine()
        if !atLineStart { keepIndent() }
        open.append(tag)
        guard open.count <= Self.depthLimit else {
          throw refusal(tag.start, "sections are nested more than \(Self.depthLimit) deep")
        }
        let inside = try section(atLineStart: atLineStart)
        append(tag.kind == .section ? .section(name, inside) : .inverted(name, inside))
      case .close:
        if !(atLineStart && endsLine()) { keepIndent() }
        try close(tag)
        return end()
      }
    }
    return end()
  }

  private mutating func close(_ tag: Tag) throws(TemplateProblem) {
    _ = try name(of: tag)
    guard let section = open.popLast() else {
      throw refusal(tag.start, "the section \(tag.name) is closed and was never opened")
    }
    guard section.name.utf8.elementsEqual(tag.name.utf8) else {
      throw refusal(
        tag.start,
        "the section \(tag.name) is closed where \(section.name), opened in line \(line(of: section.start)), is due")
    }
  }

  // MARK: Text

  private mutating func blanks() -> ArraySlice<UInt8> {
    let start = position
    while position < bytes.count, isBlank(bytes[position]) { position += 1 }
    return bytes[start..<position]
  }

  /// Reads text up to the next tag or the end, or up to and with the end of the line.
  private mutating func untilTagOrLineEnd() -> ArraySlice<UInt8> {
    let start = position
    while position < bytes.count {
      if bytes[position] == UInt8(ascii: "{"), position + 1 < bytes.count, bytes[position + 1] == UInt8(ascii: "{") {
        break
      }
      position += 1
      if bytes[position - 1] == UInt8(ascii: "\n") { break }
    }
    return bytes[start..<position]
  }

  /// Whether nothing but blanks follows on this line; if so, moves behind its end.
  private mutating func endsLine() -> Bool {
    var end = position
    guard end < bytes.count else { return true }
    while end < bytes.count, isBlank(bytes[end]) { end += 1 }
    if end < bytes.count, bytes[end] == UInt8(ascii: "\r") { end += 1 }
    guard end < bytes.count, bytes[end] == UInt8(ascii: "\n") else { return false }
    position = end + 1
    return true
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }

  // MARK: Tags

  private mutating func tag() throws(TemplateProblem) -> Tag {
    let start = position
    tagCount += 1
    guard tagCount <= Self.tagLimit else { throw refusal(start, "there are more than \(Self.tagLimit) tags") }
    position += 2
    let (kind, ending) = try kind(start)
    let nameStart = position
    while position < bytes.count, !bytes[position...].starts(with: "}}".utf8) {
      // Braces in a name that stands in quotation marks end no tag.
      position +=
        kind != .comment && bytes[position] == UInt8(ascii: "\"") ? TagReader.length(ofQuoted: bytes[position...]) : 1
    }
    let content = String(decoding: bytes[nameStart..<position], as: UTF8.self)
    guard bytes[position...].starts(with: ending.utf8) else {
      throw refusal(start, "a tag is opened and never closed")
    }
    position += ending.utf8.count
    return Tag(kind: kind, name: content.trimmed, start: start)
  }

  /// Reads the character that says the tag's kind, if there is one.
  private mutating func kind(_ start: Int) throws(TemplateProblem) -> (Kind, ending: String) {
    guard position < bytes.count else { throw refusal(start, "a tag is opened and never closed") }
    let kind: Kind
    switch bytes[position] {
    case UInt8(ascii: "#"): kind = .section
    case UInt8(ascii: "^"): kind = .inverted
    case UInt8(ascii: "/"): kind = .close
    case UInt8(ascii: "!"): kind = .comment
    case UInt8(ascii: "{"), UInt8(ascii: "&"): kind = .unescaped
    case UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: "$"):
      throw refusal(start, "a template cannot include another one or inherit from it")
    case UInt8(ascii: "="): throw refusal(start, "the delimiters {{ and }} cannot be changed")
    case UInt8(ascii: "%"):
      throw refusal(start, "pragmas are not supported; values are escaped as contentType needs it")
    default: return (.variable, "}}")
    }
    position += 1
    return (kind, bytes[position - 1] == UInt8(ascii: "{") ? "}}}" : "}}")
  }

  private mutating func name(of tag: Tag) throws(TemplateProblem) -> TemplateName {
    let text = tag.name
    guard !text.isEmpty else { throw refusal(tag.start, "a tag has no name") }
    guard text.utf8.count <= Self.nameLimit else {
      throw refusal(tag.start, "\(Self.brief(text)) is longer than \(Self.nameLimit) bytes")
    }
    do throws(TagReader.Fault) {
      let name = try TagReader.read(text)
      names.append(name)
      return name
    } catch {
      throw refusal(
        tag.start,
        error == .transform
          ? "\(Self.brief(text)) is not a transform of a name, as in uppercased(firstName)"
          : "\(Self.brief(text)) is not a name: names have letters, digits, dots, hyphens and underscores, and others stand in "
            + "quotation marks, as in properties.\"first name\"")
    }
  }

  /// What an error repeats of a tag.
  private static func brief(_ text: Substring) -> String { String(text.unicodeScalars.prefix(40)) }

  // MARK: Errors

  private func refusal(_ position: Int, _ reason: String) -> TemplateProblem {
    TemplateProblem(line: line(of: position), column: column(of: position), reason: reason)
  }

  /// The column of a position, counted from 1 in code points.
  private func column(of position: Int) -> Int {
    let line = bytes[..<position].reversed().prefix { $0 != UInt8(ascii: "\n") && $0 != UInt8(ascii: "\r") }
    return 1 + line.count { $0 & 0xC0 != 0x80 }
  }

  /// The line of a position, counted from 1. Editors also end lines with CR alone.
  private func line(of position: Int) -> Int {
    1
      + bytes[..<position].indices.count { index in
        let followsCR = index > 0 && bytes[index - 1] == UInt8(ascii: "\r")
        return bytes[index] == UInt8(ascii: "\r") || (bytes[index] == UInt8(ascii: "\n") && !followsCR)
      }
  }
}
