import FoundationEssentials
import Wire

/// The kinds of notifications that WNS has: the header `X-WNS-Type`.
enum WNSType: String, CaseIterable, Sendable {
  case toast = "wns/toast"
  case tile = "wns/tile"
  case badge = "wns/badge"
  /// Bytes for the app, which Windows shows nowhere.
  case raw = "wns/raw"

  /// The kind of a message: a toast if it has an alert, a badge if it has nothing but that, and raw otherwise.
  init(of message: RenderedMessage) {
    let isSilent = message.isSilent || message.alert == nil && message.info == nil
    if message.pushType == .background || isSilent {
      let isBadge =
        !message.isSilent && message.badge != nil && message.url == nil && message.category == nil
        && message.fields.isEmpty
      self = isBadge && isSilent ? .badge : .raw
    } else {
      self = .toast
    }
  }

  /// The header `content-type`.
  var contentType: String { self == .raw ? "application/octet-stream" : "text/xml" }
}

/// A message in the form of WNS (Microsoft, "Adaptive content" and the XML schemas of toasts, tiles and badges).
enum WNSPayload {
  /// Most bytes of a body.
  static let limit = 5000

  /// The body of a notification of that kind.
  static func body(_ message: RenderedMessage, as type: WNSType) -> [UInt8] {
    switch type {
    case .toast: toast(message)
    case .tile: tile(message)
    case .badge: XMLText.element("badge", ["value": text(message.badge) ?? "0"]) { _ in }
    case .raw: message.fieldsAsJSON
    }
  }

  /// A tap hands `launch` to the app: the fields of Carma's guide as JSON.
  private static func toast(_ message: RenderedMessage) -> [UInt8] {
    XMLText.element("toast", ["launch": String(decoding: message.fieldsAsJSON, as: UTF8.self)]) { xml in
      xml.element("visual") { xml in
        xml.element("binding", ["template": "ToastGeneric"]) { xml in
          for text in texts(message) { xml.element("text") { $0.append(text) } }
          if let image = text(message.image) { xml.element("image", ["placement": "hero", "src": image]) { _ in } }
        }
      }
    }
  }

  /// The same content for all sizes of tile that have room for it.
  private static func tile(_ message: RenderedMessage) -> [UInt8] {
    XMLText.element("tile") { xml in
      xml.element("visual") { xml in
        for size in ["TileMedium", "TileWide", "TileLarge"] {
          xml.element("binding", ["template": size]) { xml in
            for text in texts(message) { xml.element("text", ["hint-wrap": "true"]) { $0.append(text) } }
            if let image = text(message.image) { xml.element("image", ["placement": "peek", "src": image]) { _ in } }
          }
        }
      }
    }
  }

  private static func texts(_ message: RenderedMessage) -> [String] {
    [message.alert, message.info].compactMap(text)
  }

  /// What a JSON string, or a number, says.
  static func text(_ json: [UInt8]?) -> String? {
    guard let json else { return nil }
    guard json.first == UInt8(ascii: "\"") else { return String(decoding: json, as: UTF8.self) }
    return try? JSONCoding.decode(String.self, from: json)
  }
}

/// An XML document as it is written. Texts are escaped, and characters that XML 1.0 cannot hold are left out.
struct XMLText {
  private var bytes: [UInt8] = []

  /// A document of one element.
  static func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:], _ content: (inout XMLText) -> Void
  ) -> [UInt8] {
    var xml = XMLText()
    xml.element(name, attributes, content)
    return xml.bytes
  }

  mutating func element(
    _ name: StaticString, _ attributes: KeyValuePairs<StaticString, String> = [:], _ content: (inout XMLText) -> Void
  ) {
    bytes += "<\(name)".utf8
    for (attribute, value) in attributes {
      bytes += " \(attribute)='".utf8
      append(value, isAttribute: true)
      bytes.append(UInt8(ascii: "'"))
    }
    bytes.append(UInt8(ascii: ">"))
    content(&self)
    bytes += "</\(name)>".utf8
  }

  /// The text as it can stand in an element, or between quotation marks or apostrophes.
  static func escaped(_ text: String) -> String {
    var xml = XMLText()
    xml.append(text, isAttribute: true)
    return String(decoding: xml.bytes, as: UTF8.self).replacing(each: "\"", with: "&quot;")
      .replacing(each: ">", with: "&gt;")
  }

  /// Appends the text of an element.
  mutating func append(_ text: String) { append(text, isAttribute: false) }

  /// Attributes stand between apostrophes, so that the quotation marks of JSON take one byte each.
  private mutating func append(_ text: String, isAttribute: Bool) {
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": bytes += "&amp;".utf8
      case "<": bytes += "&lt;".utf8
      case ">": bytes += "&gt;".utf8
      case "'" where isAttribute: bytes += "&#39;".utf8
      // A parser would make blanks, or line feeds, of them.
      case "\r": bytes += "&#13;".utf8
      case "\t" where isAttribute: bytes += "&#9;".utf8
      case "\n" where isAttribute: bytes += "&#10;".utf8
      case "\t", "\n": bytes.append(UInt8(scalar.value))
      case "\0"..."\u{1F}", "\u{FFFE}", "\u{FFFF}": break
      default: bytes += UTF8.encode(scalar) ?? .init()
      }
    }
  }
}
