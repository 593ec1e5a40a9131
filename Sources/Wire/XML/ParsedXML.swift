/// An XML document, read strictly: one element, well formed, in UTF-8.
///
/// A document type is refused, and with it every entity but those of XML itself; nothing is included from elsewhere. Elements are
/// nested at most `mostDepth` deep. The caller bounds the size.
public struct ParsedXML: Sendable, Hashable {
  /// The document cannot be read.
  public struct Failure: Error, Hashable {
    /// Ends the sentence that begins with the document.
    public let problem: String
  }

  /// As it is written, with its prefix.
  public let name: String
  public private(set) var attributes: [String: String] = [:]
  public private(set) var children: [ParsedXML] = []
  /// The text of the element itself, without that of its children.
  public private(set) var text = ""

  /// Most elements within each other.
  public static let mostDepth = 20

  /// - Throws: `Failure` if it is not well formed, has a document type, or is nested too deep.
  public init(_ bytes: [UInt8]) throws(Failure) {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw Failure(problem: "is not in UTF-8") }
    var reader = XMLReader(text)
    try reader.skipMisc(isFirst: true)
    self = try reader.element()
    try reader.skipMisc()
    guard reader.isAtEnd else { throw .malformed }
  }

  fileprivate init(_ name: String, _ attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  /// All elements of that name below this one, in the order of the document.
  public func all(_ name: String) -> [ParsedXML] { children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) } }

  /// Its children of that name in any case, in the order of the document.
  public func children(_ name: String) -> [ParsedXML] {
    let name = name.lowercased()
    return children.filter { $0.name.lowercased() == name }
  }

  /// The text of its first child of that name in any case; nil without one.
  public func text(_ name: String) -> String? { children(name).first?.text }

  /// The value of its attribute of that name in any case; nil without one.
  public func attribute(_ name: String) -> String? {
    let name = name.lowercased()
    return attributes.first { $0.key.lowercased() == name }?.value
  }

  fileprivate mutating func append(_ child: ParsedXML) { children.append(child) }
  fileprivate mutating func append(_ text: String) { self.text += text }
}

extension ParsedXML.Failure {
  fileprivate static let malformed = Self(problem: "is not well-formed XML")
}

private struct XMLReader {
  private var rest: Substring.UnicodeScalarView

  init(_ text: String) { rest = text[...].unicodeScalars }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func skipBlanks() { rest = rest.drop { $0.isBlank } }

  /// Skips what can stand before and after the element.
  /// - Parameter isFirst: whether a byte order mark and the XML declaration can come.
  mutating func skipMisc(isFirst: Bool = false) throws(ParsedXML.Failure) {
    if isFirst { _ = take("\u{FEFF}") }
    skipBlanks()
    while true {
      if take("<!--") {
        try skip(to: "-->")
      } else if take("<?") {
        try skip(to: "?>")
      } else if rest.starts(with: "<!DOCTYPE".unicodeScalars) {
        throw ParsedXML.Failure(problem: "has a document type, which is not allowed")
      } else {
        return
      }
      skipBlanks()
    }
  }

  mutating func element(depth: Int = 0) throws(ParsedXML.Failure) -> ParsedXML {
    guard depth < ParsedXML.mostDepth else {
      throw ParsedXML.Failure(problem: "has more than \(ParsedXML.mostDepth) elements within each other")
    }
    guard take("<") else { throw .malformed }
    let name = try name()
    var element = ParsedXML(name, try attributes())
    if take("/>") { return element }
    guard take(">") else { throw .malformed }
    while !take("</") {
      if take("<!--") {
        try skip(to: "-->")
      } else if take("<?") {
        try skip(to: "?>")
      } else if take("<![CDATA[") {
        element.append(try skip(to: "]]>"))
      } else if rest.first == "<" {
        element.append(try self.element(depth: depth + 1))
      } else {
        element.append(try characters { $0 == "<" })
      }
    }
    guard try self.name() == name else { throw .malformed }
    skipBlanks()
    guard take(">") else { throw .malformed }
    return element
  }

  private mutating func attributes() throws(ParsedXML.Failure) -> [String: String] {
    var attributes: [String: String] = [:]
    while true {
      let hasBlank = rest.first?.isBlank == true
      skipBlanks()
      guard let next = rest.first else { throw .malformed }
      if next == ">" || next == "/" { return attributes }
      guard hasBlank else { throw .malformed }
      let name = try name()
      skipBlanks()
      guard take("=") else { throw .malformed }
      skipBlanks()
      guard let quote = rest.popFirst(), quote == "'" || quote == "\"" else { throw .malformed }
      // A bare `<` ends it, and is no quotation mark.
      let value = try characters { $0 == quote || $0 == "<" }
      guard attributes.updateValue(value, forKey: name) == nil, take(quote) else {
        throw .malformed
      }
    }
  }

  private mutating func name() throws(ParsedXML.Failure) -> String {
    let name = rest.prefix { scalar in
      scalar.properties.isAlphabetic || ("0"..."9").contains(scalar) || scalar == "-" || scalar == "_" || scalar == ":"
        || scalar == "."
    }
    guard let first = name.first, first.properties.isAlphabetic || first == "_" else { throw .malformed }
    rest.removeFirst(name.count)
    return String(name)
  }

  /// Characters and references up to one that ends them.
  private mutating func characters(until isEnd: (Unicode.Scalar) -> Bool) throws(ParsedXML.Failure) -> String {
    var text = String.UnicodeScalarView()
    while let scalar = rest.first {
      if isEnd(scalar) { return String(text) }
      rest.removeFirst()
      guard scalar.isXML else { throw .malformed }
      text.append(scalar == "&" ? try reference() : scalar)
    }
    throw .malformed
  }

  private mutating func reference() throws(ParsedXML.Failure) -> Unicode.Scalar {
    let name = String(rest.prefix(10).prefix { $0 != ";" })
    rest.removeFirst(name.unicodeScalars.count)
    guard take(";") else { throw .malformed }
    switch name {
    case "amp": return "&"
    case "lt": return "<"
    case "gt": return ">"
    case "quot": return "\""
    case "apos": return "'"
    default:
      let code = name.hasPrefix("#x") ? UInt32(name.dropFirst(2), radix: 16) : UInt32(name.dropFirst())
      guard name.hasPrefix("#"), let scalar = code.flatMap(Unicode.Scalar.init), scalar.isXML else {
        throw .malformed
      }
      return scalar
    }
  }

  /// - Returns: what was skipped, without the end.
  @discardableResult
  private mutating func skip(to end: String) throws(ParsedXML.Failure) -> String {
    var skipped = String.UnicodeScalarView()
    while !take(end) {
      guard let scalar = rest.popFirst(), scalar.isXML else { throw .malformed }
      skipped.append(scalar)
    }
    return String(skipped)
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
