@testable import Content

import Support
import Testing

/// Holds the quick way of rendering to swift-mustache, which says what a template means.
@Suite struct TemplateTreeTests {
  static let context: PageContext = {
    var context = PageRenderingTests.lars
    context.properties = Properties(
      json: #"""
        {"a": "x<y>", "b": ["1", "", null, 2, true, false, {"a": "in", "c": ["deep"]}, ["n"]], "c": {"a": "obj", "b": {"d": "<d>"}},
         "d": true, "e": false, "f": [], "g": "", "h": 0}
        """#)
    return context
  }()

  static let names = [
    "a", "b", "c", "d", "e", "f", "g", "h", "c.a", "c.b.d", "c.b", "b.a", "a.b", ".", "properties", "properties.c",
    "device",
    "device.model", "model", "firstName", "sendout", "sendout.fields", "sendout.fields.rank", "fields", "name",
    "nothing",
    "properties.nothing", "url", "app.name", "d.x", "sendout.fields.nothing.x",
  ]
  static let texts = [
    " ", "  ", "\t", "\n", "\n", "\r\n", "x", "<>&\"'\\\n", "\n\n", " x ", "å", "{", "}", "} }", "👩‍👩‍👧", "\r", "\u{2028}",
    "\u{301}", "\u{600}",
  ]

  /// A template of random parts, its sections balanced.
  static func template(_ random: inout SeededGenerator, depth: Int = 0) -> String {
    (0..<Int.random(in: 0...6, using: &random)).map { _ in
      let name = names.randomElement(using: &random) ?? "a"
      return switch Int.random(in: 0..<12, using: &random) {
      case 0..<5: texts.randomElement(using: &random) ?? " "
      case 5: "{{\(name)}}"
      case 6: "{{ \(name) }}"
      case 7: "{{{\(name)}}}"
      case 8: "{{! note }}"
      case 9: depth < 4 ? "{{#\(name)}}\(template(&random, depth: depth + 1)){{/\(name)}}" : "-"
      case 10: depth < 4 ? "{{^\(name)}}\(template(&random, depth: depth + 1)){{/\(name)}}" : "-"
      default: depth < 4 ? "\n{{#\(name)}}\n\(template(&random, depth: depth + 1))\n {{/\(name)}} \n" : "-"
      }
    }.joined()
  }

  @Test(arguments: TemplateFormat.allCases)
  func `Random templates say the same both ways`(format: TemplateFormat) throws {
    var random = SeededGenerator(seed: UInt64(format.rawValue.utf8.reduce(0) { $0 &* 31 &+ UInt64($1) }))
    var rendered = 0
    for _ in 0..<1_000 {
      let body = Self.template(&random)
      guard let quick = try? PageTemplate(body, format: format) else { continue }
      let slow = try PageTemplate(body, format: format, slowly: true)
      let (one, other) = (quick.render(Self.context), slow.render(Self.context))
      #expect(one.utf8.elementsEqual(other.utf8), "\(body.debugDescription)")
      rendered += 1
    }
    #expect(rendered > 500)
  }

  @Test func `A message's texts say the same both ways`() throws {
    var random = SeededGenerator(seed: 4711)
    for _ in 0..<1_000 {
      let text = Self.template(&random)
      guard let quick = try? TextTemplate(text, field: "alert") else { continue }
      let slow = try TextTemplate(text, field: "alert", slowly: true)
      #expect(quick.render(Self.context).utf8.elementsEqual(slow.render(Self.context).utf8), "\(text.debugDescription)")
      #expect(quick.json(Self.context) == slow.json(Self.context), "\(text.debugDescription)")
    }
  }

  @Test func `The quick way is taken where it can be`() {
    #expect(
      TemplateTree(
        "a{{b}}{{#c}}{{.}}{{/c}}{{! d }}",
        (try? TagScanner.tags(of: "a{{b}}{{#c}}{{.}}{{/c}}{{! d }}", field: "")) ?? []) != nil)
    for body in ["{{uppercased(a)}}", "{{.a}}", "{{a}}\u{2028}", "\u{600}{{a}}"] {
      #expect(TemplateTree(body, (try? TagScanner.tags(of: body, field: "")) ?? []) == nil)
    }
  }
}
