import Wire

/// How values are written into a page, by its format.
enum Escaping: Sendable {
  /// HTML and XML: the five characters that mean something there, also within attributes.
  case markup
  /// Within a JSON string.
  case json
  /// Plain text: values stay as they are.
  case text

  /// Appends the text as it has to be written.
  func append(_ text: String, to bytes: inout [UInt8]) {
    switch self {
    case .markup where text.utf8.contains(where: Self.needsMarkup): Self.appendMarkup(text, to: &bytes)
    case .json: JSONText.append(text, to: &bytes)
    case .markup, .text: bytes.append(contentsOf: text.utf8)
    }
  }

  /// 0xEF begins U+FFFE and U+FFFF.
  private static func needsMarkup(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "'"), 0xEF:
      true
    default: false
    }
  }

  /// A character that XML 1.0 cannot hold at all becomes U+FFFD.
  private static func appendMarkup(_ text: String, to bytes: inout [UInt8]) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": bytes.append(contentsOf: "&amp;".utf8)
      case "<": bytes.append(contentsOf: "&lt;".utf8)
      case ">": bytes.append(contentsOf: "&gt;".utf8)
      case "\"": bytes.append(contentsOf: "&quot;".utf8)
      case "'": bytes.append(contentsOf: "&#39;".utf8)
      case "\t", "\n", "\r": bytes.append(UInt8(scalar.value))
      case "\0"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": bytes.append(contentsOf: "\u{FFFD}".utf8)
      default: bytes.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
      }
    }
  }
}

extension TemplateFormat {
  var escaping: Escaping {
    switch self {
    case .html, .xml, .textXML: .markup
    case .json: .json
    case .text: .text
    }
  }
}
