import Foundation
import Mustache
import Wire

/// HTML that is put into a template as it is, such as a chart. It never holds texts of others that were not escaped.
package struct Markup: Sendable {
  package let html: String

  package init(_ html: String) { self.html = html }

  /// A text for content and for quoted attributes. By bytes: a mark that combines with a quotation mark does not hide it.
  package static func escaped(_ text: String) -> String { text.htmlEscaped }
}

/// The templates of a folder, parsed once: every page of the hub and of the Simulator is made by them.
///
/// Texts are escaped when they enter, so `{{x}}` puts them as they are. Mustache's own escaping goes by characters, and takes a quotation
/// mark with a combining mark for another character than a quotation mark.
package struct HTMLTemplates: Sendable {
  /// Names without `.html`.
  package let names: [String]
  private let library: MustacheLibrary

  /// - Parameter files: those with the ending `.html` are templates; what begins with an underscore is part of others.
  /// - Precondition: all of them parse.
  package init(_ files: [EmbeddedFile]) {
    var templates: [String: MustacheTemplate] = [:]
    for file in files where file.name.hasSuffix(".html") {
      do {
        templates[String(file.name.dropLast(5))] = try MustacheTemplate(string: Self.prepared(file.text))
      } catch {
        preconditionFailure("the template \(file.name) does not parse: \(error)")
      }
    }
    names = templates.keys.sorted()
    library = MustacheLibrary(templates: templates)
  }

  /// - Precondition: there is a template of this name.
  package func render(_ name: String, _ values: [String: Any]) -> String {
    guard let html = library.render(Self.escaped(values) ?? [:], withTemplate: name) else {
      preconditionFailure("there is no template \(name)")
    }
    return html
  }

  /// A template's text without blanks at the beginning of lines, which partials would add to texts of several lines, and with `{{x}}`
  /// as `{{{x}}}`. A template of one line, such as `_time`, is put within lines, and has no line end.
  package static func prepared(_ text: String) -> String {
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
  package static func livePart(of html: String) -> String {
    guard let start = html.range(of: liveStart), let end = html.range(of: liveEnd, options: .backwards) else {
      return html
    }
    return String(html[start.upperBound..<end.lowerBound])
  }

  private static let liveStart = "<!--live-->"
  private static let liveEnd = "<!--/live-->"

  /// The value with its texts escaped; an empty text counts as none for sections.
  package static func escaped(_ value: Any?) -> Any? {
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
