import Embedded
import Foundation
import Mustache
import Wire

/// HTML that is put into a template as it is, such as a chart. It never holds texts of others that were not escaped (`Markup.text`).
struct Markup: Sendable {
  let html: String

  init(_ html: String) { self.html = html }

  /// A text, escaped for content and for attributes in double quotes.
  static func text(_ text: String) -> Markup { Markup(escaped(text)) }

  /// By bytes: a mark that combines with a quotation mark does not hide it.
  static func escaped(_ text: String) -> String {
    guard text.utf8.contains(where: { special($0) != nil }) else { return text }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count + 32)
    for byte in text.utf8 {
      if let entity = special(byte) { bytes += Array(entity.utf8) } else { bytes.append(byte) }
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func special(_ byte: UInt8) -> String? {
    switch byte {
    case UInt8(ascii: "<"): "&lt;"
    case UInt8(ascii: ">"): "&gt;"
    case UInt8(ascii: "&"): "&amp;"
    case UInt8(ascii: "\""): "&quot;"
    case UInt8(ascii: "'"): "&#39;"
    default: nil
    }
  }
}

/// The console's templates, parsed once.
///
/// Texts are escaped when they enter, so `{{x}}` puts them as they are. Mustache's own escaping goes by characters, and takes a quotation
/// mark with a combining mark for another character than a quotation mark.
struct ConsoleTemplates: Sendable {
  static let shared = ConsoleTemplates()

  /// Names without `.html`.
  let names: [String]
  private let library: MustacheLibrary

  private init() {
    let files = EmbeddedFile.console.filter { $0.name.hasSuffix(".html") }
    var templates: [String: MustacheTemplate] = [:]
    for file in files {
      do {
        templates[String(file.name.dropLast(5))] = try MustacheTemplate(string: Self.prepared(file.text))
      } catch {
        preconditionFailure("Templates/console/\(file.name) does not parse: \(error)")
      }
    }
    names = templates.keys.sorted()
    library = MustacheLibrary(templates: templates)
  }

  /// - Precondition: there is a template of this name.
  func render(_ name: String, _ values: [String: Any]) -> String {
    guard let html = library.render(Self.escaped(values) ?? [:], withTemplate: name) else {
      preconditionFailure("there is no template \(name)")
    }
    return html
  }

  /// A template's text without blanks at the beginning of lines, which partials would add to texts of several lines, and with `{{x}}`
  /// as `{{{x}}}`. A template of one line, such as `_time`, is put within lines, and has no line end.
  static func prepared(_ text: String) -> String {
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    var rest = (lines.count == 2 && lines[1].isEmpty ? lines.dropLast() : lines[...])
      .map { $0.drop { $0 == " " } }.joined(separator: "\n")[...]
    var prepared = ""
    while let open = rest.range(of: "{{") {
      prepared += rest[..<open.lowerBound]
      rest = rest[open.upperBound...]
      let end = rest.hasPrefix("{") ? "}}}" : "}}"
      guard let close = rest.range(of: end) else { return prepared + "{{" + rest }
      let tag = rest[..<close.lowerBound]
      let isVariable = tag.first.map { !"#^/!>$<=%&{".contains($0) } ?? true
      prepared += isVariable ? "{{{\(tag)}}}" : "{{\(tag)\(end)"
      rest = rest[close.upperBound...]
    }
    return (prepared + rest).replacing("{{$live}}", with: "<div data-live>\(liveStart){{$live}}")
      .replacing("{{/live}}", with: "{{/live}}\(liveEnd)</div>")
  }

  /// What stands between the marks of the live block; texts of others cannot have them.
  static func livePart(of html: String) -> String {
    guard let start = html.range(of: liveStart), let end = html.range(of: liveEnd, options: .backwards) else {
      return html
    }
    return String(html[start.upperBound..<end.lowerBound])
  }

  private static let liveStart = "<!--live-->"
  private static let liveEnd = "<!--/live-->"

  /// The value with its texts escaped; an empty text counts as none for sections.
  static func escaped(_ value: Any?) -> Any? {
    switch value {
    case nil: nil
    case let optional as any OptionalValue: escaped(optional.value)
    case let markup as Markup: markup.html.isEmpty ? Empty() : markup.html
    case let text as String: text.isEmpty ? Empty() : Markup.escaped(text)
    case let flag as Bool: flag
    case let number as any BinaryInteger: String(number)
    case let members as [String: Any]: members.compactMapValues { escaped($0) }
    case let items as [Any]: items.map { escaped($0) ?? Empty() }
    case .some(let other):
      String(describing: other).isEmpty ? Empty() : Markup.escaped(String(describing: other))
    }
  }

  /// Stands for an empty text: a section of it is left out, and `{{x}}` is not looked up outside.
  private struct Empty: MustacheCustomRenderable {
    var renderText: String { "" }
    var isNull: Bool { true }
  }
}

private protocol OptionalValue {
  var value: Any? { get }
}

extension Optional: OptionalValue {
  fileprivate var value: Any? { self }
}
