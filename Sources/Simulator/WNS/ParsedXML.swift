/// An XML document, read strictly: one element, well formed, without a document type.
struct ParsedXML: Sendable, Hashable {
  struct Failure: Error {}

  let name: String
  private(set) var attributes: [String: String] = [:]
  private(set) var children: [ParsedXML] = []
  /// The text of the element itself.
  private(set) var text = ""

  /// - Throws: if it is not well formed.
  init(_ bytes: [UInt8]) throws {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure() }
    var reader = XMLReader(text)
    try reader.skipProlog()
    self = try reader.element()
    reader.skipBlanks()
    guard reader.isAtEnd else { throw Failure() }
  }

  fileprivate init(_ name: String, _ attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// All elements of that name below this one, in the order of the document.
  func all(_ name: String) -> [ParsedXML] { children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) } }

  fileprivate mutating func append(_ child: ParsedXML) { children.append(child) }
  fileprivate mutating func append(_ text: String) { self.text += text }
}

private struct XMLReader {
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) { rest = text[...].unicodeScalars }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skipBlanks() { rest = rest.drop { $0.isBlank } }

  mutating func skipProlog() throws {
    if take("<?xml") { try skip(to: "?>") }
    skipBlanks()
    while take("<!--") {
      try skip(to: "-->")
      skipBlanks()
    }
  }

  mutating func element(depth: Int = 0) throws -> ParsedXML {
    guard depth < 16, take("<") else { throw ParsedXML.Failure() }
    let name = try name()
    var element = ParsedXML(name, try attributes())
    if take("/>") { return element }
    guard take(">") else { throw ParsedXML.Failure() }
    while !take("</") {
      if take("<!--") {
        try skip(to: "-->")
      } else if rest.first == "<" {
        element.append(try self.element(depth: depth + 1))
      } else {
        element.append(try characters { $0 == "<" })
      }
    }
    guard try self.name() == name else { throw ParsedXML.Failure() }
    skipBlanks()
    guard take(">") else { throw ParsedXML.Failure() }
    return element
  }

  private mutating func attributes() throws -> [String: String] {
    var attributes: [String: String] = [:]
    while true {
      let hasBlank = rest.first?.isBlank == true
      skipBlanks()
      guard let next = rest.first else { throw ParsedXML.Failure() }
      if next == ">" || next == "/" { return attributes }
      guard hasBlank else { throw ParsedXML.Failure() }
      let name = try name()
      skipBlanks()
      guard take("=") else { throw ParsedXML.Failure() }
      skipBlanks()
      guard let quote = rest.popFirst(), quote == "'" || quote == "\"" else { throw ParsedXML.Failure() }
      // A bare `<` ends it, and is no quotation mark.
      let value = try characters { $0 == quote || $0 == "<" }
      guard attributes.updateValue(value, forKey: name) == nil, take(quote) else {
        throw ParsedXML.Failure()
      }
    }
  }

  private mutating func name() throws -> String {
    let name = rest.prefix { scalar in
      scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_" || scalar == ":"
        || scalar == "."
    }
    guard let first = name.first, first.properties.isAlphabetic || first == "_" else { throw ParsedXML.Failure() }
    rest.removeFirst(name.count)
    return String(name)
  }

  /// Characters and references up to one that ends them.
  private mutating func characters(until isEnd: (Unicode.Scalar) -> Bool) throws -> String {
    var text = String.UnicodeScalarView()
    while let scalar = rest.first {
      if isEnd(scalar) { return String(text) }
      rest.removeFirst()
      guard scalar.isXML else { throw ParsedXML.Failure() }
      text.append(scalar == "&" ? try reference() : scalar)
    }
    throw ParsedXML.Failure()
  }

  private mutating func reference() throws -> Unicode.Scalar {
    let name = String(rest.prefix(10).prefix { $0 != ";" })
    rest.removeFirst(name.unicodeScalars.count)
    guard take(";") else { throw ParsedXML.Failure() }
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      let code = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
      guard name.hasPrefix("#"), let scalar = code.flatMap(Unicode.Scalar.init), scalar.isXML else {
        throw ParsedXML.Failure()
      }
      return scalar
    }
  }

  private mutating func skip(to end: String) throws {
    while !take(end) { guard rest.popFirst() != nil else { throw ParsedXML.Failure() } }
  }

  private mutating func take(_ text: String) -> Bool {
    guard rest.starts(with: text.unicodeScalars) else { return false }
    rest.removeFirst(text.unicodeScalars.count)
    return true
  }

  private mutating func take(_ scalar: Unicode.Scalar) -> Bool { take(String(scalar)) }
}

extension Unicode.Scalar {
  fileprivate var isBlank: Bool { self == " " || self == "\t" || self == "\n" || self == "\r" }

  /// Whether XML 1.0 can hold it.
  fileprivate var isXML: Bool {
    switch value {
    case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
    default: false
    }
  }
}
