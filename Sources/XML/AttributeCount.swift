/// Bounds the attributes of an element before libxml2 sees them: it compares each with all before it, and half a million take a minute.
enum AttributeCount {
  static let most = 256

  private enum Place {
    case text
    /// Within a start tag, and the quotation mark of the value that is open.
    case tag(count: Int, quote: UInt8?)
    /// Within a comment, a CDATA section or an instruction, up to what ends it.
    case section(end: StaticString)
  }

  private static let sections: [(begin: StaticString, end: StaticString)] = [
    ("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"),
  ]

  /// Whether no start tag has more than `most` equals signs outside of values. What is not well formed counts as it would be read.
  static func isBounded(in text: ArraySlice<UInt8>) -> Bool {
    var place = Place.text
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
          place = .tag(count: 0, quote: nil)
        }
      case .section(let end):
        guard byte == end.utf8Start.pointee, starts(text, at: index, with: end) else { break }
        place = .text
        index += end.utf8CodeUnitCount - 1
      case .tag(let count, let quote?): if byte == quote { place = .tag(count: count, quote: nil) }
      case .tag(let count, nil):
        switch byte {
        case UInt8(ascii: ">"): place = .text
        case UInt8(ascii: "\""), UInt8(ascii: "'"): place = .tag(count: count, quote: byte)
        case UInt8(ascii: "="):
          guard count < most else { return false }
          place = .tag(count: count + 1, quote: nil)
        default: break
        }
      }
      index += 1
    }
    return true
  }

  private static func starts(_ text: ArraySlice<UInt8>, at index: Int, with word: StaticString) -> Bool {
    word.withUTF8Buffer { text[index...].starts(with: $0) }
  }
}
