@testable import Content

import Foundation
import Support
import Testing
import Wire

/// Compares our renderer with swift-mustache, which says what a template means.
@Suite struct TemplateOracleTests {
  private static let names = [
    "a", "b", "c", "d", "e", "f", "g", "h", "c.a", "c.b.d", "c.b", "b.a", "a.b", ".", "..", ".a", ".c.b", "c..a", "a.",
    "properties", "properties.c", "properties.b", "device", "device.model", ".device.model", "model", "firstName",
    "middleName", "sendout", "sendout.fields", "sendout.fields.rank", "fields", "name", "nothing", "properties.nothing",
    "url", "app.name", "d.x", "sendout.fields.nothing.x",
  ]
  private static let transforms = [
    "capitalized", "count", "empty", "equalzero", "even", "first", "index", "last", "lowercased", "minusone", "odd",
    "plusone", "reversed", "uppercased", "unknown",
  ]
  private static let texts = [
    " ", "  ", "\t", "\n", "\n", "\r\n", "x", "<>&\"'\\\n", "\n\n", " x ", "å", "{", "}", "} }", "👩‍👩‍👧",
  ]

  private static func name(_ random: inout SeededGenerator) -> String {
    var name = Int.random(in: 0..<8, using: &random) == 0 ? "" : names.randomElement(using: &random) ?? "a"
    let count = name.isEmpty ? Int.random(in: 1...2, using: &random) : max(0, Int.random(in: -5...2, using: &random))
    for _ in 0..<count { name = "\(transforms.randomElement(using: &random) ?? "last")(\(name))" }
    return name
  }

  /// A template of random parts, its sections balanced. It does not end with a brace, which swift-mustache cannot parse.
  private static func body(_ random: inout SeededGenerator) -> String {
    let body = template(&random)
    return body.hasSuffix("{") ? body + "." : body
  }

  private static func template(_ random: inout SeededGenerator, depth: Int = 0) -> String {
    (0..<Int.random(in: 0...6, using: &random)).map { _ in
      let name = name(&random)
      return switch Int.random(in: 0..<12, using: &random) {
      case 0..<5: texts.randomElement(using: &random) ?? " "
      case 5: "{{\(name)}}"
      case 6: "{{ \(name) }}"
      case 7: Bool.random(using: &random) ? "{{{\(name)}}}" : "{{& \(name)}}"
      case 8: "{{! note }}"
      case 9 where depth < 4: "{{#\(name)}}\(template(&random, depth: depth + 1)){{/\(name)}}"
      case 10 where depth < 4: "{{^\(name)}}\(template(&random, depth: depth + 1)){{/\(name)}}"
      case 11 where depth < 4: "\n{{#\(name)}}\n\(template(&random, depth: depth + 1))\n {{/\(name)}} \n"
      default: "-"
      }
    }.joined()
  }

  private static func value(_ random: inout SeededGenerator, depth: Int = 0) -> JSONValue {
    switch Int.random(in: 0..<(depth < 3 ? 9 : 6), using: &random) {
    case 0: .null
    case 1: .bool(Bool.random(using: &random))
    case 2: .integer(Int64.random(in: -2...1000, using: &random))
    case 3: .string("")
    case 4, 5: .string(hostileTexts.randomElement(using: &random) ?? "x")
    case 6: .array((0..<Int.random(in: 0...4, using: &random)).map { _ in value(&random, depth: depth + 1) })
    default: .object(members(&random, depth: depth + 1))
    }
  }

