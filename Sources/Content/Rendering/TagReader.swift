import Wire

/// Reads what stands in a tag: transforms, and names between dots.
///
/// A name of letters and digits of any script stands as it is, and any other in quotation marks, as JSON writes it:
/// `{{properties."first name"}}`. So every name that can be stored can be named.
struct TagReader {
  /// Why a tag names nothing.
  enum Fault: Error { case name, transform }

  private enum Token {
    case word(String)
    case quoted(String)
    case dot, open, close

    var isName: Bool {
      switch self {
      case .word, .quoted: true
      case .dot, .open, .close: false
      }
    }
  }

  /// Most transforms in a tag.
  private static let transformLimit = 4

  static func read(_ text: Substring) throws(Fault) -> TemplateName {
    var rest = try tokens(text)[...]
    var transforms: [String] = []
    while let open = rest.firstIndex(where: { if case .open = $0 { true } else { false } }) {
      transforms.append(try transform(rest[..<open]))
      rest = rest[(open + 1)...]
    }
    let name = rest.prefix { if case .close = $0 { false } else { true } }
    let closing = rest.dropFirst(name.count)
    guard transforms.count <= transformLimit, closing.count == transforms.count,
      closing.allSatisfy({ if case .close = $0 { true } else { false } })
    else { throw .transform }
    var path: [String] = []
    for (index, token) in name.enumerated() {
      guard case .word(let part) = token else {
        guard case .quoted(let part) = token else { continue }
        // A name is wholly in quotation marks, or not at all.
        if index > 0, name[name.startIndex + index - 1].isName { throw .name }
        path.append(part)
        continue
      }
      if index > 0, name[name.startIndex + index - 1].isName { throw .name }
      path.append(part)
    }
    let isLocal = if case .dot = name.first { true } else { false }
    return TemplateName(path, isLocal: isLocal, isPosition: name.isEmpty, transforms: transforms)
  }

  /// A transform's name; one with dots is unknown.
  private static func transform(_ tokens: ArraySlice<Token>) throws(Fault) -> String {
    guard !tokens.isEmpty else { throw .transform }
    var name = ""
    for token in tokens {
      switch token {
      case .word(let part): name += part
      case .dot: name += "."
      case .quoted, .open, .close: throw .transform
      }
    }
    return name
  }

  private static func tokens(_ text: Substring) throws(Fault) -> [Token] {
    var tokens: [Token] = []
    let scalars = text.unicodeScalars
    var index = scalars.startIndex
    while index < scalars.endIndex {
      let start = index
      switch scalars[index] {
      case ".": tokens.append(.dot)
      case "(": tokens.append(.open)
      case ")": tokens.append(.close)
      case "\"":
        let quoted = Array(text.utf8[start...].prefix(length(ofQuoted: text.utf8[start...])))
        guard case .string(let name)? = try? JSONValue(json: quoted) else { throw .name }
        tokens.append(.quoted(name))
        index = text.utf8.index(start, offsetBy: quoted.count)
        continue
      default:
        while index < scalars.endIndex, isOfName(scalars[index]) { scalars.formIndex(after: &index) }
        guard index > start else { throw .name }
        tokens.append(.word(String(scalars[start..<index])))
        continue
      }
      scalars.formIndex(after: &index)
    }
    return tokens
  }

  /// How many bytes a text in quotation marks has that begins there, with both marks.
  static func length(ofQuoted bytes: some Collection<UInt8>) -> Int {
    var length = 1
    var isEscaped = false
    for byte in bytes.dropFirst() {
      length += 1
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        break
      }
    }
    return length
  }

  /// Whether it can stand in a name without quotation marks: a letter or digit of any script, a mark or joiner within words, a hyphen
  /// or an underscore.
  private static func isOfName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "-", "_": true
    case _ where scalar.isASCII: false
    case "\u{200C}", "\u{200D}": true
    default:
      switch scalar.properties.generalCategory {
      case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
        .spacingMark, .decimalNumber, .letterNumber:
        true
      default: false
      }
    }
  }
}
