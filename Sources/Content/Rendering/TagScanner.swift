/// Finds the tags of a Mustache text, and refuses what this hub does not take.
///
/// It runs before the Mustache parser for three reasons: the parser recurses with each section, so how deep they nest must be
/// known before; an error should name the line of the tag that is wrong, such as that of a section never closed; and partials,
/// inheritance, pragmas and changed delimiters are refused, so that a template is one text that means the same everywhere and
/// cannot call itself.
struct TagScanner {
  /// Sections within sections.
  static let depthLimit = 32
  /// The parser's work grows with the text's length for each tag and brace.
  static let tagLimit = 2_000
  static let braceLimit = 10_000

  private let bytes: [UInt8]
  private let field: String
  private var at = 0
  private var line = 1
  private var braces = 0
  private var tags: [TemplateTag] = []
  private var open: [TemplateTag] = []

  private init(_ text: String, _ field: String) {
    bytes = Array(text.utf8)
    self.field = field
  }

  /// The tags from first to last.
  /// - Throws: `ContentError.unparsable`.
  static func tags(of text: String, field: String) throws(ContentError) -> [TemplateTag] {
    var scanner = TagScanner(text, field)
    while let tag = try scanner.next() { try scanner.add(tag) }
    if let section = scanner.open.last {
      throw scanner.refuse(section.line, "the section \(section.name) is opened and never closed")
    }
    return scanner.tags
  }

  private mutating func next() throws(ContentError) -> TemplateTag? {
    while at < bytes.count {
      if bytes[at] == UInt8(ascii: "{") {
        braces += 1
        guard braces <= Self.braceLimit else { throw refuse(line, "there are more than \(Self.braceLimit) braces") }
        if at + 1 < bytes.count, bytes[at + 1] == UInt8(ascii: "{") { return try tag() }
      }
      step()
    }
    return nil
  }

  /// Moves over one byte and counts lines: a line ends with LF, CR LF or CR.
  private mutating func step() {
    let isCR = bytes[at] == 0x0D && !(at + 1 < bytes.count && bytes[at + 1] == 0x0A)
    if bytes[at] == 0x0A || isCR { line += 1 }
    at += 1
  }

  private mutating func tag() throws(ContentError) -> TemplateTag {
    let start = at
    let startLine = line
    at += 2
    let (kind, sigil) = try kind()
    at += sigil
    let ending = Array((at - start == 3 && bytes[at - 1] == UInt8(ascii: "{") ? "}}}" : "}}").utf8)
    let nameStart = at
    while at < bytes.count, !bytes[at...].starts(with: "}}".utf8) { step() }
    guard bytes[at...].starts(with: ending) else { throw refuse(startLine, "a tag is opened and never closed") }
    let content = String(decoding: bytes[nameStart..<at], as: UTF8.self)
    at += ending.count
    let name = kind == .comment ? "" : try self.name(content, startLine)
    return TemplateTag(kind: kind, name: name, line: startLine, range: start..<at)
  }

  /// The tag's kind and the length of the character that tells it.
  private func kind() throws(ContentError) -> (TemplateTag.Kind, Int) {
    guard at < bytes.count else { throw refuse(line, "a tag is opened and never closed") }
    switch bytes[at] {
    case UInt8(ascii: "#"): return (.section, 1)
    case UInt8(ascii: "^"): return (.inverted, 1)
    case UInt8(ascii: "/"): return (.close, 1)
    case UInt8(ascii: "!"): return (.comment, 1)
    case UInt8(ascii: "{"), UInt8(ascii: "&"): return (.unescaped, 1)
    case UInt8(ascii: ">"), UInt8(ascii: "<"), UInt8(ascii: "$"):
      throw refuse(line, "a template cannot include another one or inherit from it")
    case UInt8(ascii: "="): throw refuse(line, "the delimiters {{ and }} cannot be changed")
    case UInt8(ascii: "%"): throw refuse(line, "pragmas are not supported; values are escaped as contentType needs it")
    default: return (.variable, 0)
    }
  }

  private func name(_ content: String, _ line: Int) throws(ContentError) -> String {
    let name = String(content.trimmed)
    guard !name.isEmpty else { throw refuse(line, "a tag has no name") }
    guard name.utf8.count <= 200, name.utf8.allSatisfy(Self.isNameByte) else {
      throw refuse(line, "\(name.prefix(40)) is not a name: names have letters, digits, dots, hyphens and underscores")
    }
    let transforms = name.prefix { $0 != ")" }.split(separator: "(", omittingEmptySubsequences: false).dropLast()
    let closing = name.drop { $0 != ")" }
    guard transforms.count <= 4, transforms.allSatisfy({ !$0.isEmpty }), closing.count == transforms.count,
      closing.allSatisfy({ $0 == ")" })
    else { throw refuse(line, "\(name.prefix(40)) is not a transform of a name, as in uppercased(firstName)") }
    return name
  }

  private static func isNameByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: ".-_()".utf8.contains(byte)
    }
  }

  private mutating func add(_ tag: TemplateTag) throws(ContentError) {
    tags.append(tag)
    guard tags.count <= Self.tagLimit else { throw refuse(tag.line, "there are more than \(Self.tagLimit) tags") }
    switch tag.kind {
    case .section, .inverted:
      open.append(tag)
      guard open.count <= Self.depthLimit else {
        throw refuse(tag.line, "sections are nested more than \(Self.depthLimit) deep")
      }
    case .close:
      guard let section = open.popLast() else {
        throw refuse(tag.line, "the section \(tag.name) is closed and was never opened")
      }
      guard section.name == tag.name else {
        throw refuse(
          tag.line, "the section \(tag.name) is closed where \(section.name), opened in line \(section.line), is due")
      }
    case .variable, .unescaped, .comment: break
    }
  }

  private func refuse(_ line: Int, _ reason: String) -> ContentError {
    .unparsable(field: field, line: line, reason: reason)
  }
}

extension StringProtocol {
  /// Without the blanks at both ends.
  var trimmed: SubSequence {
    let start = firstIndex { !$0.isWhitespace } ?? endIndex
    let end = lastIndex { !$0.isWhitespace }.map { index(after: $0) } ?? start
    return self[start..<end]
  }
}