  private static func members(_ random: inout SeededGenerator, depth: Int = 0) -> [UTF8String: JSONValue] {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "x"].filter { _ in Int.random(in: 0..<3, using: &random) > 0 }
    return Dictionary(named: names.map { ($0, value(&random, depth: depth)) })
  }

  /// A recipient with random properties and fields.
  private static func recipient(_ random: inout SeededGenerator) -> MustacheOracle {
    var context = PageRenderingTests.lars
    if Bool.random(using: &random) { context.contact.texts[.firstName] = hostileTexts.randomElement(using: &random) }
    if Bool.random(using: &random) { context.url = nil }
    if Bool.random(using: &random) { context.sendout.fields = members(&random) }
    return MustacheOracle(context, properties: members(&random))
  }

  @Test(arguments: TemplateFormat.allCases)
  func `Random templates render as swift-mustache renders them`(format: TemplateFormat) throws {
    var random = SeededGenerator(seed: UInt64(format.rawValue.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
    var rendered = 0
    for _ in 0..<1_000 {
      let body = Self.body(&random)
      // What has no tag is served as it is.
      guard body.contains("{{"), let template = try? PageTemplate(body, format: format) else { continue }
      let recipient = Self.recipient(&random)
      let expected = try recipient.render(body, format.escaping)
      #expect(template.bytes(for: recipient.context) == Array(expected.utf8), "\(body.debugDescription)")
      rendered += 1
    }
    #expect(rendered > 500)
  }

  @Test func `A message's random texts render as swift-mustache renders them`() throws {
    var random = SeededGenerator(seed: 4711)
    for _ in 0..<1_000 {
      let text = Self.body(&random)
      guard text.contains("{{"), let template = try? TextTemplate(text, field: "alert", isVerbatim: false) else {
        continue
      }
      let recipient = Self.recipient(&random)
      let expected = try recipient.render(text, .text)
      var budget = RenderBudget()
      let page = template.render(recipient.context, within: &budget)
      #expect(page.utf8.elementsEqual(expected.utf8), "\(text.debugDescription)")
      var json: [UInt8] = []
      template.appendJSON(recipient.context, within: &budget, to: &json)
      #expect(json == JSONText.quoted(expected), "\(text.debugDescription)")
    }
  }

  @Test(.enabled(if: FileManager.default.fileExists(atPath: NaughtyStrings.file.path)), arguments: Escaping.all)
  func `Naughty strings render as swift-mustache renders them, as values and as texts`(escaping: Escaping) throws {
    let strings = try NaughtyStrings.all()
    #expect(strings.count > 500)
    for string in strings {
      var context = PageRenderingTests.lars
      context.contact.texts[.firstName] = string
      let recipient = MustacheOracle(
        context, properties: ["a": .string(string), "b": [.string(string)], UTF8String(string): true])
      let text = string.contains("{{") || string.contains("}}") ? "" : string
      let body =
        "\(text).{{firstName}}.{{#a}}{{.}}{{/a}}.{{#b}}.\(text).{{.}}{{/b}}.{{{properties.a}}}{{uppercased(b)}}"
      let template = try CompiledTemplate(body, field: "body", sizeLimit: 1 << 20)
      var bytes: [UInt8] = []
      var budget = RenderBudget()
      template.append(recipient.context, escaping, within: &budget, to: &bytes)
      #expect(bytes == Array(try recipient.render(body, escaping).utf8), "\(string.debugDescription)")
    }
  }

  /// Where we differ from swift-mustache on purpose: it reads characters, we read bytes.
  @Test(arguments: [
    ("\u{600}{{a}}", "\u{600}1"), ("{{a}}\u{301}", "1\u{301}"), ("{{\n a \n}}", "1"),
    ("{{#a}}\u{2028}{{/a}}\u{85}", "\u{2028}\u{85}"), ("{{#a}}\r{{/a}}", "\r"),
  ])
  func `Tags are found beside combining characters, and only LF and CR LF end a line`(body: String, page: String)
    throws
  {
    let context = PageContext(properties: Properties(json: #"{"a": 1}"#))
    #expect(try PageTemplate(body, format: .text).bytes(for: context) == Array(page.utf8))
  }
}

extension Escaping {
  static let all: [Escaping] = [.markup, .json, .text]
}
