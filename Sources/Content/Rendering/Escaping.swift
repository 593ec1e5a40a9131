import Mustache
import Wire

/// How values are written into a page, by its format.
enum Escaping: String, MustacheContentType, CaseIterable {
  /// HTML and XML: the five characters that mean something there, also within attributes.
  case markup = "PUSHCART_MARKUP"
  /// Within a JSON string.
  case json = "PUSHCART_JSON"
  /// As it is.
  case text = "PUSHCART_TEXT"

  func escapeText(_ text: String) -> String {
    guard self != .text, text.utf8.contains(where: needsEscape) else { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 32)
    append(text, to: &bytes)
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Appends the text as it has to be written.
  func append(_ text: String, to bytes: inout [UInt8]) {
    switch self {
    case .markup where text.utf8.contains(where: needsEscape): Self.appendMarkup(text, to: &bytes)
    case .json: JSONText.append(text, to: &bytes)
    case .markup, .text: bytes.append(contentsOf: text.utf8)
    }
  }

  private func needsEscape(_ byte: UInt8) -> Bool {
    switch byte {
    case 0..<0x20, UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "&"), UInt8(ascii: "<"), UInt8(ascii: ">"),
      UInt8(ascii: "'"), 0x7F, 0xEF:
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

  /// The tag that makes the Mustache renderer escape so; a line of its own, which leaves nothing in the page.
  var pragma: String {
    _ = Self.registered
    return "{{% CONTENT_TYPE:\(rawValue)}}\n"
  }

  /// The renderer knows kinds of escaping by name, process-wide.
  private static let registered: Void = {
    for escaping in allCases { MustacheContentTypes.register(escaping, named: escaping.rawValue) }
  }()
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
