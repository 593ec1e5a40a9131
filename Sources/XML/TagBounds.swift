import Wire

/// Bounds what tags hold before libxml2 sees them. It compares each attribute of an element with all before it, and each prefix with all
/// namespaces that are declared.
enum TagBounds {
  static let mostAttributes = 256
  static let mostNamespaces = 64

  private enum Place {
    case text
    /// Within a start tag: its attributes so far, the quotation mark of the value that is open, and how long the name has become.
    case tag(count: Int, quote: UInt8?, name: Int)
    /// Within a comment, a CDATA section or an instruction, up to what ends it.
    case section(end: StaticString)
  }

  private static let sections: [(begin: StaticString, end: StaticString)] = [
    ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"),
  ]

  /// What a tag has too much of; nil if nothing. What is not well formed counts as it would be read.
  static func problem(in text: ArraySlice<UInt8>) -> String? {
    var place = Place.text
    var namespaces = 0
    var index = text.startIndex
    while index < text.endIndex {
      let byte = text[index]
      switch place {
      case .text:
        guard byte == UInt8(ascii: "<") else { break }
        if let section = sections.first(where: { starts(text, at: index, with: $0.begin) }) {
          place = .section(end: section.end)
          index += section.begin.utf8CodeUnitCount - 1
        } else {
          place = .tag(count: 0, quote: nil, name: 0)
        }
      case .section(let end):
        guard byte == end.utf8Start.pointee, starts(text, at: index, with: end) else { break }
        place = .text
        index += end.utf8CodeUnitCount - 1
      case .tag(let count, let quote?, _): if byte == quote { place = .tag(count: count, quote: nil, name: 0) }
      case .tag(let count, nil, let name):
        switch byte {
        case UInt8(ascii: ">"): place = .text
        case UInt8(ascii: "\""), UInt8(ascii: "'"): place = .tag(count: count, quote: byte, name: 0)
        case UInt8(ascii: "="):
          guard count < mostAttributes else { return "has an element of more than \(mostAttributes) attributes" }
          place = .tag(count: count + 1, quote: nil, name: 0)
        case 0x20, 0x09...0x0D: place = .tag(count: count, quote: nil, name: 0)
        default:
          if name == 0, starts(text, at: index, with: "xmlns") { namespaces += 1 }
          guard namespaces <= mostNamespaces else { return "declares more than \(mostNamespaces) namespaces" }
          guard name < UTF8String.longestName else {
            return "has a name of more than \(UTF8String.longestName) bytes"
          }
          place = .tag(count: count, quote: nil, name: name + 1)
        }
      }
      index += 1
    }
    return nil
  }

  private static func starts(_ text: ArraySlice<UInt8>, at index: Int, with word: StaticString) -> Bool {
    word.withUTF8Buffer { text[index...].starts(with: $0) }
  }
}
